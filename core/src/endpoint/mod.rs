//! The endpoint: every call that a driver makes. What happens inside is split by what happens: a session opens
//! ([`session`], [`setup`]), a datagram arrives ([`receive`], [`inbound`], [`acknowledge`], [`confirm`], [`confirmed`]),
//! there is no link for it ([`waiting`]), something is pushed ([`outbound`]), a packet leaves ([`plan`], [`flow`], [`seal`]), time passes ([`timeout`], [`timers`],
//! [`links`]), a path changes ([`roam`], [`size`]), a device sleeps ([`suspend`], [`resume`]).

mod acknowledge;
mod chunk;
mod confirm;
mod confirmed;
mod control;
mod events;
mod flow;
mod held;
mod inbound;
mod links;
mod outbound;
mod plan;
mod receive;
mod resume;
mod roam;
mod seal;
mod session;
mod setup;
mod size;
mod state;
mod suspend;
mod timeout;
mod timers;
mod waiting;

pub use outbound::Pushed;
pub use plan::Envelope;
pub use receive::Handled;
pub use state::{BootSeed, Totals};

use crate::config::{Config, ConfigError};
use crate::crypto::Crypto;
use crate::deliver::Deliver;
use crate::discard::{Counters, Discard, Fault};
use crate::error::{Error, PushError};
use crate::event::Event;
use crate::ids::{Epoch, InIx, KeyId, Name, OutIx, PeerIx};
use crate::path::{Ecn, Path};
use crate::peer::Provision;
use crate::sleep::{ResumeError, SuspendError};
use crate::storage::{Parts, Storage};
use crate::stream::{EpochSource, Priority};
use crate::time::Instant;
use crate::wire::Previous;
use control::Control;
use core::ops::Range;
use plan::Plan;
use state::State;
use zeroize::Zeroize;

/// The whole protocol of one socket: all peers, all streams, both ends.
///
/// The crate's documentation has the contract of the run loop.
#[derive(Debug)]
pub struct Endpoint<C: Crypto, S: Storage<C::Key>> {
    state: State,
    /// What was planned, until the next call of any kind.
    plan: Option<Plan>,
    control: Control,
    crypto: C,
    storage: S,
}

/// What one call works on: the endpoint's own state, the driver's arrays, and the time.
struct Cx<'a, C: Crypto> {
    st: &'a mut State,
    /// Frames composed for the planned packet.
    control: &'a mut Control,
    crypto: &'a C,
    p: Parts<'a, C::Key>,
    now: Instant,
}

/// What the system said of a datagram that it would not send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendFault {
    /// It is larger than the path takes (EMSGSIZE): smaller ones follow.
    TooBig,
    /// Anything else: it counts as lost on the way.
    Lost,
}

impl<C: Crypto, S: Storage<C::Key>> Endpoint<C, S> {
    /// An endpoint without peers.
    ///
    /// `boot` is what makes this start of this end differ from every other: see [`BootSeed`].
    ///
    /// # Errors
    /// [`ConfigError`] names the first limit that is out of range or array that does not fit.
    pub fn new(config: Config, crypto: C, mut storage: S, boot: BootSeed) -> Result<Self, ConfigError> {
        config.check()?;
        let mut parts = storage.parts();
        parts.check(&config)?;
        let state = State::new(config, crypto.suites(), boot, &mut parts)?;
        Ok(Self { state, plan: None, control: Control::new(), crypto, storage })
    }

