//! What a program does with what it receives.

use tallylink_core::{Accept, Batch, Deliver, Epoch, Event, Full, InIx, Open, PeerIx, Refusal};

/// The program's part, called on the network thread.
///
/// Calls must not block: while one runs, no session goes on.
pub trait Application: Deliver {
    /// One above the largest index that [`Deliver::open`] ever gave out. The next one to give out is this or below.
    fn streams(&self) -> u32;

    /// Something changed.
    fn event(&mut self, event: Event) {
        let _ = event;
    }

    /// A peer was removed, and its streams with it: its index and theirs may come back with another meaning.
    fn peer_removed(&mut self, peer: PeerIx) {
        let _ = peer;
    }

    /// Something that is stored, or taken, and not yet confirmed; asked each turn until there is nothing. What other
    /// threads store they report by [`Remote::stored`](crate::network::Remote::stored) instead.
    fn stored(&mut self) -> Option<Stored> {
        None
    }

    /// Another thread reported this through a [`Remote`](crate::network::Remote).
    fn confirmed(&mut self, stored: Stored) {
        let _ = stored;
    }

    /// True once when room has returned after `Full`; asked each turn.
    fn room(&mut self) -> bool {
        false
    }
}

/// Receives nothing: for programs that only send. Every stream is refused.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendsOnly;

impl Deliver for SendsOnly {
    fn open(&mut self, _peer: PeerIx, _open: &Open<'_>) -> Result<Accept, Refusal> {
        Err(Refusal::Name)
    }

    fn records(&mut self, _batch: Batch<'_>) -> Result<(), Full> {
        Err(Full)
    }

    fn gap(&mut self, _stream: InIx, _epoch: Epoch, _from: u64, _below: u64, _reason: u8) -> Result<(), Full> {
        Err(Full)
    }
}

impl Application for SendsOnly {
    fn streams(&self) -> u32 {
        0
    }
}

/// Records of one stream that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The stream, as `Deliver::open` named it.
    pub stream: InIx,
    /// The epoch that `below` belongs to.
    pub epoch: Epoch,
    /// Number of the first record that is not stored.
    pub below: u64,
}
