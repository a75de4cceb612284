//! HELLO, WELCOME and REJECT (wire-format §4). Their tags are not looked at here: parsing proves form, not origin.

use super::cursor::{Malformed, NoRoom, Reader, Writer};
use super::packet::kind;
use crate::crypto::TAG_LEN;
use crate::ids::{Boot, KeyId, Label, PeerId};

/// The one version of the protocol that this code speaks.
pub const VERSION: u8 = 1;
/// A HELLO is padded to at least this many bytes, its tag included, so that no answer is larger.
pub const HELLO_MIN: usize = 128;
/// The most bytes of TLVs behind a HELLO or WELCOME.
pub const TLVS_MAX: usize = 64;
/// The longest HELLO without padding and tag.
pub const HELLO_CORE_MAX: usize = 60 + TLVS_MAX;
/// The longest WELCOME without its tag.
pub const WELCOME_CORE_MAX: usize = 63 + TLVS_MAX;

/// The extension that lists, a byte each, the frames that an end reads besides those of wire-format §6.1 to §6.12.
const FRAMES: u64 = 1;
/// The extensions of an end that reads ACKs with counts of marks.
pub(crate) const READS_ACK_ECN: &[u8] = &[FRAMES as u8, 1, super::frame::kind::ACK_ECN];

/// True when these extensions announce that their sender reads this frame (wire-format §6).
pub(crate) fn reads(tlvs: &[u8], frame: u8) -> bool {
    let mut r = Reader::new(tlvs);
    while let (Ok(kind), Ok(length)) = (r.varint(), r.varint()) {
        match r.bytes(length as usize) {
            Ok(value) if kind == FRAMES && value.contains(&frame) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    false
}

/// What one end will receive (wire-format §4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of one record, without its size varint.
    pub max_record: u32,
    /// The largest datagram, in bytes of UDP payload.
    pub max_datagram: u16,
    /// The width of its window of packet numbers (W).
    pub ack_window: u32,
    /// The first credit window, in bytes.
    pub credit: u32,
    /// How many packets it can hold ahead of a gap (Q).
    pub held: u16,
}

impl Limits {
    /// The smallest datagram that every end must receive.
    pub const MIN_DATAGRAM: u16 = 512;

    pub(crate) fn parse(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let limits = Self {
            max_record: r.u32()?,
            max_datagram: r.u16()?,
            ack_window: r.u32()?,
            credit: r.u32()?,
            held: r.u16()?,
        };
        let sane = limits.max_record < super::frame::LARGEST_RECORD
            && limits.max_datagram >= Self::MIN_DATAGRAM
            && limits.ack_window >= 64
            && limits.ack_window <= 1 << 20;
        if sane { Ok(limits) } else { Err(Malformed) }
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        w.u32(self.max_record)?;
        w.u16(self.max_datagram)?;
        w.u32(self.ack_window)?;
        w.u32(self.credit)?;
        w.u16(self.held)
    }
}

/// HELLO: the device end asks for a session (wire-format §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello<'a> {
    /// Lowest version spoken.
    pub version_min: u8,
    /// Highest version spoken.
    pub version_max: u8,
    /// Which of the peer's keys.
    pub key: KeyId,
    /// Who.
    pub peer: PeerId,
    /// Fresh for every exchange.
    pub nonce: [u8; 16],
    /// The device's boot.
    pub boot: Boot,
    /// The suites offered, one bit each.
    pub suites: u8,
    /// The label that the gateway shall use towards the device.
    pub label: Label,
    /// What the device will receive.
    pub limits: Limits,
    /// Extensions: type, length, value each. Unknown ones are ignored.
    pub tlvs: &'a [u8],
}

impl<'a> Hello<'a> {
    /// How long the packet is without padding and tag.
    #[must_use]
    pub const fn core_len(&self) -> usize {
        60usize.saturating_add(self.tlvs.len())
    }

    /// How long the whole packet is.
    #[must_use]
    pub const fn packet_len(&self) -> usize {
        let len = self.core_len().saturating_add(TAG_LEN);
        if len < HELLO_MIN { HELLO_MIN } else { len }
    }

    pub(super) fn parse(datagram: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(datagram);
        r.array::<2>()?;
        let hello = Self::parse_core(&mut r)?;
        // Form is exact: the padding is known from the core, all zero, and the tag ends the packet.
        let padding = r.rest().len().checked_sub(TAG_LEN).ok_or(Malformed)?;
        let zero = r.bytes(padding)?.iter().all(|b| *b == 0);
        if zero && datagram.len() == hello.packet_len() { Ok(hello) } else { Err(Malformed) }
    }

    /// Reads everything behind the first two bytes, up to the end of the TLVs.
    pub(super) fn parse_core(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            version_min: r.u8()?,
            version_max: r.u8()?,
            key: KeyId(r.u8()?),
            peer: PeerId(r.array()?),
            nonce: r.array()?,
            boot: Boot(r.array()?),
            suites: r.u8()?,
            label: Label(r.u32()?),
            limits: Limits::parse(r)?,
            tlvs: tlvs(r)?,
        })
    }

    /// Writes everything behind the first two bytes, up to the end of the TLVs.
    pub(super) fn write_core(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        w.u8(self.version_min)?;
        w.u8(self.version_max)?;
        w.u8(self.key.0)?;
        w.bytes(&self.peer.0)?;
        w.bytes(&self.nonce)?;
        w.bytes(&self.boot.0)?;
        w.u8(self.suites)?;
        w.u32(self.label.0)?;
        self.limits.write(w)?;
        write_tlvs(w, self.tlvs)
    }

    /// Writes the packet without padding and tag: what the keys are derived from.
    ///
    /// # Errors
    /// [`NoRoom`] when it does not fit.
    pub fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        w.bytes(&kind::HELLO)?;
        self.write_core(w)
    }
}

