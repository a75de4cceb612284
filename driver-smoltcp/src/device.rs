//! The device end of one gateway: what a sensor's firmware calls.

mod sleep;

use crate::board::Board;
use crate::driver::{Driver, Faults};
use crate::{address, clock};
use core::fmt;
use smoltcp::socket::udp::Socket;
use smoltcp::time::Instant;
use smoltcp::wire::IpEndpoint;
use tallylink_core::crypto::{Crypto, Psk};
use tallylink_core::{
    Config, ConfigError, Deliver, End, Endpoint, EpochSource, Error, Event, KeyId, Name, OutIx, OutStream, PeerId,
    PeerIx, Provision, PushError, Storage,
};

/// The only peer of a device end.
const GATEWAY: PeerIx = PeerIx(0);

/// This device's id and key, as `tallylink peer add NAME --format rust` prints them.
#[must_use]
pub fn identity(peer_id: [u8; 8], key_id: u8, key: [u8; 16]) -> Provision {
    Provision::new(PeerId(peer_id), End::Device, KeyId(key_id), Psk::from_bytes(key))
}

/// A device with one gateway, to which it sends records and from which it may receive some.
///
/// Records wait in a ring until they are STORED. Without storage of its own, a device delivers each record exactly once
/// within one boot; the records of a ring that a reset emptied are gone.
#[derive(Debug)]
pub struct DeviceEnd<C: Crypto, S: Storage<C::Key>, const DATAGRAM: usize> {
    driver: Driver<C, S, DATAGRAM>,
    /// Where the gateway is.
    gateway: Option<IpEndpoint>,
    /// Slots of streams, and bytes of the ring, that are given out.
    streams: u32,
    ring: u32,
    /// Streams whose oldest records make room for new ones, a bit each.
    overwrites: u32,
    overwritten: u64,
}

/// What happens to a record when its stream's part of the ring is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The new record is refused: [`PushError::Full`].
    #[default]
    Refuse,
    /// The oldest records that are not STORED are given up for it. They are counted, and the gateway is told of a gap.
    Overwrite,
}

/// Why records are missing at the gateway: they were overwritten in a full ring (`core/docs/wire-format.md`, §6.5).
const OVERWRITTEN: u8 = 1;

/// There is no device end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartError<E> {
    /// The board's source of difference failed.
    Board(E),
    /// A limit is out of range, or an array does not fit it.
    Config(ConfigError),
    /// The identity is not a device's with one or two keys.
    Identity(Error),
}

impl<E: fmt::Display> fmt::Display for StartError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Board(e) => e.fmt(f),
            Self::Config(e) => e.fmt(f),
            Self::Identity(e) => e.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for StartError<E> {}

