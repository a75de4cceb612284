//! The key derivation: NIST SP 800-108r1 §4.1, counter mode, with AES-CMAC.

use super::cmac::Cmac;
use super::{Psk, Secret, TAG_LEN};
use zeroize::Zeroizing;

/// What a derived key is for. Keys of different labels are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// The key of the device end's tag: a HELLO's.
    HelloTag,
    /// The key of the tags with which the gateway end answers a HELLO: a WELCOME's and a REJECT's.
    WelcomeTag,
    /// The key of a session, from which the secrets of both directions are derived.
    Session,
    /// The traffic secret of packets from the device end.
    DeviceToGateway,
    /// The traffic secret of packets from the gateway end.
    GatewayToDevice,
    /// The key of the tag of an image in retained memory.
    Image,
}

impl Label {
    /// The bytes that enter the derivation. None contains a zero byte, the separator behind it.
    #[must_use]
    pub const fn bytes(self) -> &'static [u8] {
        match self {
            Self::HelloTag => b"tallylink1 hello tag",
            Self::WelcomeTag => b"tallylink1 welcome tag",
            Self::Session => b"tallylink1 session",
            Self::DeviceToGateway => b"tallylink1 device to gateway",
            Self::GatewayToDevice => b"tallylink1 gateway to device",
            Self::Image => b"tallylink1 image",
        }
    }
}

/// Fills `out` with key material for `label` and the concatenation of `context`.
///
/// SP 800-108r1 §4.1 with a 32-bit counter: block `i`, from 1, is
/// `CMAC(psk, [i] ‖ label ‖ 0x00 ‖ context ‖ [L])`, where `[i]` and `[L]`, the length of `out` in bits, are four
/// bytes in big-endian order. `out` is at most 65,535 bytes.
pub fn derive(psk: &Psk, label: Label, context: &[&[u8]], out: &mut [u8]) {
    debug_assert!(out.len() <= usize::from(u16::MAX), "no key is that long");
    let bits = (out.len() as u32).wrapping_mul(8).to_be_bytes();
    let fixed = [label.bytes(), &[0]].into_iter();
    let fixed = fixed.chain(context.iter().copied()).chain([&bits[..]]);
    counter_mode(psk.as_bytes(), fixed, out);
}

/// Derives a traffic secret; see [`derive()`].
#[must_use]
pub fn derive_secret(psk: &Psk, label: Label, context: &[&[u8]]) -> Secret {
    let mut bytes = Zeroizing::new([0; Secret::LEN]);
    derive(psk, label, context, bytes.as_mut());
    Secret::from_bytes(*bytes)
}

/// The counter mode before its input is given a format: block `i` is `CMAC(key, [i] ‖ fixed)`.
#[inline(never)] // The expanded key shall not widen the caller's frame.
fn counter_mode<'a>(key: &[u8; 16], fixed: impl Iterator<Item = &'a [u8]> + Clone, out: &mut [u8]) {
    let cmac = Cmac::new(key);
    for (i, piece) in (1_u32..).zip(out.chunks_mut(TAG_LEN)) {
        let mut message = cmac.start();
        message.update(&i.to_be_bytes());
        for part in fixed.clone() {
            message.update(part);
        }
        for (to, from) in piece.iter_mut().zip(*message.finish()) {
            *to = from;
        }
    }
}

#[cfg(test)]
mod tests;
