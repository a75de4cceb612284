//! What both GCM suites share: 16-byte blocks and counter mode over a packet of any length.

use aes::{Aes128, Block};
use ctr::cipher::array::Array;
use ctr::cipher::{InnerIvInit, StreamCipherCore};
use ctr::{CtrCore, CtrFlavor};
use zeroize::Zeroize;

/// Counter mode over a borrowed key, so that the key is expanded once a packet.
pub(super) type Ctr<'k, F> = CtrCore<&'k Aes128, F>;

/// Counter mode that starts with the counter block `first`.
pub(super) fn ctr<F: CtrFlavor<aes::cipher::consts::U16>>(cipher: &Aes128, first: [u8; 16]) -> Ctr<'_, F> {
    Ctr::inner_iv_init(cipher, &first.into())
}

/// Encrypts or decrypts `body` with the rest of the key stream.
///
/// The 32-bit counter of either flavor does not return to its start within 64 GiB, and `body` is a datagram.
pub(super) fn apply<F: CtrFlavor<aes::cipher::consts::U16>>(mut stream: Ctr<'_, F>, body: &mut [u8]) {
    // Several blocks at once are faster, but on a microcontroller they take 1.4 KB more of stack and 5.6 KB more of code.
    let rest = if cfg!(target_pointer_width = "64") {
        let (blocks, tail) = Array::slice_as_chunks_mut(body);
        stream.apply_keystream_blocks(blocks);
        tail
    } else {
        body
    };
    for piece in rest.chunks_mut(16) {
        let mut pad = Block::default();
        stream.write_keystream_block(&mut pad);
        for (byte, key) in piece.iter_mut().zip(pad) {
            *byte ^= key;
        }
        pad.as_mut_slice().zeroize();
    }
}

/// `tail`, shorter than a block, with zeros behind it.
pub(super) fn padded(tail: &[u8]) -> Block {
    let mut block = Block::default();
    for (to, from) in block.iter_mut().zip(tail) {
        *to = *from;
    }
    block
}

/// The length of `bytes` in bits.
pub(super) fn bits(bytes: &[u8]) -> u64 {
    (bytes.len() as u64).wrapping_mul(8)
}
