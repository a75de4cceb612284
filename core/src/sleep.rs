//! What a device keeps in retained memory during a deep sleep: the image and its form (wire-format §9).

use crate::config::Config;
use crate::crypto::{self, Label as KeyLabel, Psk, Suite, TAG_LEN, Tag};
use crate::ids::{Boot, Epoch, InIx, KeyId, Label, NAME_MAX, PeerId, Position};
use crate::peer::Session;
use crate::wire::cursor::Malformed;
use crate::wire::handshake::VERSION as PROTOCOL;
use crate::wire::{Limits, NoRoom, Reader, Writer};
use core::fmt;

/// The first bytes of an image. They are written last and destroyed first.
pub(crate) const MARK: [u8; 4] = *b"tlim";
/// The version of the image's form.
pub(crate) const VERSION: u8 = 1;
/// Bytes before what is retained: mark, version, key id, peer id, length, terms.
pub(crate) const HEAD_LEN: usize = 18 + TERMS_LEN;
/// Bytes of what must be as it was: limits, bits of a label, extensions.
pub(crate) const TERMS_LEN: usize = 18;
/// Bytes of an image without session and streams: head, the mark of a session, two counts, tag.
pub(crate) const LEAST: usize = HEAD_LEN + 5 + TAG_LEN;
/// Bytes of a session.
pub(crate) const SESSION_LEN: usize = 108;
/// Bytes of a stream that is sent, besides its name and what waits in its ring.
pub(crate) const SENT_LEN: usize = 67;
/// Bytes of a stream that is received.
pub(crate) const RECEIVED_LEN: usize = 32;

const CONFIRMED: u8 = 1;
const ECN: u8 = 2;
const WAS_BUSY: u8 = 4;

const NAMED: u8 = 1;
const OPENED: u8 = 2;
const SKIPS: u8 = 4;

/// There is no image: the endpoint goes on as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuspendError {
    /// There is no such peer, or this end is not its device.
    NotDevice,
    /// The session's suite does not survive it if a packet number should be used twice. Offer AES-128-GCM-SIV alone.
    Suite(Suite),
    /// Something that arrived is not STORED, or waits for what comes before it: when it is, the device may sleep.
    Receiving,
    /// A stream has an outbox on disk, which outlives the sleep without an image.
    Outbox,
    /// The image takes so many bytes.
    TooSmall(usize),
}

impl fmt::Display for SuspendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDevice => f.write_str("only a device end can sleep"),
            Self::Suite(suite) => write!(f, "a session with {suite} is not kept: offer AES-128-GCM-SIV alone"),
            Self::Receiving => f.write_str("a record that arrived is not stored yet"),
            Self::Outbox => f.write_str("a stream has an outbox on disk"),
            Self::TooSmall(len) => write!(f, "the image takes {len} bytes"),
        }
    }
}

impl core::error::Error for SuspendError {}

/// There is nothing to go on with. The device starts anew: with HELLO, and its streams with new epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeError {
    /// There is no such peer, or this end is not its device.
    NotDevice,
    /// The memory holds no image: none was written, it was cut off, or it was used.
    NoImage,
    /// The image has another form, that of this version.
    Version(u8),
    /// The image is of another peer, or of a key that is not this one's any more.
    Foreign,
    /// The image was changed.
    Damaged,
    /// The device has other limits now than the gateway was told.
    Limits,
    /// A stream of the image is not open, or its ring is too small.
    Stream,
    /// Something was pushed already, or a session asked for.
    Begun,
}

impl fmt::Display for ResumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDevice => f.write_str("only a device end can wake up"),
            Self::NoImage => f.write_str("there is no image"),
            Self::Version(version) => write!(f, "the image has version {version}, not {VERSION}"),
            Self::Foreign => f.write_str("the image is of another peer or key"),
            Self::Damaged => f.write_str("the image is damaged"),
            Self::Limits => f.write_str("the limits have changed since the image was made"),
            Self::Stream => f.write_str("a stream of the image is not open, or its ring is too small"),
            Self::Begun => f.write_str("something was pushed or asked for before the image was read"),
        }
    }
}

impl core::error::Error for ResumeError {}

impl From<Malformed> for ResumeError {
    fn from(_: Malformed) -> Self {
        Self::Damaged
    }
}

