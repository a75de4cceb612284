//! What a datagram is, before anything in it is authentic (wire-format §3, §5).

use super::cursor::{Malformed, NoRoom, Reader, Writer};
use super::handshake::{Hello, Reject, Welcome};
use super::varint;
use crate::crypto::TAG_LEN;
use crate::ids::{Label, PeerId};

/// The first two bytes of each long packet.
pub mod kind {
    /// Asks for a session.
    pub const HELLO: [u8; 2] = [0, 1];
    /// Answers HELLO.
    pub const WELCOME: [u8; 2] = [0, 2];
    /// Sealed frames that carry all that the gateway needs to rebuild the session.
    pub const LONG_DATA: [u8; 2] = [0, 3];
    /// Answers HELLO with a no.
    pub const REJECT: [u8; 2] = [0, 4];
    /// A hint that a session is gone.
    pub const UNKNOWN_LABEL: [u8; 2] = [0, 5];
}

/// A datagram, sorted by what it claims to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// Asks for a session.
    Hello(Hello<'a>),
    /// Answers HELLO.
    Welcome(Welcome<'a>),
    /// Sealed frames before the session's labels are known.
    LongData(LongData<'a>),
    /// Answers HELLO with a no.
    Reject(Reject),
    /// A hint that a session is gone.
    UnknownLabel(UnknownLabel),
    /// Sealed frames of a live session.
    Data(DataHeader),
}

impl<'a> Packet<'a> {
    /// Sorts `datagram`.
    ///
    /// # Errors
    /// [`Malformed`] when it is none of the packets of this version.
    #[inline]
    pub fn parse(datagram: &'a [u8]) -> Result<Self, Malformed> {
        match datagram {
            [0x40..=0x7f, ..] => DataHeader::parse(datagram).map(Packet::Data),
            [0, 1, ..] => Hello::parse(datagram).map(Packet::Hello),
            [0, 2, ..] => Welcome::parse(datagram).map(Packet::Welcome),
            [0, 3, ..] => LongData::parse(datagram).map(Packet::LongData),
            [0, 4, ..] => Reject::parse(datagram).map(Packet::Reject),
            [0, 5, ..] => UnknownLabel::parse(datagram).map(Packet::UnknownLabel),
            _ => Err(Malformed),
        }
    }
}

/// The header of a DATA packet (wire-format §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeader {
    /// Whose session.
    pub label: Label,
    /// The low bytes of the packet number.
    pub truncated: u32,
    /// How many bytes of packet number there are: 2 to 4.
    pub number_len: usize,
}

impl DataHeader {
    /// The longest header: first byte, label and four bytes of packet number.
    pub const MAX: usize = 9;

    /// How long a header with `number_len` bytes of packet number is.
    #[must_use]
    pub const fn len_with(number_len: usize) -> usize {
        5usize.saturating_add(number_len)
    }

    /// How long this header is.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    pub const fn len(&self) -> usize {
        Self::len_with(self.number_len)
    }

    /// Reads the header of a datagram whose first two bits say that it is DATA.
    ///
    /// # Errors
    /// [`Malformed`] when the header or what follows it is too short or has another form.
    #[inline]
    pub fn parse(datagram: &[u8]) -> Result<Self, Malformed> {
        // At least one frame of one byte, then the tag.
        let holds = |rest: &[u8]| rest.len() > TAG_LEN;
        let (number_len, label, truncated) = match datagram {
            [0x50, a, b, c, d, n0, n1, rest @ ..] if holds(rest) => (2, [*a, *b, *c, *d], [0, 0, *n0, *n1]),
            [0x60, a, b, c, d, n0, n1, n2, rest @ ..] if holds(rest) => (3, [*a, *b, *c, *d], [0, *n0, *n1, *n2]),
            [0x70, a, b, c, d, n0, n1, n2, n3, rest @ ..] if holds(rest) => (4, [*a, *b, *c, *d], [*n0, *n1, *n2, *n3]),
            _ => return Err(Malformed),
        };
        let (label, truncated) = (Label(u32::from_be_bytes(label)), u32::from_be_bytes(truncated));
        Ok(Self { label, truncated, number_len })
    }

    /// Writes the header.
    ///
    /// # Errors
    /// [`NoRoom`] when it does not fit.
    #[inline]
    pub fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        let ([l0, l1, l2, l3], [a, b, c, d]) = (self.label.0.to_be_bytes(), self.truncated.to_be_bytes());
        match self.number_len {
            2 => w.bytes(&[0x50, l0, l1, l2, l3, c, d]),
            3 => w.bytes(&[0x60, l0, l1, l2, l3, b, c, d]),
            _ => w.bytes(&[0x70, l0, l1, l2, l3, a, b, c, d]),
        }
    }
}

/// The header of a long DATA packet (wire-format §5.2): what the gateway needs to rebuild the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongData<'a> {
    /// The HELLO that the session began with.
    pub hello: Hello<'a>,
    /// The nonce of the WELCOME that answered it.
    pub gateway_nonce: [u8; 16],
    /// The full packet number.
    pub number: u64,
}

impl<'a> LongData<'a> {
    /// How long this header is.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        self.hello.core_len().saturating_add(24)
    }

    fn parse(datagram: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(datagram);
        r.array::<2>()?;
        let hello = Hello::parse_core(&mut r)?;
        let gateway_nonce = r.array()?;
        let number = r.u64()?;
        if number > varint::MAX || r.rest().len() <= TAG_LEN {
            return Err(Malformed);
        }
        Ok(Self { hello, gateway_nonce, number })
    }

    /// Writes the header.
    ///
    /// # Errors
    /// [`NoRoom`] when it does not fit.
    pub fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        w.bytes(&kind::LONG_DATA)?;
        self.hello.write_core(w)?;
        w.bytes(&self.gateway_nonce)?;
        w.u64(self.number)
    }
}

/// UNKNOWN_LABEL (wire-format §5.3): a hint, with nothing in it that could be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownLabel {
    /// The label that is not known; 0 when it answers long DATA.
    pub label: Label,
    /// The peer id of the long DATA; zero when it answers DATA.
    pub peer: PeerId,
}

impl UnknownLabel {
    /// How long the packet is: shorter than anything that it answers.
    pub const LEN: usize = 14;

    fn parse(datagram: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(datagram);
        r.array::<2>()?;
        let hint = Self { label: Label(r.u32()?), peer: PeerId(r.array()?) };
        if r.is_empty() { Ok(hint) } else { Err(Malformed) }
    }

    /// Writes the packet.
    ///
    /// # Errors
    /// [`NoRoom`] when it does not fit.
    pub fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        w.bytes(&kind::UNKNOWN_LABEL)?;
        w.u32(self.label.0)?;
        w.bytes(&self.peer.0)
    }
}