/// WELCOME: the gateway end answers (wire-format §4.2). It creates no state there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Welcome<'a> {
    /// The version chosen.
    pub version: u8,
    /// Which of the peer's keys.
    pub key: KeyId,
    /// Who asked.
    pub peer: PeerId,
    /// The nonce of the HELLO.
    pub device_nonce: [u8; 16],
    /// The gateway's boot and a counter that never repeats in it.
    pub gateway_nonce: [u8; 16],
    /// The suite chosen: its number.
    pub suite: u8,
    /// What the gateway will receive.
    pub limits: Limits,
    /// Extensions. Unknown ones are ignored.
    pub tlvs: &'a [u8],
}

impl<'a> Welcome<'a> {
    /// How long the packet is without its tag.
    #[must_use]
    pub const fn core_len(&self) -> usize {
        63usize.saturating_add(self.tlvs.len())
    }

    pub(super) fn parse(datagram: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(datagram);
        r.array::<2>()?;
        let version = r.u8()?;
        let welcome = Self {
            version,
            key: KeyId(r.u8()?),
            peer: PeerId(r.array()?),
            device_nonce: r.array()?,
            gateway_nonce: r.array()?,
            suite: r.u8()?,
            limits: Limits::parse(&mut r)?,
            tlvs: tlvs(&mut r)?,
        };
        if r.rest().len() == TAG_LEN { Ok(welcome) } else { Err(Malformed) }
    }

    /// Writes the packet without its tag: what the keys are derived from.
    ///
    /// # Errors
    /// [`NoRoom`] when it does not fit.
    pub fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        w.bytes(&kind::WELCOME)?;
        w.u8(self.version)?;
        w.u8(self.key.0)?;
        w.bytes(&self.peer.0)?;
        w.bytes(&self.device_nonce)?;
        w.bytes(&self.gateway_nonce)?;
        w.u8(self.suite)?;
        self.limits.write(w)?;
        write_tlvs(w, self.tlvs)
    }
}

/// Why a gateway rejects a HELLO (wire-format §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectReason {
    /// No version in common.
    Version,
    /// No suite in common.
    Suite,
    /// There is no room for another active session; try again later.
    Busy,
}

/// REJECT: an authentic no (wire-format §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Lowest version the gateway speaks.
    pub version_min: u8,
    /// Highest version the gateway speaks.
    pub version_max: u8,
    /// Which of the peer's keys.
    pub key: KeyId,
    /// Who asked.
    pub peer: PeerId,
    /// The nonce of the HELLO.
    pub device_nonce: [u8; 16],
    /// Why.
    pub reason: RejectReason,
    /// How long to wait before the next HELLO.
    pub retry_after_s: u16,
}

impl Reject {
    /// How long the packet is without its tag.
    pub const CORE_LEN: usize = 32;

    pub(super) fn parse(datagram: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(datagram);
        r.array::<2>()?;
        let reject = Self {
            version_min: r.u8()?,
            version_max: r.u8()?,
            key: KeyId(r.u8()?),
            peer: PeerId(r.array()?),
            device_nonce: r.array()?,
            reason: match r.u8()? {
                1 => RejectReason::Version,
                2 => RejectReason::Suite,
                3 => RejectReason::Busy,
                _ => return Err(Malformed),
            },
            retry_after_s: r.u16()?,
        };
        if r.rest().len() == TAG_LEN { Ok(reject) } else { Err(Malformed) }
    }

    /// Writes the packet without its tag.
    ///
    /// # Errors
    /// [`NoRoom`] when it does not fit.
    pub fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        w.bytes(&kind::REJECT)?;
        w.u8(self.version_min)?;
        w.u8(self.version_max)?;
        w.u8(self.key.0)?;
        w.bytes(&self.peer.0)?;
        w.bytes(&self.device_nonce)?;
        w.u8(match self.reason {
            RejectReason::Version => 1,
            RejectReason::Suite => 2,
            RejectReason::Busy => 3,
        })?;
        w.u16(self.retry_after_s)
    }
}

/// Reads a list of extensions: each must be whole; who knows none ignores them.
fn tlvs<'a>(r: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let length = usize::from(r.u16()?);
    if length > TLVS_MAX {
        return Err(Malformed);
    }
    let all = r.bytes(length)?;
    let mut each = Reader::new(all);
    while !each.is_empty() {
        each.varint()?;
        let value = each.varint_to(TLVS_MAX as u64)?;
        each.bytes(value as usize)?;
    }
    Ok(all)
}

fn write_tlvs(w: &mut Writer<'_>, tlvs: &[u8]) -> Result<(), NoRoom> {
    w.u16(u16::try_from(tlvs.len()).map_err(|_| NoRoom)?)?;
    w.bytes(tlvs)
}
