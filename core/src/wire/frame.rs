//! The frames inside a sealed packet (wire-format §6): parsed once into borrowed, typed values; written by the same file.

use super::ack::{self, AckRanges, EcnCounts, PacketRange};
use super::cursor::{Malformed, NoRoom, Reader, Writer};
use super::varint;
use crate::ids::{Epoch, LARGEST_NUMBER, Label, NAME_MAX};

/// The largest stream id on the wire (wire-format §6.3); the smallest is 1.
pub const LARGEST_STREAM: u64 = (1 << 30) - 1;
/// The largest delay that an ACK may state, in microseconds (wire-format §6.7).
pub const LARGEST_ACK_DELAY_US: u64 = (1 << 30) - 1;
/// The largest credit window, in bytes (wire-format §6.9).
pub const LARGEST_WINDOW: u64 = (1 << 40) - 1;
/// The largest stored size of one record: its varint and its bytes (wire-format §6.4).
pub const LARGEST_RECORD: u32 = (1 << 30) - 1;

/// The first byte of each frame.
pub mod kind {
    /// Fills the packet to its end.
    pub const PADDING: u8 = 0x00;
    /// Asks for an ACK.
    pub const PING: u8 = 0x01;
    /// The label to use from now on.
    pub const LABEL: u8 = 0x02;
    /// Begins a stream.
    pub const OPEN: u8 = 0x03;
    /// Answers OPEN.
    pub const OPENED: u8 = 0x04;
    /// Carries records.
    pub const CHUNK: u8 = 0x05;
    /// Gives up records.
    pub const SKIP: u8 = 0x06;
    /// Acknowledges packets.
    pub const ACK: u8 = 0x07;
    /// Confirms that records are safe.
    pub const STORED: u8 = 0x08;
    /// The credit window.
    pub const CREDIT: u8 = 0x09;
    /// Asks again for a confirmation.
    pub const QUERY: u8 = 0x0a;
    /// There is no room.
    pub const BUSY: u8 = 0x0b;
    /// Refuses a stream.
    pub const REFUSED: u8 = 0x0c;
    /// Acknowledges packets, and says how they were marked.
    pub const ACK_ECN: u8 = 0x0d;
}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The rest of the packet: that many zero bytes, this frame's first byte included.
    Padding(usize),
    /// Asks for an ACK.
    Ping,
    /// The label that the receiver shall use towards the sender of this frame.
    Label(Label),
    /// Begins a stream.
    Open(Open<'a>),
    /// The stream is open; records below `stored_below` are stored.
    Opened {
        /// The stream's id.
        stream: u32,
        /// Number of the first record that is not stored.
        stored_below: u64,
    },
    /// Records, or parts of them.
    Chunk(Chunk<'a>),
    /// The sender no longer has the records below `below`.
    Skip {
        /// The stream's id.
        stream: u32,
        /// Number of the first record that the sender still has.
        below: u64,
        /// Why the records are gone, as a number (wire-format §6.5).
        reason: u8,
    },
    /// These packets have been received.
    Ack {
        /// How long the acknowledgement of the largest number was held back.
        delay_us: u64,
        /// Which packets.
        ranges: AckRanges<'a>,
        /// How many arrived with which mark, when that is told.
        ecn: Option<EcnCounts>,
    },
    /// Records below `below` are stored.
    Stored {
        /// The stream's id.
        stream: u32,
        /// Number of the first record that is not stored.
        below: u64,
    },
    /// The most unstored bytes that may have been sent.
    Credit(u64),
    /// Asks again for something that was waited for.
    Query(QueryFor),
    /// The packet that was just received found no room.
    Busy,
    /// The stream is refused.
    Refused {
        /// The stream's id.
        stream: u32,
        /// Why, as a number (wire-format §6.12).
        reason: u8,
    },
}

/// An OPEN frame (wire-format §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open<'a> {
    /// The stream's id in this session.
    pub stream: u32,
    /// The stream's name, 1 to 64 bytes.
    pub name: &'a str,
    /// The numbering of its records.
    pub epoch: Epoch,
    /// The oldest record that the sender still holds.
    pub first: u64,
    /// The epoch before this one, if the sender knows one.
    pub previous: Option<Previous>,
}

/// The epoch before the one that is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Previous {
    /// That epoch.
    pub epoch: Epoch,
    /// Number of its first record that was never pushed: all below were stored.
    pub end: u64,
}

/// A CHUNK frame (wire-format §6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The stream's id.
    pub stream: u32,
    /// The record in which the chunk begins.
    pub number: u64,
    /// How many stored bytes of that record lie before the chunk.
    pub offset: u32,
    /// How many stored bytes of that record are left, those of this chunk included; 0 when `offset` is 0.
    pub rest: u32,
    /// `[size varint][bytes]…`, the first record from `offset` on, the last one possibly cut short.
    pub bytes: &'a [u8],
}

