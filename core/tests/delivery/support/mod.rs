//! Endpoints on a wire that the test holds in its hands.

mod arrays;
mod bottleneck;
mod crowd;
mod fleet;
mod frames;
mod inbox;
mod node;
mod pair;
mod processor;
pub(crate) mod raw;
mod tcp;

pub(crate) use arrays::Arrays;
pub(crate) use bottleneck::{Bottleneck, Route};
pub(crate) use crowd::Crowd;
pub(crate) use fleet::Fleet;
pub(crate) use frames::{bytes_of, frames_in};
pub(crate) use inbox::Inbox;
pub(crate) use node::{KEY, Node, PEER, at, peer_id};
pub(crate) use pair::Pair;
pub(crate) use raw::Raw;

use tallylink_core::Config;

/// Limits that keep a test's arrays small.
pub(crate) fn small_config() -> Config {
    Config { in_flight: 256, held: 64, max_peers: 2, ack_window: 1024, ..Config::default() }
}

/// Record `number` of `size` bytes: no two are alike.
pub(crate) fn record(number: usize, size: usize) -> Vec<u8> {
    (0..size).map(|i| (number * 31 + i * 7) as u8).collect()
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
