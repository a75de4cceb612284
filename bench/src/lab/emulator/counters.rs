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
}

/// What went through one direction's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    /// Packets that found room.
    pub(crate) passed: u64,
    /// Their bytes, IP headers included.
    pub(crate) passed_bytes: u64,
    /// All their waits together, in microseconds, with the time that sending them took.
    pub(crate) waited_us: u64,
    /// The longest of them.
    pub(crate) longest_us: u64,
}

impl Queue {
    /// What went through since it was as in `earlier`; the longest wait is of all time.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            passed: self.passed - earlier.passed,
            passed_bytes: self.passed_bytes - earlier.passed_bytes,
            waited_us: self.waited_us - earlier.waited_us,
            longest_us: self.longest_us,
        }
    }

    pub(crate) fn mean_wait_ms(&self) -> f64 {
        self.waited_us as f64 / 1e3 / self.passed as f64
    }
}