/// What a QUERY asks for (wire-format §6.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryFor {
    /// STORED of this stream.
    Stored(u32),
    /// CREDIT; the window that the sender needs.
    Credit(u64),
}

impl<'a> Frame<'a> {
    /// True when the packet that carries this frame must be acknowledged (wire-format §6).
    #[must_use]
    pub const fn elicits_ack(&self) -> bool {
        matches!(self, Self::Ping | Self::Open(_) | Self::Chunk(_) | Self::Skip { .. } | Self::Query(_))
    }

    /// Reads the next frame.
    ///
    /// # Errors
    /// [`Malformed`] when it is cut short, has an unknown type, or a value is above its stated largest.
    #[inline]
    pub fn parse(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let whole = r.rest();
        match r.u8()? {
            kind::CHUNK => Chunk::parse(r).map(Frame::Chunk),
            kind::ACK => parse_ack(r, false),
            kind::PADDING => parse_padding(whole, r),
            kind::PING => Ok(Self::Ping),
            kind::LABEL => r.u32().map(|l| Self::Label(Label(l))),
            kind::OPEN => Open::parse(r).map(Frame::Open),
            kind::OPENED => Ok(Self::Opened { stream: stream(r)?, stored_below: r.varint_to(LARGEST_NUMBER)? }),
            kind::SKIP => Ok(Self::Skip { stream: stream(r)?, below: r.varint_to(LARGEST_NUMBER)?, reason: r.u8()? }),
            kind::STORED => Ok(Self::Stored { stream: stream(r)?, below: r.varint_to(LARGEST_NUMBER)? }),
            kind::CREDIT => r.varint_to(LARGEST_WINDOW).map(Self::Credit),
            kind::QUERY => match r.u8()? {
                0 => stream(r).map(|s| Self::Query(QueryFor::Stored(s))),
                1 => r.varint_to(LARGEST_WINDOW).map(|w| Self::Query(QueryFor::Credit(w))),
                _ => Err(Malformed),
            },
            kind::BUSY => Ok(Self::Busy),
            kind::REFUSED => Ok(Self::Refused { stream: stream(r)?, reason: r.u8()? }),
            kind::ACK_ECN => parse_ack(r, true),
            _ => Err(Malformed),
        }
    }

    /// Writes this frame. ACK frames are written by [`write_ack`], the head of a CHUNK by [`Chunk::write_head`].
    ///
    /// # Errors
    /// [`NoRoom`] when it does not fit; the writer may then hold a part of it.
    pub fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        match *self {
            Self::Padding(n) => {
                w.space(n)?.fill(0);
                Ok(())
            }
            Self::Ping => w.u8(kind::PING),
            Self::Label(Label(label)) => {
                w.u8(kind::LABEL)?;
                w.u32(label)
            }
            Self::Open(open) => open.write(w),
            Self::Opened { stream, stored_below } => write_below(w, kind::OPENED, stream, stored_below),
            Self::Chunk(chunk) => {
                chunk.write_head(w, chunk.bytes.len())?;
                w.bytes(chunk.bytes)
            }
            Self::Skip { stream, below, reason } => {
                write_below(w, kind::SKIP, stream, below)?;
                w.u8(reason)
            }
            Self::Ack { delay_us, ranges, ecn } => {
                let mut table = heapless::Vec::<PacketRange, 64>::new();
                ranges.into_iter().map_while(|r| table.push(r).ok()).for_each(drop);
                match ecn {
                    None => write_ack(w, delay_us, &table).map(|_| ()),
                    Some(counts) => write_ack_ecn(w, delay_us, &table, &counts).map(|_| ()),
                }
            }
            Self::Stored { stream, below } => write_below(w, kind::STORED, stream, below),
            Self::Credit(window) => {
                w.u8(kind::CREDIT)?;
                w.varint(window)
            }
            Self::Query(QueryFor::Stored(stream)) => {
                w.bytes(&[kind::QUERY, 0])?;
                w.varint(u64::from(stream))
            }
            Self::Query(QueryFor::Credit(window)) => {
                w.bytes(&[kind::QUERY, 1])?;
                w.varint(window)
            }
            Self::Busy => w.u8(kind::BUSY),
            Self::Refused { stream, reason } => {
                w.u8(kind::REFUSED)?;
                w.varint(u64::from(stream))?;
                w.u8(reason)
            }
        }
    }
}

/// Writes an ACK frame of as many of the `ranges` (descending, not touching) as fit, and returns how many did.
///
/// # Errors
/// [`NoRoom`] when not even the first fits.
pub fn write_ack(w: &mut Writer<'_>, delay_us: u64, ranges: &[PacketRange]) -> Result<usize, NoRoom> {
    w.u8(kind::ACK)?;
    ack::write(w, delay_us.min(LARGEST_ACK_DELAY_US), ranges, 0)
}

