//! AES-CMAC (RFC 4493) and the key derivation made of it (NIST SP 800-108r1 §4.1, counter mode).

use super::{Psk, Secret, TAG_LEN, Tag};
use aes::Aes128;
use cmac::{Cmac, KeyInit, Mac};
use zeroize::{Zeroize, Zeroizing};

/// What a derived key is for. Keys of different labels are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// The key of the device end's tag: a HELLO's.
    HelloTag,
    /// The key of the tags with which the gateway end answers a HELLO: a WELCOME's and a REJECT's.
    WelcomeTag,
    /// The traffic secret of packets from the device end.
    DeviceToGateway,
    /// The traffic secret of packets from the gateway end.
    GatewayToDevice,
}

impl Label {
    /// The bytes that enter the derivation. None contains a zero byte, the separator behind it.
    #[must_use]
    pub const fn bytes(self) -> &'static [u8] {
        match self {
            Self::HelloTag => b"tallylink1 hello tag",
            Self::WelcomeTag => b"tallylink1 welcome tag",
            Self::DeviceToGateway => b"tallylink1 device to gateway",
            Self::GatewayToDevice => b"tallylink1 gateway to device",
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

/// Derives a traffic secret; see [`derive`].
#[must_use]
pub fn derive_secret(psk: &Psk, label: Label, context: &[&[u8]]) -> Secret {
    let mut bytes = Zeroizing::new([0; Secret::LEN]);
    derive(psk, label, context, bytes.as_mut());
    Secret::from_bytes(*bytes)
}

/// The AES-CMAC (RFC 4493) of the concatenation of `parts`.
#[must_use]
#[inline(never)] // The expanded key shall not widen the caller's frame.
pub fn mac(key: &[u8; 16], parts: &[&[u8]]) -> Tag {
    let mut mac = Cmac::<Aes128>::new(key.into());
    for part in parts {
        mac.update(part);
    }
    Tag::from_bytes(mac.finalize().into_bytes().into())
}

/// The counter mode before its input is given a format: block `i` is `CMAC(key, [i] ‖ fixed)`.
#[inline(never)] // As for `mac`.
fn counter_mode<'a>(key: &[u8; 16], fixed: impl Iterator<Item = &'a [u8]> + Clone, out: &mut [u8]) {
    let mut mac = Cmac::<Aes128>::new(key.into());
    for (i, piece) in (1_u32..).zip(out.chunks_mut(TAG_LEN)) {
        mac.update(&i.to_be_bytes());
        for part in fixed.clone() {
            mac.update(part);
        }
        let mut block: [u8; TAG_LEN] = mac.finalize_reset().into_bytes().into();
        for (to, from) in piece.iter_mut().zip(block) {
            *to = from;
        }
        block.zeroize();
    }
}

#[cfg(test)]
mod tests;
