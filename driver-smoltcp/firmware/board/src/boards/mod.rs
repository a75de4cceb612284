//! The boards: each has an Ethernet controller, and a processor that counts at its own speed. What the controllers have in
//! common as smoltcp's `Device` is here: one frame at a time each way, copied through the chip, polled.

#[cfg(not(feature = "lm3s6965"))]
mod lan9118;
#[cfg(feature = "lm3s6965")]
mod stellaris;

#[cfg(not(feature = "lm3s6965"))]
use lan9118 as chip;
#[cfg(feature = "lm3s6965")]
use stellaris as chip;

use crate::register::bytes;
use core::ops::Range;
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

/// What SysTick counts in a second.
pub(crate) use chip::HERTZ;

/// Words of a frame buffer: the largest Ethernet frame, and what a controller puts before it.
const WORDS: usize = 384;
/// The largest frame without its checksum.
const FRAME: usize = 1514;

/// The controller and its two buffers.
pub struct Ethernet {
    received: [u32; WORDS],
    sent: [u32; WORDS],
}

impl Ethernet {
    /// Starts the controller and gives it its address.
    pub fn new(address: [u8; 6]) -> Self {
        chip::start(address);
        Self { received: [0; WORDS], sent: [0; WORDS] }
    }
}

/// A frame that arrived, and where it lies in the words.
pub struct Received<'a> {
    words: &'a mut [u32; WORDS],
    frame: Range<usize>,
}

/// Room for a frame that leaves.
pub struct Room<'a> {
    words: &'a mut [u32; WORDS],
}

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(bytes(self.words).get(self.frame).unwrap_or_default())
    }
}

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let filled = fill(bytes(self.words).get_mut(chip::PREFIX..chip::PREFIX + len).unwrap_or_default());
        chip::send(self.words, len);
        filled
    }
}

impl Device for Ethernet {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Room<'_>)> {
        let len = chip::receive(&mut self.received).filter(|len| *len <= FRAME)?;
        let frame = chip::PREFIX..chip::PREFIX + len;
        Some((Received { words: &mut self.received, frame }, Room { words: &mut self.sent }))
    }

    fn transmit(&mut self, _: Instant) -> Option<Room<'_>> {
        Some(Room { words: &mut self.sent })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut all = DeviceCapabilities::default();
        all.medium = Medium::Ethernet;
        all.max_transmission_unit = FRAME;
        all.max_burst_size = Some(1);
        all
    }
}

/// Reads `total` bytes out of a FIFO; what does not fit is gone.
fn read_into(words: &mut [u32], total: usize, mut next: impl FnMut() -> u32) {
    for at in 0..total.div_ceil(4) {
        let word = next();
        if let Some(to) = words.get_mut(at) {
            *to = word;
        }
    }
}
