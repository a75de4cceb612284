//! What a program can choose.

use crate::network::AddPeerError;
use std::net::{Ipv6Addr, SocketAddr};
use tallylink_core::{Config, ConfigError};

/// Limits and sizes. The defaults suit a gateway with a few thousand active peers, or a sender.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Core's limits.
    pub config: Config,
    /// How many peers can be active at a time: those whose packets or confirmations are on their way. Each takes about
    /// 28 KiB. More may wait for the disk; who finds none is told to try again.
    pub links: u32,
    /// Where to listen. `[::]` takes IPv4 too, and port 0 is any.
    pub listen: SocketAddr,
    /// Bytes of the socket's receive buffer to ask the kernel for.
    pub receive_buffer: usize,
    /// Bytes of the socket's send buffer to ask the kernel for.
    pub send_buffer: usize,
}

impl Settings {
    /// For a program that mostly sends, to one gateway.
    #[must_use]
    pub fn sender() -> Self {
        Self { config: Config { held: 256, max_peers: 8, ..Config::default() }, links: 1, ..Self::receiver() }
    }

    /// For a program that mostly receives, from many peers.
    #[must_use]
    pub fn receiver() -> Self {
        Self {
            config: Config {
                // What a receiver sends are confirmations.
                in_flight: 256,
                // Thousands of devices come back at once when a gateway was away.
                replies_per_second: 5000,
                ..Config::default()
            },
            links: 512,
            listen: SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
            receive_buffer: 4 << 20,
            send_buffer: 4 << 20,
        }
    }
}

/// Why a network could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A limit is out of range.
    #[error("configuration: {0}")]
    Config(#[from] ConfigError),
    /// The address is taken, not of this machine, or not permitted.
    #[error("cannot listen on {listen}: {source}")]
    Bind {
        /// The address.
        listen: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The peer that was given from the start is unusable.
    #[error("peer: {0}")]
    Peer(#[from] AddPeerError),
    /// The name to listen on has no address.
    #[error("the name to listen on has no address")]
    NoAddress,
    /// The kernel has no entropy.
    #[error("the system gives no entropy: {0}")]
    Entropy(#[from] getrandom::Error),
    /// The system gives no more threads or event queues.
    #[error("the system gives no more resources: {0}")]
    System(#[from] std::io::Error),
}
