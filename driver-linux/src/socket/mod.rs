//! The socket: one UDP port for all sessions, IPv4 and IPv6, with segmented sends and coalesced receives.
//!
//! [`io`] is the system, behind a small trait so that tests can put its faults in; [`out`] and [`incoming`] are the two
//! directions, and decide what each fault means; [`offload`] remembers who cannot have segmented sends.

pub(crate) mod counters;
pub(crate) mod incoming;
pub(crate) mod io;
pub(crate) mod kernel;
mod offload;
pub(crate) mod out;
mod plain;
#[cfg(test)]
pub(crate) mod testing;

pub use counters::SocketCounters;
pub use kernel::Buffers;
pub use plain::PlainSocket;
