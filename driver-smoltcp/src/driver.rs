//! An endpoint and a UDP socket: what arrived goes in, what is due comes out.

use crate::{address, clock};
use core::fmt;
use smoltcp::socket::udp::{SendError, Socket};
use smoltcp::time::Instant;
use tallylink_core as tallylink;
use tallylink_core::crypto::Crypto;
use tallylink_core::{BootSeed, Config, ConfigError, Deliver, Duration, Ecn, Endpoint, Handled, SendFault, Storage};

/// A step takes at most this many datagrams from the socket.
pub const RECEIVED_PER_STEP: usize = 8;
/// A step puts at most this many datagrams into the socket, answers to HELLOs aside.
pub const SENT_PER_STEP: usize = 8;
/// When the socket has no room, the next step is due after this long, or when `Interface::poll` has sent something. Shorter
/// would spin while a neighbour is being resolved, which takes smoltcp up to a second.
pub const RETRY_AFTER: Duration = Duration::from_millis(10);
/// A transmit ring that has had no room for this long is emptied: at its head waits a datagram for a neighbour that does not
/// exist, behind which smoltcp sends nothing else.
const STUCK_AFTER: Duration = Duration::from_secs(5);
/// When the socket can take nothing until the application mends it, the next step is due after this long.
const RETRY_UNSENDABLE_AFTER: Duration = Duration::from_secs(1);

/// The protocol over a UDP socket, as either end. [`crate::DeviceEnd`] is simpler for a device with one gateway.
///
/// `DATAGRAM` is the largest datagram that is received, at least `Config::max_datagram`.
#[derive(Debug)]
pub struct Driver<C: Crypto, S: Storage<C::Key>, const DATAGRAM: usize> {
    endpoint: Endpoint<C, S>,
    /// A received datagram while it is opened: the socket lends it immutably.
    scratch: [u8; DATAGRAM],
    faults: Faults,
    /// Since when the transmit ring has had no room for what is next.
    no_room_since: Option<tallylink::Instant>,
    /// What is queued goes to an address that is no longer wanted.
    stale: bool,
}

/// What stood in the way, how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Steps that ended because the transmit ring had no room for the next packet.
    pub transmit_full: u32,
    /// How often the transmit ring was emptied because its head did not leave; what was in it counts as lost on the way.
    pub rings_emptied: u32,
    /// Answers that found no room; the other end asks again.
    pub answers_dropped: u32,
    /// Received datagrams larger than `DATAGRAM`.
    pub oversized: u32,
    /// Steps that ended because the socket can never take the next packet: it is closed, its transmit buffer is smaller than
    /// the packet, or this build lacks the address's protocol.
    pub unsendable: u32,
}

/// A socket that does not suit the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketError {
    /// It is not bound to a port.
    Closed,
    /// Its transmit buffer cannot hold the largest datagram.
    TransmitTooSmall,
    /// Its receive buffer cannot hold the largest datagram.
    ReceiveTooSmall,
}

impl fmt::Display for SocketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the socket is not bound to a port",
            Self::TransmitTooSmall => "the socket's transmit buffer is smaller than the largest datagram",
            Self::ReceiveTooSmall => "the socket's receive buffer is smaller than the largest datagram",
        })
    }
}

impl core::error::Error for SocketError {}

/// How sending ended.
enum Sent {
    /// The core has nothing more to send now.
    All,
    /// The step has sent its share.
    Share,
    /// The ring is full now.
    NoRoom,
    /// The socket can never take the next packet.
    Never,
}

impl<C: Crypto, S: Storage<C::Key>, const DATAGRAM: usize> Driver<C, S, DATAGRAM> {
    /// A driver without peers: [`Endpoint::add_peer`] adds them.
    ///
    /// # Errors
    /// As [`Endpoint::new`], or when `DATAGRAM` is below `Config::max_datagram`.
    pub fn new(config: Config, crypto: C, storage: S, boot: impl Into<BootSeed>) -> Result<Self, ConfigError> {
        Ok(Self::of(Self::endpoint_with(config, crypto, storage, boot.into())?))
    }

    pub(crate) fn endpoint_with(
        config: Config,
        crypto: C,
        storage: S,
        boot: BootSeed,
    ) -> Result<Endpoint<C, S>, ConfigError> {
        if DATAGRAM < usize::from(config.max_datagram) {
            return Err(ConfigError { field: "max_datagram", must: "at most DATAGRAM" });
        }
        Endpoint::new(config, crypto, storage, boot)
    }

    /// Made of an endpoint that is ready: what is larger than that is moved as seldom as may be, on a small stack.
    pub(crate) fn of(endpoint: Endpoint<C, S>) -> Self {
        Self { endpoint, scratch: [0; DATAGRAM], faults: Faults::default(), no_room_since: None, stale: false }
    }

    /// The protocol itself: peers, streams, events, counters.
    pub fn endpoint(&self) -> &Endpoint<C, S> {
        &self.endpoint
    }

    /// The protocol itself. After any call on it, [`Driver::step`] is due.
    pub fn endpoint_mut(&mut self) -> &mut Endpoint<C, S> {
        &mut self.endpoint
    }

