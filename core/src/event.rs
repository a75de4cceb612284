//! What the application may want to know. Events are levels, not a queue: what is read is always the newest, and nothing
//! can overflow.

use crate::discard::Fault;
use crate::ids::{OutIx, PeerIx};
use crate::wire::RejectReason;

/// One thing that has changed since it was last told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session with the peer went live.
    Connected(PeerIx),
    /// The session with the peer ended.
    Ended(PeerIx, Fault),
    /// The gateway rejected the last HELLO.
    Rejected(PeerIx, RejectReason),
    /// Two devices use the same id: a boot went live again after another had.
    IdUsedTwice(PeerIx),
    /// The peer moved to another address, and that address answers.
    Moved(PeerIx),
    /// Records below this number are in the receiver's memory (until the session ends), apart from those that were given up.
    Received(OutIx, u64),
    /// Records below this number are on the receiver's disk, apart from those that were given up.
    Stored(OutIx, u64),
    /// The receiver refuses the stream; it is asked again later.
    Refused(OutIx, u8),
    /// The receiver has stored more of the stream's epoch than was pushed: the next record pushed gets this number.
    ///
    /// An outbox on disk whose records have not all been pushed yet goes on at this number. When it holds no such record,
    /// it was rolled back or copied.
    Ahead(OutIx, u64),
}