/// What the gateway was told of this end, and holds it to: a device with other limits needs a new session.
pub(crate) fn terms(config: &Config) -> [u8; TERMS_LEN] {
    let mut terms = [0; TERMS_LEN];
    let mut w = Writer::new(&mut terms);
    let written = config
        .limits()
        .write(&mut w)
        .and_then(|()| w.u8(config.label_bits() as u8))
        .and_then(|()| w.u8(u8::from(config.ecn)));
    debug_assert!(written.is_ok(), "the terms have that length");
    terms
}

/// The head of an image.
pub(crate) struct Head {
    pub(crate) key: KeyId,
    pub(crate) peer: PeerId,
    /// The length of the whole image, tag included.
    pub(crate) len: u32,
    pub(crate) terms: [u8; TERMS_LEN],
}

impl Head {
    /// Writes all but the mark.
    pub(crate) fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        w.space(MARK.len())?;
        w.u8(VERSION)?;
        w.u8(self.key.0)?;
        w.bytes(&self.peer.0)?;
        w.u32(self.len)?;
        w.bytes(&self.terms)
    }

    pub(crate) fn parse(image: &[u8]) -> Result<Self, ResumeError> {
        let mut r = Reader::new(image);
        let (Ok(MARK), Ok(version)) = (r.array(), r.u8()) else { return Err(ResumeError::NoImage) };
        if version != VERSION {
            return Err(ResumeError::Version(version));
        }
        Ok(Self { key: KeyId(r.u8()?), peer: PeerId(r.array()?), len: r.u32()?, terms: r.array()? })
    }
}

/// The tag over an image whose bytes between mark and tag are `body`.
pub(crate) fn tag_of(psk: &Psk, key: KeyId, peer: PeerId, body: &[u8]) -> Tag {
    let mut image_key = zeroize::Zeroizing::new([0; 16]);
    crypto::derive(psk, KeyLabel::Image, &[&[PROTOCOL, key.0], &peer.0], image_key.as_mut());
    crypto::mac(&image_key, &[&MARK, body])
}

/// A session, and what its link knows that must outlive it.
#[derive(Debug)]
pub(crate) struct Retained {
    pub(crate) session: Session,
    pub(crate) oldest_unacked: u64,
    pub(crate) gateway: Boot,
    pub(crate) rtt_us: u32,
    pub(crate) datagram: u16,
}

impl Retained {
    pub(crate) fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        let s = &self.session;
        let flags = [(s.confirmed, CONFIRMED), (s.ecn, ECN), (s.was_busy, WAS_BUSY)];
        w.bytes(s.key.as_bytes())?;
        w.u8(s.suite.map_or(0, Suite::number))?;
        w.u8(flags_of(&flags))?;
        for value in [s.tx_next, self.oldest_unacked, s.rx_next, s.rx_bits, s.window, s.granted] {
            w.u64(value)?;
        }
        s.limits.write(w)?;
        for value in [s.ours.0, s.theirs.0, s.next_stream, self.rtt_us] {
            w.u32(value)?;
        }
        w.bytes(&self.gateway.0)?;
        w.u16(self.datagram)
    }

    pub(crate) fn parse(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let key = Psk::from_bytes(r.array()?);
        let suite = Some(Suite::from_number(r.u8()?).ok_or(Malformed)?);
        let flags = r.u8()?;
        let (tx_next, oldest_unacked, rx_next, rx_bits) = (r.u64()?, r.u64()?, r.u64()?, r.u64()?);
        let (window, granted) = (r.u64()?, r.u64()?);
        let limits = Limits::parse(r)?;
        let (ours, theirs, next_stream, rtt_us) = (Label(r.u32()?), Label(r.u32()?), r.u32()?, r.u32()?);
        let session = Session {
            key,
            suite,
            tx_next,
            rx_next,
            rx_bits,
            limits,
            window,
            granted,
            ours,
            theirs,
            next_stream,
            confirmed: flags & CONFIRMED != 0,
            ecn: flags & ECN != 0,
            was_busy: flags & WAS_BUSY != 0,
        };
        Ok(Self { session, oldest_unacked, gateway: Boot(r.array()?), rtt_us, datagram: r.u16()? })
    }
}

/// A stream that is sent. The bytes in its ring follow.
#[derive(Debug)]
pub(crate) struct SentStream<'a> {
    pub(crate) name: &'a str,
    pub(crate) epoch: Option<Epoch>,
    pub(crate) opened: bool,
    pub(crate) skip: Option<u8>,
    pub(crate) wire: u32,
    pub(crate) open_first: u64,
    pub(crate) head: u64,
    pub(crate) next: u64,
    pub(crate) received: u64,
    /// What is sent next, and how many bytes of the ring lie before it.
    pub(crate) cursor: Position,
    pub(crate) sent: u32,
    /// Bytes in the ring.
    pub(crate) used: u32,
}

