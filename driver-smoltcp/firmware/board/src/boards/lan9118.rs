//! SMSC LAN9118, as on Arm's MPS2 boards.

use super::read_into;
use crate::register::Register;

/// What SysTick counts in a second.
pub(crate) const HERTZ: u32 = 25_000_000;

/// A register of the chip by its offset (LAN9118 data sheet, §5.3).
const fn register(offset: usize) -> Register {
    // SAFETY: the board has the chip at this address; it holds registers and FIFOs only.
    unsafe { Register::at(0x4020_0000 + offset) }
}

const RX_DATA: Register = register(0x00);
const TX_DATA: Register = register(0x20);
const RX_STATUS: Register = register(0x40);
const TX_STATUS: Register = register(0x48);
const INT_STS: Register = register(0x58);
const INT_EN: Register = register(0x5c);
const BYTE_TEST: Register = register(0x64);
const RX_CFG: Register = register(0x6c);
const TX_CFG: Register = register(0x70);
const HW_CFG: Register = register(0x74);
const RX_INF: Register = register(0x7c);
const TX_INF: Register = register(0x80);
const MAC_COMMAND: Register = register(0xa4);
const MAC_DATA: Register = register(0xa8);

/// Registers behind `MAC_COMMAND` (§5.4).
const MAC_CR: u32 = 1;
const ADDRH: u32 = 2;
const ADDRL: u32 = 3;

const BUSY: u32 = 1 << 31;

/// Bytes before a frame in the buffers.
pub(super) const PREFIX: usize = 0;

/// Resets the chip and gives it its address.
pub(super) fn start([a, b, c, d, e, f]: [u8; 6]) {
    BYTE_TEST.wait(!0, 0x8765_4321);
    HW_CFG.write(1); // soft reset
    HW_CFG.wait(1, 0);
    HW_CFG.write(1 << 20 | 5 << 16); // store and forward, 5 KiB to send
    INT_EN.write(0);
    INT_STS.write(!0);
    write_mac(ADDRH, u32::from_le_bytes([e, f, 0, 0]));
    write_mac(ADDRL, u32::from_le_bytes([a, b, c, d]));
    RX_CFG.write(0);
    TX_CFG.write(1 << 1); // transmitter on
    write_mac(MAC_CR, 1 << 20 | 1 << 3 | 1 << 2); // full duplex, both directions
}

fn write_mac(register: u32, value: u32) {
    MAC_COMMAND.wait(BUSY, 0);
    MAC_DATA.write(value);
    MAC_COMMAND.write(BUSY | register);
    MAC_COMMAND.wait(BUSY, 0);
}

/// Takes the next frame, if a whole one has arrived, and returns its length.
pub(super) fn receive(words: &mut [u32]) -> Option<usize> {
    if (RX_INF.read() >> 16) & 0xff == 0 {
        return None;
    }
    let status = RX_STATUS.read();
    // The frame and its checksum (§3.13.3).
    let total = ((status >> 16) & 0x3fff) as usize;
    read_into(words, total, || RX_DATA.read());
    (status & 1 << 15 == 0).then(|| total.saturating_sub(4))
}

/// Sends a frame of `len` bytes.
pub(super) fn send(words: &[u32], len: usize) {
    // The FIFO has room for the frame and two command words (§3.12).
    while (TX_INF.read() & 0xffff) < len as u32 + 16 {}
    TX_DATA.write(1 << 13 | 1 << 12 | len as u32); // first and last segment
    TX_DATA.write(len as u32);
    words.iter().take(len.div_ceil(4)).for_each(|word| TX_DATA.write(*word));
    while (TX_INF.read() >> 16) & 0xff != 0 {
        TX_STATUS.read();
    }
}