    fn cx(&mut self, now: Instant) -> Cx<'_, C> {
        // Whatever the call does, a packet planned before it is stale.
        self.plan = None;
        Cx { st: &mut self.state, control: &mut self.control, crypto: &self.crypto, p: self.storage.parts(), now }
    }

    /// The driver's arrays. `peers`, `inbound`, `outbound` and `ring` may grow between calls; indices stay what they are.
    pub fn storage_mut(&mut self) -> &mut S {
        &mut self.storage
    }

    /// The driver's arrays, to look at.
    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// How often each reason for a discard and each fault occurred.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.state.counters
    }

    /// What has been sent and received, all peers together.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.state.totals
    }

    /// The limits.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.state.config
    }

    // Peers

    /// Provisions a peer in the empty slot `at`.
    ///
    /// # Errors
    /// [`Error::NoSuchIndex`], [`Error::Taken`], or [`Error::Empty`] when `provision` has no key or two of one id.
    pub fn add_peer(&mut self, at: PeerIx, provision: Provision) -> Result<(), Error> {
        self.cx(Instant::from_micros(0)).add_peer(at, provision)
    }

    /// Removes a peer: its session ends and its slot is empty. Its streams end too.
    pub fn remove_peer(&mut self, now: Instant, at: PeerIx) {
        self.cx(now).remove_peer(at);
    }

    /// Replaces a peer's keys. The session ends when its key is no longer among them.
    ///
    /// # Errors
    /// As [`Endpoint::add_peer`].
    pub fn set_keys(&mut self, now: Instant, at: PeerIx, provision: Provision) -> Result<(), Error> {
        self.cx(now).set_keys(at, provision)
    }

    /// Device end: where the gateway is. A session is started as soon as it is needed; after a change of `path`, at once.
    ///
    /// # Errors
    /// [`Error::Empty`] or [`Error::NotDevice`].
    pub fn connect(&mut self, now: Instant, peer: PeerIx, path: Path) -> Result<(), Error> {
        self.cx(now).connect(peer, path)
    }

    /// Ends every session: the driver's disk failed, and nothing that it was given since the last STORED counts.
    pub fn end_sessions(&mut self, now: Instant) {
        self.cx(now).end_sessions();
    }

    // Network. After any call: peek and seal until `None`, drain events, arm `next_timeout`.

    /// Takes one datagram, which arrived with the mark `ecn`. It is decrypted in place.
    ///
    /// # Errors
    /// A [`Discard`] reason, which is counted already.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        path: &Path,
        ecn: Ecn,
        datagram: &mut [u8],
        to: &mut dyn Deliver,
    ) -> Result<Handled, Discard> {
        self.state.mark = ecn;
        let handled = self.receive(now, path, datagram, to);
        if let Err(why) = handled {
            self.state.counters.count_discard(why);
        }
        handled
    }

    fn receive(
        &mut self,
        now: Instant,
        path: &Path,
        datagram: &mut [u8],
        to: &mut dyn Deliver,
    ) -> Result<Handled, Discard> {
        let found = receive::peer_named(datagram).and_then(|id| self.storage.find(id));
        self.cx(now).datagram(path, datagram, found, to)
    }

    /// Whether whoever handles many datagrams in a row should send before the next one. Either an ACK that is due has no room
    /// for more that arrived out of order, and what an ACK does not tell may come again: this is told once. Or so many peers
    /// have something to say that links run short: they are free for others when it is said.
    pub fn wants_to_send(&mut self) -> bool {
        core::mem::take(&mut self.state.ack_full) || self.state.ready >= self.state.many_ready
    }

    /// Plans the next packet, if there is one to send now: where to, and its exact length.
    ///
    /// Nothing has changed until [`Endpoint::seal_transmit`], which must be the very next call, or the plan is void.
    pub fn peek_transmit(&mut self, now: Instant) -> Option<Envelope> {
        let Self { state: st, plan, control, crypto, storage } = self;
        Cx { st, control, crypto, p: storage.parts(), now }.peek(plan)
    }

    /// Writes the packet that was just planned into `out`, which is exactly `envelope.len` bytes.
    ///
    /// Returns false, and spends no packet number, when the plan is void or the length differs.
    pub fn seal_transmit(&mut self, now: Instant, envelope: &Envelope, out: &mut [u8]) -> bool {
        let Self { state: st, plan, control, crypto, storage } = self;
        let sealed = plan.as_ref().is_some_and(|plan| {
            let mut cx = Cx { st, control, crypto, p: storage.parts(), now };
            out.len() == usize::from(envelope.len) && cx.seal(plan, envelope.ecn, out)
        });
        self.plan = None;
        sealed
    }

    /// The system did not take a datagram that was sealed for this peer.
    pub fn transmit_failed(&mut self, now: Instant, peer: PeerIx, why: SendFault) {
        self.cx(now).transmit_failed(peer, why);
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.cx(now).handle_timeout();
    }

    /// When [`Endpoint::handle_timeout`] must be called next.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        (self.state.next_timeout != Instant::NEVER).then_some(self.state.next_timeout)
    }

    /// The next thing that has changed.
    pub fn next_event(&mut self) -> Option<Event> {
        self.cx(Instant::from_micros(0)).next_event()
    }

    // Sending

    /// Begins to send a stream in the empty slot `at`; `ring` is its part of `Parts::ring`, and `first` the number of the
    /// first record that will be pushed.
    ///
    /// # Errors
    /// An [`Error`] that says what is wrong; nothing has changed.
    #[expect(clippy::too_many_arguments, reason = "a stream has that many properties, each once")]
    pub fn open(
        &mut self,
        now: Instant,
        at: OutIx,
        peer: PeerIx,
        name: Name,
        source: EpochSource,
        first: u64,
        ring: Range<u32>,
    ) -> Result<(), Error> {
        self.cx(now).open_out(at, peer, name, source, first, ring)
    }

    /// Ends the sending of a stream; its slot and its part of the ring are free, and its name may be opened again.
    ///
    /// Records that wait in the ring and were not sent in this session are forgotten: a sender with an outbox has them.
    ///
    /// # Errors
    /// [`Error::NoSuchIndex`], [`Error::Empty`], or [`Error::NotStored`] while something that was sent is not STORED.
    pub fn close(&mut self, now: Instant, stream: OutIx) -> Result<(), Error> {
        self.cx(now).close_out(stream)
    }

    /// Says which streams of its peer a stream goes before. Each begins as [`Priority::Live`]; changed at any time.
    ///
    /// # Errors
    /// [`Error::NoSuchIndex`] or [`Error::Empty`].
    pub fn set_priority(&mut self, now: Instant, stream: OutIx, priority: Priority) -> Result<(), Error> {
        self.cx(now).set_priority(stream, priority)
    }

    /// Begins another epoch of a stream with storage, numbered from 0: the one before is drained.
    ///
    /// # Errors
    /// [`Error::NoSuchIndex`], [`Error::Empty`], or [`Error::NotStored`] while the ring holds records of the epoch before or
    /// the receiver has not heard of a gap at its end: to be tried again at the next [`Event::Stored`].
    pub fn begin_epoch(
        &mut self,
        now: Instant,
        stream: OutIx,
        epoch: Epoch,
        previous: Option<Previous>,
    ) -> Result<(), Error> {
        self.cx(now).begin_epoch(stream, epoch, previous)
    }

    /// Queues one record and returns its number.
    ///
    /// # Errors
    /// [`PushError`]; nothing was taken.
    pub fn push(&mut self, now: Instant, stream: OutIx, record: &[u8]) -> Result<u64, PushError> {
        let fill = |a: &mut [u8], b: &mut [u8]| {
            if let Some((front, back)) = record.split_at_checked(a.len()) {
                a.copy_from_slice(front);
                if back.len() == b.len() {
                    b.copy_from_slice(back);
                }
            }
        };
        self.push_with(now, stream, u32::try_from(record.len()).unwrap_or(u32::MAX), fill)
    }

    /// Queues one record of `len` bytes that `fill` writes, in at most two pieces, straight into the ring.
    ///
    /// # Errors
    /// [`PushError`]; nothing was taken and `fill` was not called.
    pub fn push_with(
        &mut self,
        now: Instant,
        stream: OutIx,
        len: u32,
        fill: impl FnOnce(&mut [u8], &mut [u8]),
    ) -> Result<u64, PushError> {
        self.cx(now).push_with(stream, len, fill)
    }

    /// Queues as many whole records as fit from a run of packed ones, `[size varint][bytes]…`.
    ///
    /// # Errors
    /// [`PushError::Full`] when not even the first fits, [`PushError::NotPacked`], or [`PushError::TooLarge`] when the first
    /// never will; nothing was taken.
    pub fn push_batch(&mut self, now: Instant, stream: OutIx, packed: &[u8]) -> Result<Pushed, PushError> {
        self.cx(now).push_batch(stream, packed)
    }

    /// Gives up the records below `below`: the receiver gets a gap with that reason (wire-format §6.5). Numbers that were not
    /// pushed yet are passed over too, if all that were are STORED.
    pub fn skip(&mut self, now: Instant, stream: OutIx, below: u64, reason: u8) {
        self.cx(now).skip_to(stream, below, reason);
    }

    // Receiving

    /// Records of this epoch below `below` are safe on disk. Late calls for other epochs are ignored.
    pub fn stored(&mut self, now: Instant, stream: InIx, epoch: Epoch, below: u64) {
        self.cx(now).stored(stream, epoch, below);
    }

    /// The driver's queue has room again after `Full`.
    pub fn room(&mut self, now: Instant, to: &mut dyn Deliver) {
        self.cx(now).room(to);
    }

    /// Device end: asks the gateway for whatever it has, now.
    pub fn poll(&mut self, now: Instant, peer: PeerIx) {
        self.cx(now).poll(peer);
    }

    /// Which key id the session of a peer uses, for listings.
    #[must_use]
    pub fn newest_key(&mut self, peer: PeerIx) -> Option<KeyId> {
        self.storage.parts().peers.get(peer.at())?.newest_key().map(|(id, _)| *id)
    }

    /// Ends one peer's session.
    pub fn end_session(&mut self, now: Instant, peer: PeerIx) {
        self.cx(now).end_session(peer, Fault::Local);
    }

    // Deep sleep (wire-format §9)

    /// How many bytes [`Endpoint::suspend`] would write now: a few hundred and what waits in the rings.
    #[must_use]
    pub fn image_len(&mut self, peer: PeerIx) -> usize {
        self.cx(Instant::from_micros(0)).image_len(peer)
    }

    /// Device end: writes the session, the streams and what waits in their rings into `image`, which keeps it while everything
    /// else is off, and removes the peer, so that nothing more is sealed or pushed. Returns the length of the image. Streams whose
    /// epochs come from an outbox on disk are not for this.
    ///
    /// # Errors
    /// A [`SuspendError`]; nothing has changed, in `image` neither.
    pub fn suspend(&mut self, now: Instant, peer: PeerIx, image: &mut [u8]) -> Result<usize, SuspendError> {
        self.cx(now).suspend(peer, image)
    }

    /// Device end, in place of the first [`Endpoint::connect`]: goes on where [`Endpoint::suspend`] stopped, with a gateway at
    /// `path`. The streams that it sends are open already, under the names that they had, and nothing was pushed yet.
    ///
    /// `image` is destroyed whatever comes of it. Each start must call this or destroy the image in another way: a later one
    /// would bring back what is over.
    ///
    /// # Errors
    /// A [`ResumeError`] that says why there is nothing to go on with; the device starts anew, with HELLO and new epochs.
    pub fn resume(
        &mut self,
        now: Instant,
        peer: PeerIx,
        path: Path,
        image: &mut [u8],
        to: &mut dyn Deliver,
    ) -> Result<(), ResumeError> {
        let resumed = self.cx(now).resume(peer, path, image, to);
        image.zeroize();
        resumed
    }
}

#[cfg(test)]
mod tests;
