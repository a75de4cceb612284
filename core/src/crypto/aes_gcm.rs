//! AES-128-GCM (NIST SP 800-38D) with 96-bit nonces, from AES, counter mode and POLYVAL.
//!
//! The functions take the nonce, so that they can be held against published vectors; the protocol reaches them
//! through [`Crypto`](super::Crypto), which fixes the nonce to the packet number.

use super::block::{apply, bits, ctr, padded};
use super::{Forged, NONCE_LEN, TAG_LEN, Tag};
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Block};
use ctr::cipher::StreamCipherCore;
use ctr::cipher::array::Array;
use ctr::flavors::Ctr32BE;
use polyval::Polyval;
use polyval::universal_hash::UniversalHash;
use zeroize::{Zeroize, Zeroizing};

/// Encrypts `body` in place and returns the tag over it and `aad` (SP 800-38D §7.1).
#[must_use]
pub fn seal(key: &[u8; 16], nonce: &[u8; NONCE_LEN], aad: &[u8], body: &mut [u8]) -> Tag {
    let cipher = Aes128::new(key.into());
    let mask = keystream(&cipher, nonce, body);
    tag(&cipher, mask, aad, body)
}

/// Decrypts `body` in place if `tag` vouches for it and `aad` (SP 800-38D §7.2).
///
/// # Errors
/// [`Forged`] if it does not; `body` is then all zero.
pub fn open(
    key: &[u8; 16],
    nonce: &[u8; NONCE_LEN],
    aad: &[u8],
    body: &mut [u8],
    received: &Tag,
) -> Result<(), Forged> {
    let cipher = Aes128::new(key.into());
    let mask = keystream(&cipher, nonce, &mut []);
    tag(&cipher, mask, aad, body).verify(received).inspect_err(|_| body.zeroize())?;
    keystream(&cipher, nonce, body);
    Ok(())
}

/// SP 800-38D §7.1: counter mode over `body`. Returns what precedes its key stream: the block that masks the tag.
#[inline(never)]
fn keystream(cipher: &Aes128, nonce: &[u8; NONCE_LEN], body: &mut [u8]) -> Zeroizing<[u8; TAG_LEN]> {
    let mut first = [0; 16];
    for (to, from) in first.iter_mut().zip(nonce.iter().chain(&1_u32.to_be_bytes())) {
        *to = *from;
    }
    let mut stream = ctr::<Ctr32BE>(cipher, first);
    let mut mask = Zeroizing::new([0; TAG_LEN]);
    stream.write_keystream_block((&mut *mask).into());
    apply(stream, body);
    mask
}

/// SP 800-38D §7.1: GHASH of both texts, masked.
fn tag(cipher: &Aes128, mask: Zeroizing<[u8; TAG_LEN]>, aad: &[u8], ciphertext: &[u8]) -> Tag {
    let mut h = Block::default();
    cipher.encrypt_block(&mut h);
    let mut hash = ghash(h.into(), aad, ciphertext);
    h.as_mut_slice().zeroize();
    for (byte, mask) in hash.iter_mut().zip(*mask) {
        *byte ^= mask;
    }
    Tag::from_bytes(hash)
}

/// Blocks turned round at a time, so that POLYVAL can take several at once.
const BATCH: usize = 8;

/// GHASH (SP 800-38D §6.4) of both texts and their lengths, by POLYVAL.
///
/// RFC 8452 appendix A: with every block's bytes in reverse order, GHASH under `h` is POLYVAL under `mulX(h)`.
#[inline(never)]
fn ghash(h: [u8; 16], aad: &[u8], ciphertext: &[u8]) -> [u8; 16] {
    let h = Zeroizing::new(mul_x(u128::from_be_bytes(h)).to_le_bytes());
    let mut polyval = Polyval::new((&*h).into());
    for text in [aad, ciphertext] {
        let (blocks, tail) = Array::slice_as_chunks(text);
        let mut batch = [Block::default(); BATCH];
        for blocks in blocks.chunks(BATCH) {
            for (to, from) in batch.iter_mut().zip(blocks) {
                *to = reversed(from);
            }
            polyval.update(batch.get(..blocks.len()).unwrap_or_default());
        }
        if !tail.is_empty() {
            polyval.update(&[reversed(&padded(tail))]);
        }
    }
    let lengths = u128::from(bits(aad)) << 64 | u128::from(bits(ciphertext));
    polyval.update(&[lengths.to_le_bytes().into()]);
    reversed(&polyval.finalize()).into()
}

/// The block with its bytes in reverse order.
fn reversed(block: &Block) -> Block {
    u128::from_be_bytes((*block).into()).to_le_bytes().into()
}

/// RFC 8452 appendix A: multiplies a field element of POLYVAL by x, in constant time.
///
/// Bit `i` is the coefficient of x^i; the field polynomial is x^128 + x^127 + x^126 + x^121 + 1.
fn mul_x(element: u128) -> u128 {
    const REDUCTION: u128 = 1 << 127 | 1 << 126 | 1 << 121 | 1;
    let overflow = 0_u128.wrapping_sub(element >> 127);
    element << 1 ^ overflow & REDUCTION
}
