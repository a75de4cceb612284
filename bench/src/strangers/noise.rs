//! Random datagrams, from arbitrary bytes to real packets with one bit changed.
use std::ops::Range;

use anyhow::{Context, Result};
use tallylink_core::wire::packet::kind;

use crate::workload::SplitMix64;

/// UDP payload of the largest: what an Ethernet frame takes over IPv4.
const LARGEST: u64 = 1472;
/// First bytes that a packet may begin with (wire-format §3).
const BEGINNINGS: [&[u8]; 8] =
    [&kind::HELLO, &kind::WELCOME, &kind::LONG_DATA, &kind::REJECT, &kind::UNKNOWN_LABEL, &[0x50], &[0x60], &[0x70]];
/// Bytes of a HELLO that long DATA begins with, too (wire-format §4.1, §5.2).
const HELLO_CORE: usize = 60;
/// Where among them the peer is named.
const PEER: Range<usize> = 5..13;

/// Makes random datagrams from what was captured of a session that lives.
pub(super) struct Noise<'c> {
    random: SplitMix64,
    capture: &'c [Vec<u8>],
    /// Type and label of a DATA packet.
    data: &'c [u8],
    /// A HELLO.
    hello: &'c [u8],
    /// How many ways there are to make one: the last replays what was captured, unchanged.
    ways: u64,
}

impl<'c> Noise<'c> {
    pub(super) fn new(seed: u64, capture: &'c [Vec<u8>]) -> Result<Self> {
        let find = |wanted: fn(&[u8]) -> bool| capture.iter().map(Vec::as_slice).find(|datagram| wanted(datagram));
        let data =
            find(|datagram| datagram.first().is_some_and(|first| *first != 0)).context("no DATA was captured")?;
        let hello = find(|datagram| datagram.starts_with(&kind::HELLO)).context("no HELLO was captured")?;
        Ok(Self { random: SplitMix64(seed), capture, data: &data[..5], hello: &hello[..HELLO_CORE], ways: 6 })
    }

    /// The same, with captured datagrams as they are among them.
    pub(super) fn with_replays(seed: u64, capture: &'c [Vec<u8>]) -> Result<Self> {
        Ok(Self { ways: 7, ..Self::new(seed, capture)? })
    }

    /// Makes the next one.
    pub(super) fn fill(&mut self, datagram: &mut Vec<u8>) {
        datagram.clear();
        match self.below(self.ways) {
            0 => {}
            1 => datagram.extend_from_slice(BEGINNINGS[self.below(BEGINNINGS.len() as u64) as usize]),
            // The label of a session that lives.
            2 => datagram.extend_from_slice(self.data),
            // A peer that is known, or one that is not.
            3 => {
                datagram.extend_from_slice(self.hello);
                datagram[1] = [kind::HELLO[1], kind::LONG_DATA[1]][self.below(2) as usize];
                if self.below(4) == 0 {
                    datagram[PEER].copy_from_slice(&self.random.next().to_le_bytes());
                }
            }
            4 => return self.flipped(datagram),
            5 => return self.cut(datagram),
            _ => return datagram.extend_from_slice(self.captured()),
        }
        let len = self.below(LARGEST + 1) as usize;
        while datagram.len() < len {
            datagram.extend_from_slice(&self.random.next().to_le_bytes());
        }
        datagram.truncate(len);
    }

    /// A captured datagram with one bit changed.
    fn flipped(&mut self, datagram: &mut Vec<u8>) {
        datagram.extend_from_slice(self.captured());
        let at = self.below(datagram.len() as u64) as usize;
        datagram[at] ^= 1 << self.below(8);
    }

    /// A captured datagram without its end.
    fn cut(&mut self, datagram: &mut Vec<u8>) {
        let whole = self.captured();
        let len = self.below(whole.len() as u64) as usize;
        datagram.extend_from_slice(&whole[..len]);
    }

    fn captured(&mut self) -> &'c [u8] {
        &self.capture[self.below(self.capture.len() as u64) as usize]
    }

    /// A number below `bound`; the tiny bias of the remainder is of no matter here.
    fn below(&mut self, bound: u64) -> u64 {
        self.random.next() % bound
    }
}

#[cfg(test)]
mod tests;
