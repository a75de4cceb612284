//! A stranger on the path: reads everything, holds no key, and sends what it likes.

use crate::network::flip;
use crate::rng::Rng;
use std::net::SocketAddr;
use tallylink_core::Ecn;
use tallylink_core::PeerId;
use tallylink_core::wire::Writer;
use tallylink_core::wire::packet::UnknownLabel;

/// How many captured datagrams are kept.
const KEPT: usize = 300;

/// A datagram on its way.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    /// Where it seems to come from.
    pub(crate) from: SocketAddr,
    /// Where it goes.
    pub(crate) to: SocketAddr,
    /// Its mark.
    pub(crate) ecn: Ecn,
    /// Its payload.
    pub(crate) bytes: Vec<u8>,
}

/// What has been captured.
#[derive(Debug, Default)]
pub(crate) struct Stranger {
    captured: Vec<Datagram>,
}

/// The stranger's own address.
#[must_use]
pub(crate) fn address() -> SocketAddr {
    ([10, 9, 9, 9], 666).into()
}

impl Stranger {
    /// Reads a datagram.
    pub(crate) fn read(&mut self, datagram: &Datagram, rng: &mut Rng) {
        if self.captured.len() < KEPT {
            self.captured.push(datagram.clone());
        } else {
            // Old ones stay for long: they are the more interesting ones.
            let at = rng.below(KEPT as u64) as usize;
            self.captured[at] = datagram.clone();
        }
    }

    /// Sends something.
    pub(crate) fn act(&self, rng: &mut Rng) -> Option<Datagram> {
        if self.captured.is_empty() {
            return None;
        }
        let at = rng.below(self.captured.len() as u64) as usize;
        let mut sent = self.captured[at].clone();
        match rng.below(8) {
            0 | 1 => {}
            2 => sent.from = address(),
            3 => flip(&mut sent.bytes, rng),
            4 => sent.bytes.truncate(rng.below(sent.bytes.len() as u64) as usize + 1),
            5 => std::mem::swap(&mut sent.from, &mut sent.to),
            6 => hint(&mut sent),
            _ => {
                sent.bytes.iter_mut().for_each(|b| *b = rng.next() as u8);
                sent.bytes[0] = rng.pick(&[0, 0x50, 0x60, 0x70, 0xff]);
            }
        }
        Some(sent)
    }
}

/// Turns a captured datagram around, as a hint that its label is unknown.
fn hint(sent: &mut Datagram) {
    let label = match sent.bytes.get(1..5) {
        Some([a, b, c, d]) if sent.bytes[0] != 0 => u32::from_be_bytes([*a, *b, *c, *d]),
        _ => 0,
    };
    let peer = match sent.bytes.get(5..13) {
        Some(id) if sent.bytes[0] == 0 => PeerId(id.try_into().unwrap_or_default()),
        _ => PeerId::default(),
    };
    let hint = UnknownLabel { label: tallylink_core::Label(label), peer };
    let mut bytes = vec![0; UnknownLabel::LEN];
    if hint.write(&mut Writer::new(&mut bytes)).is_ok() {
        sent.bytes = bytes;
    }
    std::mem::swap(&mut sent.from, &mut sent.to);
}
