//! ChaCha20-Poly1305, composed as RFC 8439 §2.8 says from the stream cipher and the authenticator.
//!
//! The functions take the nonce, so that they can be held against published vectors; the protocol reaches them
//! through [`Crypto`](super::Crypto), which fixes the nonce to the packet number.

use super::{Forged, NONCE_LEN, TAG_LEN, Tag};
use chacha20::cipher::array::Array;
use chacha20::cipher::consts::U64;
use chacha20::cipher::{KeyIvInit, StreamCipherCore};
use chacha20::variants::Ietf;
use chacha20::{ChaChaCore, R20};
use poly1305::Poly1305;
use poly1305::universal_hash::{KeyInit, UniversalHash};
use zeroize::{Zeroize, Zeroizing};

/// Bytes of a key.
const KEY_LEN: usize = 32;

/// Encrypts `body` in place and returns the tag over it and `aad` (RFC 8439 §2.8).
#[must_use]
pub fn seal(key: &[u8; KEY_LEN], nonce: &[u8; NONCE_LEN], aad: &[u8], body: &mut [u8]) -> Tag {
    let one_time = keystream(key, nonce, body);
    tag(&one_time, aad, body)
}

/// Decrypts `body` in place if `tag` vouches for it and `aad` (RFC 8439 §2.8).
///
/// # Errors
/// [`Forged`] if it does not; `body` is then all zero.
pub fn open(
    key: &[u8; KEY_LEN],
    nonce: &[u8; NONCE_LEN],
    aad: &[u8],
    body: &mut [u8],
    received: &Tag,
) -> Result<(), Forged> {
    let one_time = keystream(key, nonce, &mut []);
    tag(&one_time, aad, body).verify(received).inspect_err(|_| body.zeroize())?;
    keystream(key, nonce, body);
    Ok(())
}

/// RFC 8439 §2.8: ChaCha20 over `body` from block 1 on. Returns what block 0 begins with: the authenticator's key (§2.6).
///
/// The 32-bit block counter does not return to 0 within 256 GiB, and `body` is a datagram.
#[inline(never)]
fn keystream(key: &[u8; KEY_LEN], nonce: &[u8; NONCE_LEN], body: &mut [u8]) -> Zeroizing<[u8; KEY_LEN]> {
    let mut stream = ChaChaCore::<R20, Ietf>::new(key.into(), nonce.into());
    let mut pad = Array::<u8, U64>::default();
    stream.write_keystream_block(&mut pad);
    let mut one_time = Zeroizing::new([0; KEY_LEN]);
    for (to, from) in one_time.iter_mut().zip(&pad) {
        *to = *from;
    }
    let (blocks, tail) = Array::slice_as_chunks_mut(body);
    stream.apply_keystream_blocks(blocks);
    if !tail.is_empty() {
        stream.write_keystream_block(&mut pad);
        for (byte, key) in tail.iter_mut().zip(&pad) {
            *byte ^= key;
        }
    }
    pad.as_mut_slice().zeroize();
    one_time
}

/// RFC 8439 §2.8: Poly1305 over both texts, each filled up with zeros to whole blocks, and their lengths.
#[inline(never)]
fn tag(one_time: &[u8; KEY_LEN], aad: &[u8], ciphertext: &[u8]) -> Tag {
    let mut poly1305 = Poly1305::new(one_time.into());
    poly1305.update_padded(aad);
    poly1305.update_padded(ciphertext);
    let lengths = aad.len() as u128 | (ciphertext.len() as u128) << 64;
    poly1305.update(&[lengths.to_le_bytes().into()]);
    let tag: [u8; TAG_LEN] = poly1305.finalize().into();
    Tag::from_bytes(tag)
}
