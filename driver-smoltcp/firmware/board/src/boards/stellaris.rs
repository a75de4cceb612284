//! The Ethernet controller inside the LM3S6965.

use super::read_into;
use crate::register::Register;

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

/// Bytes before a frame in the buffers: its length.
pub(super) const PREFIX: usize = 2;
/// An Ethernet header, which the length of a frame that leaves does not count.
const HEADER: usize = 14;

/// Clocks the controller and gives it its address.
pub(super) fn start([a, b, c, d, e, f]: [u8; 6]) {
    RCGC2.write(RCGC2.read() | 1 << 28 | 1 << 30); // MAC and PHY
    INTERRUPTS.write(0);
    ADDRESS_LOW.write(u32::from_le_bytes([a, b, c, d]));
    ADDRESS_HIGH.write(u32::from_le_bytes([e, f, 0, 0]));
    RECEIVE.write(1 | 1 << 3 | 1 << 4); // on, bad checksums dropped, FIFO emptied
    TRANSMIT.write(1 | 1 << 1 | 1 << 2 | 1 << 4); // on, padding, checksum, full duplex
    STATUS.write(0x7f);
}

/// Takes the next frame, if one has arrived, and returns its length.
pub(super) fn receive(words: &mut [u32]) -> Option<usize> {
    if WAITING.read() == 0 {
        return None;
    }
    // The length is that of itself, the frame and its checksum, and it is the first thing to read.
    let first = DATA.read();
    let total = (first & 0xffff) as usize;
    let mut ahead = Some(first);
    read_into(words, total, || ahead.take().unwrap_or_else(|| DATA.read()));
    Some(total.saturating_sub(PREFIX + 4))
}

/// Sends a frame of `len` bytes.
pub(super) fn send(words: &mut [u32], len: usize) {
    if let Some(first) = words.first_mut() {
        *first = *first & 0xffff_0000 | len.saturating_sub(HEADER) as u32;
    }
    REQUEST.wait(1, 0);
    words.iter().take((len + PREFIX).div_ceil(4)).for_each(|word| DATA.write(*word));
    REQUEST.write(1);
}
