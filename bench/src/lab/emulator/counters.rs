//! What became of the packets.
/// Packets, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// From either end.
    pub(crate) arrived: u64,
    /// Their bytes.
    pub(crate) arrived_bytes: u64,
    /// To either end.
    pub(crate) departed: u64,
    /// No room in the queue.
    pub(crate) queue_full: u64,
    /// By chance.
    pub(crate) lost: u64,
    /// Altered.
    pub(crate) corrupted: u64,
    /// Came twice.
    pub(crate) duplicated: u64,
    /// Skipped the delay.
    pub(crate) reordered: u64,
    /// Above the MTU and not answered.
    pub(crate) too_big_silently: u64,
    /// Above the MTU and answered.
    pub(crate) too_big_told: u64,
    /// Above the MTU and cut.
    pub(crate) fragmented: u64,
    /// To an outer address that the sender no longer has.
    pub(crate) to_old_address: u64,
    /// Changes of the sender's outer address.
    pub(crate) moves: u64,
    /// Copies sent from elsewhere.
    pub(crate) replayed: u64,
    /// Lies about the MTU.
    pub(crate) forged: u64,
    /// Not for a router: neighbour and listener discovery.
    pub(crate) not_forwarded: u64,
    /// The longest that a packet waited in the queue, in microseconds.
    pub(crate) longest_wait_us: u64,
    /// All waits together, in microseconds.
    pub(crate) waited_us: u64,
    /// Packets that passed the queue.
    pub(crate) queued: u64,
}