/// A stream was not opened; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The name is empty or longer than 64 bytes.
    Name,
    /// The core's reason: no slot is left, the ring has not so many bytes left, or the name is open already.
    Core(Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("a stream's name has 1 to 64 bytes"),
            Self::Core(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for OpenError {}

impl<C: Crypto, S: Storage<C::Key>, const DATAGRAM: usize> DeviceEnd<C, S, DATAGRAM> {
    /// A device end with limits and arrays of its own choosing. [`crate::Sensor::new`] has some that suit a small board.
    ///
    /// # Errors
    /// A [`StartError`] that says what is wrong.
    pub fn with<B: Board>(
        config: Config,
        crypto: C,
        storage: S,
        board: &mut B,
        me: Provision,
    ) -> Result<Self, StartError<B::Error>> {
        if me.end != End::Device {
            return Err(StartError::Identity(Error::NotDevice));
        }
        let boot = board.declare().map_err(StartError::Board)?;
        let endpoint = Driver::<C, S, DATAGRAM>::endpoint_with(config, crypto, storage, boot.into());
        let mut endpoint = endpoint.map_err(StartError::Config)?;
        endpoint.add_peer(GATEWAY, me).map_err(StartError::Identity)?;
        let driver = Driver::of(endpoint);
        Ok(Self { driver, gateway: None, streams: 0, ring: 0, overwrites: 0, overwritten: 0 })
    }

    /// Says where the gateway is, and again whenever that changes. A session starts when there is something to send.
    ///
    /// # Errors
    /// None, as long as the peer has not been removed through [`DeviceEnd::endpoint_mut`].
    pub fn connect(&mut self, now: Instant, gateway: IpEndpoint) -> Result<(), Error> {
        self.driver.endpoint_mut().connect(clock::to_core(now), GATEWAY, address::path_to(gateway))?;
        if self.gateway.replace(gateway).is_some_and(|old| old != gateway) {
            self.driver.discard_queued();
        }
        Ok(())
    }

    /// Begins to send a stream whose records not yet STORED take at most `bytes` of the ring, each with a size of 1 to 4 bytes
    /// before it. A stream stays open for the whole boot.
    ///
    /// # Errors
    /// An [`OpenError`] that says what is wrong.
    pub fn open(&mut self, now: Instant, name: &str, bytes: u32) -> Result<OutIx, OpenError> {
        let name = Name::new(name).ok_or(OpenError::Name)?;
        let at = OutIx(self.streams);
        let end = self.ring.checked_add(bytes).ok_or(OpenError::Core(Error::BadRing))?;
        self.driver
            .endpoint_mut()
            .open(clock::to_core(now), at, GATEWAY, name, EpochSource::FirstSession, 0, self.ring..end)
            .map_err(OpenError::Core)?;
        self.streams = self.streams.saturating_add(1);
        self.ring = end;
        Ok(at)
    }

    /// Says what happens when a stream's part of the ring is full. Only the first 32 streams can overwrite.
    pub fn set_when_full(&mut self, stream: OutIx, what: WhenFull) {
        let bit = 1u32.checked_shl(stream.0).unwrap_or(0);
        match what {
            WhenFull::Refuse => self.overwrites &= !bit,
            WhenFull::Overwrite => self.overwrites |= bit,
        }
    }

    /// How many records were given up for newer ones, all streams together.
    #[must_use]
    pub fn overwritten(&self) -> u64 {
        self.overwritten
    }

    /// Queues one record and returns its number.
    ///
    /// # Errors
    /// [`PushError::Full`] until older records are STORED, unless the stream [overwrites](DeviceEnd::set_when_full) them;
    /// [`PushError::TooLarge`] when it will never fit; nothing was taken.
    pub fn push(&mut self, now: Instant, stream: OutIx, record: &[u8]) -> Result<u64, PushError> {
        let at = clock::to_core(now);
        loop {
            let pushed = self.driver.endpoint_mut().push(at, stream, record);
            let overwrites = self.overwrites & 1u32.checked_shl(stream.0).unwrap_or(0) != 0;
            if pushed != Err(PushError::Full) || !overwrites || !self.give_up_oldest(at, stream) {
                return pushed;
            }
        }
    }

    /// Gives up a stream's oldest record. False when there is none, or nothing can be given up now.
    fn give_up_oldest(&mut self, at: tallylink_core::Instant, stream: OutIx) -> bool {
        let Some(head) = self.stream(stream).map(OutStream::stored_below) else { return false };
        self.driver.endpoint_mut().skip(at, stream, head.saturating_add(1), OVERWRITTEN);
        let given_up = self.stream(stream).is_some_and(|s| s.stored_below() > head);
        self.overwritten = self.overwritten.saturating_add(u64::from(given_up));
        given_up
    }

    /// See [`Driver::step`]. A device that receives nothing passes [`crate::NoStreams`].
    pub fn step(&mut self, now: Instant, socket: &mut Socket<'_>, deliver: &mut dyn Deliver) -> Option<Instant> {
        self.driver.step(now, socket, deliver)
    }

    /// The next thing that has changed: [`Event::Received`] and [`Event::Stored`] name a stream and the number below which
    /// every record is in the gateway's memory, or on its disk. Those that were [overwritten](DeviceEnd::overwritten) are not.
    pub fn next_event(&mut self) -> Option<Event> {
        self.driver.endpoint_mut().next_event()
    }

    /// What is known of a stream: how far it is RECEIVED and STORED, and the room left in its ring.
    pub fn stream(&mut self, stream: OutIx) -> Option<&OutStream> {
        let parts = self.driver.endpoint_mut().storage_mut().parts();
        parts.outbound.get(stream.at())
    }

    /// True while a session with the gateway lives; it may be idle, and the gateway may have forgotten it.
    pub fn has_session(&mut self) -> bool {
        let parts = self.driver.endpoint_mut().storage_mut().parts();
        parts.peers.first().is_some_and(|p| p.has_session())
    }

    /// Asks the gateway for whatever it has for this device, now.
    pub fn poll(&mut self, now: Instant) {
        self.driver.endpoint_mut().poll(clock::to_core(now), GATEWAY);
    }

    /// Says that `deliver` has room again after it answered `Full`.
    pub fn room(&mut self, now: Instant, deliver: &mut dyn Deliver) {
        self.driver.endpoint_mut().room(clock::to_core(now), deliver);
    }

    /// What stood in the way, how often.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.driver.faults()
    }

    /// The driver, to look at its counters and to check a socket.
    #[must_use]
    pub fn driver(&self) -> &Driver<C, S, DATAGRAM> {
        &self.driver
    }

    /// The protocol itself, for what is rarely needed. After any call on it, [`DeviceEnd::step`] is due.
    pub fn endpoint_mut(&mut self) -> &mut Endpoint<C, S> {
        self.driver.endpoint_mut()
    }
}