/// Writes an ACK frame with the counts of marks, as [`write_ack`] does without.
///
/// # Errors
/// [`NoRoom`] when not even the first range fits; the writer may then hold a part of it.
pub fn write_ack_ecn(
    w: &mut Writer<'_>,
    delay_us: u64,
    ranges: &[PacketRange],
    counts: &EcnCounts,
) -> Result<usize, NoRoom> {
    w.u8(kind::ACK_ECN)?;
    let written = ack::write(w, delay_us.min(LARGEST_ACK_DELAY_US), ranges, counts.wire_len())?;
    counts.write(w)?;
    Ok(written)
}

fn stream(r: &mut Reader<'_>) -> Result<u32, Malformed> {
    match r.varint_to(LARGEST_STREAM)? {
        0 => Err(Malformed),
        id => Ok(id as u32),
    }
}

fn write_below(w: &mut Writer<'_>, kind: u8, stream: u32, below: u64) -> Result<(), NoRoom> {
    w.u8(kind)?;
    w.varint(u64::from(stream))?;
    w.varint(below)
}

fn parse_padding<'a>(whole: &'a [u8], r: &mut Reader<'a>) -> Result<Frame<'a>, Malformed> {
    let rest = r.bytes(r.rest().len())?;
    if rest.iter().fold(0, |any, b| any | b) == 0 { Ok(Frame::Padding(whole.len())) } else { Err(Malformed) }
}

fn parse_ack<'a>(r: &mut Reader<'a>, marks: bool) -> Result<Frame<'a>, Malformed> {
    let largest = r.varint_to(super::number::LARGEST)?;
    let delay_us = r.varint_to(LARGEST_ACK_DELAY_US)?;
    let ranges = AckRanges::parse(largest, r)?;
    let ecn = if marks { Some(EcnCounts::parse(r)?) } else { None };
    Ok(Frame::Ack { delay_us, ranges, ecn })
}

impl<'a> Open<'a> {
    fn parse(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let stream = stream(r)?;
        let length = usize::from(r.u8()?);
        if length == 0 || length > NAME_MAX {
            return Err(Malformed);
        }
        let name = core::str::from_utf8(r.bytes(length)?).map_err(|_| Malformed)?;
        let epoch = Epoch(r.array()?);
        let first = r.varint_to(LARGEST_NUMBER)?;
        let previous = match r.u8()? {
            0 => None,
            1 => Some(Previous { epoch: Epoch(r.array()?), end: r.varint_to(LARGEST_NUMBER)? }),
            _ => return Err(Malformed),
        };
        Ok(Self { stream, name, epoch, first, previous })
    }

    fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        w.u8(kind::OPEN)?;
        w.varint(u64::from(self.stream))?;
        w.u8(u8::try_from(self.name.len()).map_err(|_| NoRoom)?)?;
        w.bytes(self.name.as_bytes())?;
        w.bytes(&self.epoch.0)?;
        w.varint(self.first)?;
        match self.previous {
            None => w.u8(0),
            Some(previous) => {
                w.u8(1)?;
                w.bytes(&previous.epoch.0)?;
                w.varint(previous.end)
            }
        }
    }
}

impl<'a> Chunk<'a> {
    #[inline]
    fn parse(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let stream = stream(r)?;
        let number = r.varint_to(LARGEST_NUMBER)?;
        let offset = r.varint_to(u64::from(LARGEST_RECORD))? as u32;
        let rest = match offset {
            0 => 0,
            _ => r.varint_to(u64::from(LARGEST_RECORD.saturating_sub(offset)))? as u32,
        };
        if offset > 0 && rest == 0 {
            return Err(Malformed);
        }
        let length = r.varint_to(u64::from(u16::MAX))? as usize;
        if length == 0 {
            return Err(Malformed);
        }
        Ok(Self { stream, number, offset, rest, bytes: r.bytes(length)? })
    }

    /// How long the head of this chunk is when `length` bytes follow.
    #[must_use]
    #[inline]
    pub const fn head_len(&self, length: usize) -> usize {
        let rest = if self.offset > 0 { varint::len(self.rest as u64) } else { 0 };
        1usize
            .saturating_add(varint::len(self.stream as u64))
            .saturating_add(varint::len(self.number))
            .saturating_add(varint::len(self.offset as u64))
            .saturating_add(rest)
            .saturating_add(varint::len(length as u64))
    }

    /// Writes everything before the bytes, `length` of which follow.
    ///
    /// # Errors
    /// [`NoRoom`] when it does not fit.
    #[inline]
    pub fn write_head(&self, w: &mut Writer<'_>, length: usize) -> Result<(), NoRoom> {
        w.u8(kind::CHUNK)?;
        w.varint(u64::from(self.stream))?;
        w.varint(self.number)?;
        w.varint(u64::from(self.offset))?;
        if self.offset > 0 {
            w.varint(u64::from(self.rest))?;
        }
        w.varint(length as u64)
    }
}
