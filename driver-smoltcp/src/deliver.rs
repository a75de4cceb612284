//! The receiver of a device that only sends.

use tallylink_core::wire::Open;
use tallylink_core::{Accept, Batch, Deliver, Epoch, Full, InIx, PeerIx, Refusal};

/// Takes no streams: the gateway is told so if it opens one.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStreams;

impl Deliver for NoStreams {
    fn open(&mut self, _: PeerIx, _: &Open<'_>) -> Result<Accept, Refusal> {
        Err(Refusal::Name)
    }

    fn records(&mut self, _: Batch<'_>) -> Result<(), Full> {
        Err(Full)
    }

    fn gap(&mut self, _: InIx, _: Epoch, _: u64, _: u64, _: u8) -> Result<(), Full> {
        Err(Full)
    }
}
