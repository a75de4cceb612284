//! A driver that keeps every byte it is given.

use tallylink_core::{Accept, Batch, Deliver, Epoch, Full, InIx, Open, PeerIx, Position, Refusal};

/// One stream, whatever its name.
#[derive(Default)]
pub(super) struct Inbox {
    pub(super) bytes: Vec<u8>,
    pub(super) next: Position,
    /// There is no room now.
    pub(super) full: bool,
}

impl Deliver for Inbox {
    fn open(&mut self, _: PeerIx, _: &Open<'_>) -> Result<Accept, Refusal> {
        Ok(Accept { stream: InIx(0), stored_below: 0, next: self.next.number })
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        if self.full {
            return Err(Full);
        }
        assert_eq!(batch.from, self.next, "delivery continues the stream");
        assert!(batch.to > batch.from && !batch.bytes.is_empty());
        self.next = batch.to;
        self.bytes.extend_from_slice(batch.bytes);
        Ok(())
    }

    fn gap(&mut self, _: InIx, _: Epoch, from: u64, below: u64, _: u8) -> Result<(), Full> {
        panic!("a gap from {from} to {below} in a stream without");
    }
}
