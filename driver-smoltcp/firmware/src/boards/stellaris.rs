//! The Ethernet controller inside the LM3S6965: one frame at a time each way, copied through one data register, polled.

use super::{FRAME, WORDS};
use crate::register::{Register, bytes};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

/// What SysTick counts in a second.
pub(crate) const HERTZ: u32 = 12_500_000;

/// A register of the controller by its offset (LM3S6965 data sheet, §17.5).
const fn register(offset: usize) -> Register {
    // SAFETY: the processor has the controller at this address; it holds registers and FIFOs only.
    unsafe { Register::at(0x4004_8000 + offset) }
}

// SAFETY: the processor's clock gating control 2 is a register of its own.
const RCGC2: Register = unsafe { Register::at(0x400f_e108) };
const STATUS: Register = register(0x00);
const INTERRUPTS: Register = register(0x04);
const RECEIVE: Register = register(0x08);
const TRANSMIT: Register = register(0x0c);
const DATA: Register = register(0x10);
const ADDRESS_LOW: Register = register(0x14);
const ADDRESS_HIGH: Register = register(0x18);
const WAITING: Register = register(0x34);
const REQUEST: Register = register(0x38);

/// Bytes before a frame: its length.
const PREFIX: usize = 2;
/// An Ethernet header, which the length of a frame that leaves does not count.
const HEADER: usize = 14;

/// The controller.
pub(crate) struct Ethernet {
    received: [u32; WORDS],
    sent: [u32; WORDS],
}

impl Ethernet {
    /// Clocks the controller and gives it its address.
    pub(crate) fn new(address: [u8; 6]) -> Self {
        let [a, b, c, d, e, f] = address;
        RCGC2.write(RCGC2.read() | 1 << 28 | 1 << 30); // MAC and PHY
        INTERRUPTS.write(0);
        ADDRESS_LOW.write(u32::from_le_bytes([a, b, c, d]));
        ADDRESS_HIGH.write(u32::from_le_bytes([e, f, 0, 0]));
        RECEIVE.write(1 | 1 << 3 | 1 << 4); // on, bad checksums dropped, FIFO emptied
        TRANSMIT.write(1 | 1 << 1 | 1 << 2 | 1 << 4); // on, padding, checksum, full duplex
        STATUS.write(0x7f);
        Self { received: [0; WORDS], sent: [0; WORDS] }
    }
}

/// A frame that arrived.
pub(crate) struct Received<'a> {
    words: &'a mut [u32; WORDS],
    len: usize,
}

/// Room for a frame that leaves.
pub(crate) struct Room<'a> {
    words: &'a mut [u32; WORDS],
}

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(bytes(self.words).get(PREFIX..PREFIX + self.len).unwrap_or_default())
    }
}

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let all = bytes(self.words);
        let payload = (len.saturating_sub(HEADER) as u16).to_le_bytes();
        let filled = match all.split_first_chunk_mut::<PREFIX>() {
            Some((prefix, frame)) => {
                *prefix = payload;
                fill(frame.get_mut(..len).unwrap_or_default())
            }
            None => fill(&mut []),
        };
        REQUEST.wait(1, 0);
        self.words.iter().take((len + PREFIX).div_ceil(4)).for_each(|word| DATA.write(*word));
        REQUEST.write(1);
        filled
    }
}

impl Device for Ethernet {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Room<'_>)> {
        if WAITING.read() == 0 {
            return None;
        }
        // The length is that of itself, the frame and its checksum.
        let first = DATA.read();
        let total = (first & 0xffff) as usize;
        for at in 0..total.div_ceil(4) {
            let word = if at == 0 { first } else { DATA.read() };
            if let Some(to) = self.received.get_mut(at) {
                *to = word;
            }
        }
        let len = total.saturating_sub(PREFIX + 4);
        (len <= FRAME).then_some((Received { words: &mut self.received, len }, Room { words: &mut self.sent }))
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
