//! AES-128-GCM-SIV, composed as RFC 8452 says from AES, counter mode and POLYVAL.
//!
//! The functions take the nonce, so that they can be held against published vectors; the protocol reaches them
//! through [`Crypto`](super::Crypto), which fixes the nonce to the packet number. Each of the three steps is a frame
//! of its own, since together they would not fit a microcontroller's stack.

use super::block::{apply, bits, ctr, padded};
use super::{Forged, NONCE_LEN, TAG_LEN, Tag};
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Block};
use ctr::cipher::array::Array;
use ctr::flavors::Ctr32LE;
use polyval::Polyval;
use polyval::universal_hash::UniversalHash;
use zeroize::{Zeroize, Zeroizing};

/// Encrypts `body` in place and returns the tag over it and `aad` (RFC 8452 §4).
#[must_use]
pub fn seal(key: &[u8; 16], nonce: &[u8; NONCE_LEN], aad: &[u8], body: &mut [u8]) -> Tag {
    let keys = Keys::derive(key, nonce);
    let mut tag = keys.hash(nonce, aad, body).into();
    let cipher = Aes128::new(&(*keys.encryption).into());
    cipher.encrypt_block(&mut tag);
    let tag = Tag::from_bytes(tag.into());
    keystream(&cipher, &tag, body);
    tag
}

/// Decrypts `body` in place if `tag` vouches for it and `aad` (RFC 8452 §5).
///
/// # Errors
/// [`Forged`] if it does not; `body` is then all zero.
pub fn open(key: &[u8; 16], nonce: &[u8; NONCE_LEN], aad: &[u8], body: &mut [u8], tag: &Tag) -> Result<(), Forged> {
    let keys = Keys::derive(key, nonce);
    let cipher = Aes128::new(&(*keys.encryption).into());
    keystream(&cipher, tag, body);
    let mut expected = keys.hash(nonce, aad, body).into();
    cipher.encrypt_block(&mut expected);
    // The tag is over the plaintext, so there is plaintext to wipe before the caller sees it.
    Tag::from_bytes(expected.into()).verify(tag).inspect_err(|_| body.zeroize())
}

/// The two keys of one nonce.
struct Keys {
    authentication: Zeroizing<[u8; 16]>,
    encryption: Zeroizing<[u8; 16]>,
}

impl Keys {
    /// RFC 8452 §4: the first halves of four blocks, each an encrypted counter and nonce.
    #[inline(never)]
    fn derive(key: &[u8; 16], nonce: &[u8; NONCE_LEN]) -> Self {
        let cipher = Aes128::new(key.into());
        let mut keys = Self { authentication: Zeroizing::default(), encryption: Zeroizing::default() };
        let (authentication, encryption) = (&mut keys.authentication, &mut keys.encryption);
        let halves = authentication.chunks_mut(8).chain(encryption.chunks_mut(8));
        for (i, half) in (0_u32..).zip(halves) {
            let mut block = Block::default();
            for (to, from) in block.iter_mut().zip(i.to_le_bytes().iter().chain(nonce)) {
                *to = *from;
            }
            cipher.encrypt_block(&mut block);
            for (to, from) in half.iter_mut().zip(&block) {
                *to = *from;
            }
            block.as_mut_slice().zeroize();
        }
        keys
    }

    /// RFC 8452 §4: POLYVAL over both texts and their lengths, with the nonce, less the top bit: the tag before its
    /// encryption.
    #[inline(never)]
    fn hash(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], plaintext: &[u8]) -> [u8; TAG_LEN] {
        let mut polyval = Polyval::new(&(*self.authentication).into());
        for text in [aad, plaintext] {
            let (blocks, tail) = Array::slice_as_chunks(text);
            polyval.update(blocks);
            if !tail.is_empty() {
                polyval.update(&[padded(tail)]);
            }
        }
        let lengths = u128::from(bits(aad)) | u128::from(bits(plaintext)) << 64;
        polyval.update(&[lengths.to_le_bytes().into()]);

        let mut hash: [u8; TAG_LEN] = polyval.finalize().into();
        for (byte, nonce) in hash.iter_mut().zip(nonce) {
            *byte ^= nonce;
        }
        let [.., last] = &mut hash;
        *last &= 0x7f;
        hash
    }
}

/// RFC 8452 §4: counter mode from the tag with its top bit set, the first 32 bits counting in little-endian order.
#[inline(never)]
fn keystream(cipher: &Aes128, tag: &Tag, body: &mut [u8]) {
    let mut first = *tag.as_bytes();
    let [.., last] = &mut first;
    *last |= 0x80;
    apply(ctr::<Ctr32LE>(cipher, first), body);
}
