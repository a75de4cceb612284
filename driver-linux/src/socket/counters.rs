//! What happened at the socket: each kind has a name.

/// Defines the counters once: the fields and the names under which they are shown.
macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// How often each thing happened at the socket.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct SocketCounters { $($(#[$doc])* pub $field: u64,)* }

        impl SocketCounters {
            /// Every counter with its name.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field)),*].into_iter()
            }
        }
    };
}

counters! {
    /// Datagrams that the system took.
    datagrams_sent,
    /// Their bytes.
    bytes_sent,
    /// Calls that sent them.
    send_calls,
    /// Datagrams received.
    datagrams_received,
    /// Their bytes.
    bytes_received,
    /// Calls that received them, those that found nothing included.
    receive_calls,
    /// The socket was full; what was to be sent waits until it is not.
    send_blocked,
    /// A segmented send failed with EIO: this socket sends singly from then on.
    offload_broken,
    /// A segmented send failed for one peer and size: that peer gets segments of that size singly.
    offload_refused,
    /// Datagrams that are larger than the route takes.
    datagrams_too_big,
    /// Datagrams dropped before they left the machine (ENOBUFS); they count as lost on the way.
    datagrams_no_buffers,
    /// Datagrams that the system would not send, twice in a row.
    datagrams_send_failed,
    /// Sends that were repeated because the first try reported something else, such as a dead peer.
    sends_repeated,
    /// Answers that were dropped because the socket was full.
    replies_dropped,
    /// Receiving reported something, such as a dead peer.
    receive_errors,
    /// Deadlines that were still there after they had been served.
    deadlines_stuck,
}