impl<'a> SentStream<'a> {
    pub(crate) fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        let flags = [(self.epoch.is_some(), NAMED), (self.opened, OPENED), (self.skip.is_some(), SKIPS)];
        w.u8(self.name.len() as u8)?;
        w.bytes(self.name.as_bytes())?;
        w.u8(flags_of(&flags))?;
        w.bytes(&self.epoch.unwrap_or_default().0)?;
        w.u8(self.skip.unwrap_or(0))?;
        w.u32(self.wire)?;
        for value in [self.open_first, self.head, self.next, self.received, self.cursor.number] {
            w.u64(value)?;
        }
        for value in [self.cursor.offset, self.sent, self.used] {
            w.u32(value)?;
        }
        Ok(())
    }

    /// A stream, and the bytes of its ring.
    pub(crate) fn parse(r: &mut Reader<'a>) -> Result<(Self, &'a [u8]), Malformed> {
        let len = usize::from(r.u8()?);
        let name = core::str::from_utf8(r.bytes(len)?).map_err(|_| Malformed)?;
        if name.is_empty() || len > NAME_MAX {
            return Err(Malformed);
        }
        let flags = r.u8()?;
        let (epoch, skip) = (Epoch(r.array()?), r.u8()?);
        let stream = Self {
            name,
            epoch: (flags & NAMED != 0).then_some(epoch),
            opened: flags & OPENED != 0,
            skip: (flags & SKIPS != 0).then_some(skip),
            wire: r.u32()?,
            open_first: r.u64()?,
            head: r.u64()?,
            next: r.u64()?,
            received: r.u64()?,
            cursor: Position { number: r.u64()?, offset: r.u32()? },
            sent: r.u32()?,
            used: r.u32()?,
        };
        let ring = r.bytes(stream.used as usize)?;
        Ok((stream, ring))
    }
}

/// A stream that is received. Everything before `next` is stored.
#[derive(Debug)]
pub(crate) struct ReceivedStream {
    pub(crate) at: InIx,
    pub(crate) wire: u32,
    pub(crate) epoch: Epoch,
    pub(crate) first: u64,
    pub(crate) next: u64,
}

impl ReceivedStream {
    pub(crate) fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        w.u32(self.at.0)?;
        w.u32(self.wire)?;
        w.bytes(&self.epoch.0)?;
        w.u64(self.first)?;
        w.u64(self.next)
    }

    pub(crate) fn parse(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (at, wire) = (InIx(r.u32()?), r.u32()?);
        Ok(Self { at, wire, epoch: Epoch(r.array()?), first: r.u64()?, next: r.u64()? })
    }
}

/// What follows the head: each list is a count and what it counts.
pub(crate) struct Body<'a> {
    pub(crate) retained: Option<Retained>,
    pub(crate) sent: (u16, Reader<'a>),
    pub(crate) received: (u16, Reader<'a>),
}

impl<'a> Body<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(body);
        let retained = match r.u8()? {
            0 => None,
            1 => Some(Retained::parse(&mut r)?),
            _ => return Err(Malformed),
        };
        let sent = (r.u16()?, r);
        for _ in 0..sent.0 {
            SentStream::parse(&mut r)?;
        }
        let received = (r.u16()?, r);
        for _ in 0..received.0 {
            ReceivedStream::parse(&mut r)?;
        }
        if r.is_empty() { Ok(Self { retained, sent, received }) } else { Err(Malformed) }
    }

    /// The streams that are sent, with the bytes of their rings.
    pub(crate) fn sent(&self) -> impl Iterator<Item = (SentStream<'a>, &'a [u8])> + use<'a> {
        let (count, mut r) = self.sent;
        (0..count).map_while(move |_| SentStream::parse(&mut r).ok())
    }

    /// The streams that are received.
    pub(crate) fn received(&self) -> impl Iterator<Item = ReceivedStream> + use<'a> {
        let (count, mut r) = self.received;
        (0..count).map_while(move |_| ReceivedStream::parse(&mut r).ok())
    }
}

fn flags_of(flags: &[(bool, u8)]) -> u8 {
    flags.iter().filter(|(set, _)| *set).fold(0, |all, (_, flag)| all | flag)
}
