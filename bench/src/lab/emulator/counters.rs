//! What became of the packets.
macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// Packets, by what became of them.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Counters {
            $($(#[$doc])* pub(crate) $field: u64,)*
        }

        impl Counters {
            /// Each with its name.
            pub(crate) fn list(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field)),*].into_iter()
            }
        }
    };
}

counters! {
    /// From either end.
    arrived,
    /// Their bytes.
    arrived_bytes,
    /// To either end.
    departed,
    /// No room in the queue.
    queue_full,
    /// By chance.
    lost,
    /// Altered.
    corrupted,
    /// Came twice.
    duplicated,
    /// Skipped the delay.
    reordered,
    /// Above the MTU and not answered.
    too_big_silently,
    /// Above the MTU and answered.
    too_big_told,
    /// Above the MTU and cut.
    fragmented,
    /// To an outer address that the sender no longer has.
    to_old_address,
    /// Changes of the sender's outer address.
    moves,
    /// Copies sent from elsewhere.
    replayed,
    /// Lies about the MTU.
    forged,
    /// Not for a router: neighbour and listener discovery.
    not_forwarded,
    /// The longest that a packet waited in the queue, in microseconds.
    longest_wait_us,
    /// All waits together, in microseconds.
    waited_us,
    /// Packets that passed the queue.
    queued,
}
