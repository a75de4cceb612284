//! The segment being written.

use crate::seal::Mask;

/// An open segment and how far it has come.
pub(super) struct Active<F> {
    pub(super) file: F,
    pub(super) segment: u64,
    pub(super) mask: Mask,
    /// Preallocated length: no entry goes beyond.
    pub(super) size: u64,
    pub(super) created_us: u64,
    /// Where the buffer's first byte belongs: everything below is written.
    pub(super) written: u64,
    /// Everything below is durable; 0 until the first sync.
    pub(super) proven: u64,
    /// The group's entry stands; a commit ends the group.
    pub(super) in_group: bool,
    /// Where the next definition generation begins.
    pub(super) redefine_at: u64,
}
