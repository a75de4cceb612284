//! Where received records go.

use crate::ids::{Epoch, InIx, PeerIx, Position};
use crate::wire::Open;

/// The driver's part in receiving. Each call happens within one `handle_datagram` or `room`, in the order of the stream.
pub trait Deliver {
    /// A peer opens a stream, or opens it again in a new session.
    ///
    /// The driver owns the names: it gives each (peer, name) one index of `Parts::inbound` for as long as it likes, and
    /// looks up what it knows of the epoch. Nothing may come of it, if only because of `Config::streams`.
    ///
    /// # Errors
    /// A [`Refusal`], which the sender is told; it asks again later.
    fn open(&mut self, peer: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal>;

    /// The index that this name of the peer has already. Asked first, so that a late OPEN of an earlier epoch, which a newer one has
    /// replaced since, goes no further: without an answer [`Deliver::open`] is asked about such as well, and must find nothing in it.
    fn known(&self, peer: PeerIx, name: &str) -> Option<InIx> {
        let _ = (peer, name);
        None
    }

    /// The next records of a stream, in order, each once.
    ///
    /// # Errors
    /// [`Full`] when there is no room: the packet is then neither recorded nor acknowledged, and [`crate::Endpoint::room`]
    /// must be called when room returns.
    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full>;

    /// The records from `from` up to, but not including, `below` will never come.
    ///
    /// # Errors
    /// [`Full`] as for [`Deliver::records`].
    fn gap(&mut self, stream: InIx, epoch: Epoch, from: u64, below: u64, reason: u8) -> Result<(), Full>;

    /// A stream that was open before a deep sleep goes on under its index: `next` is the number of its next record, and all
    /// before are stored. A driver whose memory was lost in that sleep learns here what it knew.
    fn resumed(&mut self, peer: PeerIx, stream: InIx, epoch: Epoch, next: u64) {
        let _ = (peer, stream, epoch, next);
    }
}

/// Records of one stream in their stored form, lent from the packet: `[size varint][bytes]…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    /// The stream, as [`Deliver::open`] named it.
    pub stream: InIx,
    /// The numbering of its records.
    pub epoch: Epoch,
    /// Where the bytes begin. It continues the batch before, or is the start of the record that was unfinished when the
    /// session ended (the part is then void).
    pub from: Position,
    /// Where the bytes end.
    pub to: Position,
    /// How many bytes lie before the first record that starts in here; all of them when none does.
    pub first_start: u32,
    /// How many records start in here.
    pub starts: u32,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// What the driver knows of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept {
    /// The index of `Parts::inbound` for this peer and name.
    pub stream: InIx,
    /// Number of the first record of the epoch that is not stored.
    pub stored_below: u64,
    /// Number of the first record of the epoch that the driver has not been given: at least `stored_below`.
    pub next: u64,
}

/// The receiver's queue has no room for this now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Why a stream is refused (wire-format §6.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The receiver does not take streams of that name.
    Name,
    /// The receiver has as many streams as it can have.
    TooMany,
    /// The receiver's storage does not work now.
    Storage,
}

impl Refusal {
    /// As the number that REFUSED carries.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Name => 1,
            Self::TooMany => 2,
            Self::Storage => 3,
        }
    }
}
