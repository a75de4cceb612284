//! SMSC LAN9118, as on Arm's MPS2 boards: one frame at a time each way, copied through the chip's FIFOs, polled.

use super::{FRAME, WORDS};
use crate::register::{Register, bytes};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

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

/// The controller.
pub(crate) struct Ethernet {
    received: [u32; WORDS],
    sent: [u32; WORDS],
}

impl Ethernet {
    /// Resets the chip and gives it its address.
    pub(crate) fn new(address: [u8; 6]) -> Self {
        let [a, b, c, d, e, f] = address;
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
        Self { received: [0; WORDS], sent: [0; WORDS] }
    }
}

fn write_mac(register: u32, value: u32) {
    MAC_COMMAND.wait(BUSY, 0);
    MAC_DATA.write(value);
    MAC_COMMAND.write(BUSY | register);
    MAC_COMMAND.wait(BUSY, 0);
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
        take(bytes(self.words).get(..self.len).unwrap_or_default())
    }
}

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, fill: F) -> R {
        let filled = fill(bytes(self.words).get_mut(..len).unwrap_or_default());
        // The FIFO has room for the frame and two command words (§3.12).
        while (TX_INF.read() & 0xffff) < len as u32 + 16 {}
        TX_DATA.write(1 << 13 | 1 << 12 | len as u32); // first and last segment
        TX_DATA.write(len as u32);
        self.words.iter().take(len.div_ceil(4)).for_each(|word| TX_DATA.write(*word));
        while (TX_INF.read() >> 16) & 0xff != 0 {
            TX_STATUS.read();
        }
        filled
    }
}

impl Device for Ethernet {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Room<'_>)> {
        if (RX_INF.read() >> 16) & 0xff == 0 {
            return None;
        }
        let status = RX_STATUS.read();
        // The frame and its checksum (§3.13.3).
        let total = ((status >> 16) & 0x3fff) as usize;
        for at in 0..total.div_ceil(4) {
            let word = RX_DATA.read();
            if let Some(to) = self.received.get_mut(at) {
                *to = word;
            }
        }
        let whole = status & 1 << 15 == 0 && total <= FRAME + 4;
        let len = total.saturating_sub(4);
        whole.then_some((Received { words: &mut self.received, len }, Room { words: &mut self.sent }))
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
