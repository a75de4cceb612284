//! The address translator in front of the sender: its outer address changes when the script says so.
use super::{
    addresses,
    ip::{self, Header, Which},
};
use crate::transport::side::End;

#[derive(Default)]
pub(super) struct Translator {
    /// How often the outer address has changed.
    moved: u8,
}

impl Translator {
    /// The sender gets another outer address. Who writes to the one before is not heard.
    pub(super) fn move_on(&mut self) {
        self.moved = self.moved.saturating_add(1);
    }

    /// Puts the outer address into what the sender sent, and the inner one into what goes to it. Returns false for what goes
    /// to an address that nobody has any longer.
    pub(super) fn translate(&self, from: End, packet: &mut [u8]) -> bool {
        let Some(header) = Header::parse(packet) else {
            return false;
        };
        let (which, inner) = match from {
            End::Sender => (Which::Source, header.source),
            End::Receiver => (Which::Destination, addresses::sender(header.destination)),
        };
        let outer = addresses::outer(inner, self.moved);
        match from {
            End::Sender => ip::readdress(packet, which, outer),
            End::Receiver if header.destination == outer => ip::readdress(packet, which, inner),
            End::Receiver => return false,
        }
        true
    }
}
