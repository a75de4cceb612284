//! The arrays that the driver owns and lends to each call.

use crate::config::{Config, ConfigError};
use crate::ids::{LinkIx, PeerId, PeerIx};
use crate::link::Link;
use crate::peer::Peer;
use crate::recovery::sent::Sent;
use crate::stream::{Held, InStream, OutStream};

/// A driver's arrays. They may grow between calls; indices stay what they are.
pub trait Storage<K> {
    /// Lends everything.
    fn parts(&mut self) -> Parts<'_, K>;

    /// Finds a peer by its id: a scan on a microcontroller, a hash table on Linux.
    fn find(&self, id: PeerId) -> Option<PeerIx>;
}

/// Arrays that lie elsewhere: in a `static`, so that they never pass over a small stack.
impl<K, S: Storage<K> + ?Sized> Storage<K> for &mut S {
    fn parts(&mut self) -> Parts<'_, K> {
        (**self).parts()
    }

    fn find(&self, id: PeerId) -> Option<PeerIx> {
        (**self).find(id)
    }
}

/// Slices of the driver's arrays, for one call.
#[derive(Debug)]
pub struct Parts<'s, K> {
    /// Provisioned peers; at most `Config::max_peers`.
    pub peers: &'s mut [Peer],
    /// Active peers.
    pub links: &'s mut [Link<K>],
    /// Streams that are received; the driver gives out the indices.
    pub inbound: &'s mut [InStream],
    /// Streams that are sent.
    pub outbound: &'s mut [OutStream],
    /// The in-flight tables: `links × Config::in_flight`.
    pub sent: &'s mut [Sent],
    /// The windows of received numbers: `links × Config::ack_window / 64`.
    pub windows: &'s mut [u64],
    /// The outbox rings, one part of it a stream.
    pub ring: &'s mut [u8],
    /// Chunks that are held ahead of a gap: `Config::held`.
    pub held: &'s mut [Held],
    /// Their bytes: `held × Config::max_datagram`.
    pub slots: &'s mut [u8],
    /// The heap of timers: as many as `links`.
    pub timers: &'s mut [LinkIx],
}

impl<K> Parts<'_, K> {
    /// Checks that the arrays fit the limits.
    ///
    /// # Errors
    /// The first array that does not.
    pub(crate) fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let links = self.links.len();
        let rules = [
            ("peers", self.peers.len() <= config.max_peers as usize, "no longer than max_peers"),
            ("links", links >= 1, "at least one long"),
            ("sent", self.sent.len() == links.saturating_mul(config.in_flight as usize), "links × in_flight long"),
            (
                "windows",
                self.windows.len() == links.saturating_mul(config.window_words()),
                "links × ack_window / 64 long",
            ),
            ("held", self.held.len() == usize::from(config.held), "held long"),
            (
                "slots",
                self.slots.len() == self.held.len().saturating_mul(usize::from(config.max_datagram)),
                "held × max_datagram long",
            ),
            ("timers", self.timers.len() == links, "as long as links"),
        ];
        match rules.iter().find(|(_, holds, _)| !holds) {
            None => Ok(()),
            Some((field, _, must)) => Err(ConfigError { field, must }),
        }
    }
}

/// The part of an array that belongs to one link.
#[inline]
pub(crate) fn of_link<T>(all: &mut [T], link: LinkIx, each: usize) -> &mut [T] {
    let start = link.at().saturating_mul(each);
    all.get_mut(start..start.saturating_add(each)).unwrap_or_default()
}