    /// What stood in the way, how often.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// Checks that a socket is bound and that its buffers hold a datagram each way.
    ///
    /// # Errors
    /// What does not suit. [`Driver::step`] copes with such a socket, but nothing can leave or nothing can arrive.
    pub fn check_socket(&self, socket: &Socket<'_>) -> Result<(), SocketError> {
        let largest = usize::from(self.endpoint.config().max_datagram);
        if !socket.is_open() {
            Err(SocketError::Closed)
        } else if socket.payload_send_capacity() < largest || socket.packet_send_capacity() == 0 {
            Err(SocketError::TransmitTooSmall)
        } else if socket.payload_recv_capacity() < largest || socket.packet_recv_capacity() == 0 {
            Err(SocketError::ReceiveTooSmall)
        } else {
            Ok(())
        }
    }

    /// Says that what waits in the socket goes to an address that is no longer wanted: the next step empties the socket, lest
    /// datagrams for an unreachable neighbour hold up all others. They count as lost on the way.
    pub fn discard_queued(&mut self) {
        self.stale = true;
    }

    /// Takes what has arrived, does what is due, and puts what there is to send into the socket. Records go to `deliver`.
    ///
    /// Returns when the next step is due; `None` means not before a datagram arrives or the application has something to
    /// send. The crate's documentation has the contract of the run loop.
    pub fn step(&mut self, now: Instant, socket: &mut Socket<'_>, deliver: &mut dyn Deliver) -> Option<Instant> {
        let at = clock::to_core(now);
        self.receive(at, socket, deliver);
        self.empty_stuck_ring(at, socket);
        if self.endpoint.next_timeout().is_some_and(|due| due <= at) {
            self.endpoint.handle_timeout(at);
        }
        let sent = self.transmit(at, socket);
        if socket.can_recv() {
            return Some(now);
        }
        match sent {
            Sent::Share => Some(now),
            // Not at the core's next timeout: it may be now, and would be again.
            Sent::NoRoom => Some(clock::after(at, RETRY_AFTER)),
            Sent::Never => Some(clock::after(at, RETRY_UNSENDABLE_AFTER)),
            Sent::All => self.endpoint.next_timeout().map(clock::from_core),
        }
    }

    fn receive(&mut self, at: tallylink::Instant, socket: &mut Socket<'_>, deliver: &mut dyn Deliver) {
        for _ in 0..RECEIVED_PER_STEP {
            let Ok((lent, meta)) = socket.recv() else {
                return;
            };
            let Some(datagram) = self.scratch.get_mut(..lent.len()) else {
                self.faults.oversized = self.faults.oversized.saturating_add(1);
                debug!("a datagram of {} bytes is too large", lent.len());
                continue;
            };
            datagram.copy_from_slice(lent);
            let path = address::path_of(&meta);
            match self.endpoint.handle_datagram(at, &path, Ecn::NotEct, datagram, deliver) {
                Ok(Handled::Reply(len)) => {
                    let answer = datagram.get(..len).unwrap_or_default();
                    if socket.send_slice(answer, meta).is_err() {
                        self.faults.answers_dropped = self.faults.answers_dropped.saturating_add(1);
                    }
                }
                Ok(Handled::Data(_) | Handled::Session) => {}
                Err(why) => debug!("discarded a datagram: {}", why.name()),
            }
        }
    }

    fn empty_stuck_ring(&mut self, at: tallylink::Instant, socket: &mut Socket<'_>) {
        let stuck = self.no_room_since.is_some_and(|since| at.since(since) >= STUCK_AFTER);
        if !stuck && !self.stale {
            return;
        }
        self.stale = false;
        self.no_room_since = None;
        let bound = socket.endpoint();
        socket.close();
        // A socket that was not open stays closed.
        if socket.bind(bound).is_ok() {
            self.faults.rings_emptied = self.faults.rings_emptied.saturating_add(1);
            debug!("emptied the transmit ring");
        }
    }

    fn transmit(&mut self, at: tallylink::Instant, socket: &mut Socket<'_>) -> Sent {
        for _ in 0..SENT_PER_STEP {
            let Some(envelope) = self.endpoint.peek_transmit(at) else {
                return Sent::All;
            };
            let len = usize::from(envelope.len);
            if len > socket.payload_send_capacity() {
                warn!("the socket's transmit buffer cannot hold {} bytes", len);
                self.endpoint.transmit_failed(at, envelope.peer, SendFault::TooBig);
                return self.never();
            }
            let Some(meta) = address::meta_for(&envelope.path) else {
                warn!("this build lacks the protocol of the peer's address");
                return self.never();
            };
            // `send` reserves exactly `len` bytes or nothing. (`send_with` would reserve the maximum, and queue what its closure
            // leaves empty.) Until it succeeds the packet is only planned, and its number is not spent.
            match socket.send(len, meta) {
                Ok(out) => {
                    self.no_room_since = None;
                    let sealed = self.endpoint.seal_transmit(at, &envelope, out);
                    debug_assert!(sealed, "nothing happened since the packet was planned");
                    if !sealed {
                        // The room cannot be given back. Zeros are no packet; what lies there now may be one.
                        out.fill(0);
                    }
                }
                Err(SendError::BufferFull) => {
                    self.faults.transmit_full = self.faults.transmit_full.saturating_add(1);
                    self.no_room_since.get_or_insert(at);
                    return Sent::NoRoom;
                }
                Err(SendError::Unaddressable) => {
                    warn!("the socket is closed, or the peer's address is unspecified");
                    return self.never();
                }
            }
        }
        Sent::Share
    }

    fn never(&mut self) -> Sent {
        self.faults.unsendable = self.faults.unsendable.saturating_add(1);
        Sent::Never
    }
}
