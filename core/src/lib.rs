//! The Tallylink protocol: a sans-I/O, allocation-free state machine.
//!
//! An [`Endpoint`] is everything that the protocol does on one UDP socket: sessions with any number of peers, streams of
//! records in both directions, loss recovery, confirmations. It reads no clock, touches no socket or file and draws no random
//! numbers: the driver gives it the time with each call, moves the datagrams, and lends it the memory. The same code runs on a
//! microcontroller and behind segmented sends on Linux. `core/docs/wire-format.md` says what it puts on the wire.
//!
//! # The run loop
//!
//! After **any** call, in this order, until nothing changes:
//!
//! 1. [`Endpoint::peek_transmit`]; if it gives an [`Envelope`], find room for exactly `len` bytes, call
//!    [`Endpoint::seal_transmit`] at once, send. Repeat until it gives `None`. A driver without room stops, and peeks again later:
//!    nothing has been spent.
//! 2. [`Endpoint::next_event`] until it gives `None`.
//! 3. Arm a timer for [`Endpoint::next_timeout`]; when it fires, call [`Endpoint::handle_timeout`].
//!
//! Each datagram that arrives goes to [`Endpoint::handle_datagram`] with a [`Deliver`], which is given the records in it. If that
//! returns [`Handled::Reply`], the beginning of the same buffer is an answer, to be sent back where the datagram came from. What
//! was delivered is confirmed with [`Endpoint::stored`] once it is safe. A [`Deliver`] that answered [`Full`] is followed by
//! [`Endpoint::room`] when there is room.
//!
//! # Who owns what
//!
//! The driver owns all arrays, and lends them through [`Storage`]: [`Fixed`] holds them in one value for ends without a heap. It also
//! gives out the indices of peers, of sent streams, and, in [`Deliver::open`], of received ones. Peers, streams and rings may be
//! added between calls; an index never changes its meaning while it is in use.
//!
//! A [`Peer`] is small and holds all of a session that must last. A [`Link`] is large, and a peer has one only while something is
//! outstanding, or while no other peer needs it.
//!
//! # Deep sleep
//!
//! A device end that is switched off between its records may leave what it needs in retained memory: [`Endpoint::suspend`] writes
//! it, and [`Endpoint::resume`], called at every start before anything is pushed, follows and destroys it.
//!
//! # What is bounded
//!
//! Everything: each table has the length that the driver gave it, each list the length of its table, each retry a back-off, the work
//! of each call the size of its datagram and the number of packets in flight. What does not fit is refused with a reason before it is
//! acknowledged. [`Config`] has all limits.
//!
//! # What goes wrong, and how it shows
//!
//! - The caller's mistakes are an [`Error`], a [`PushError`] or a [`ConfigError`]; nothing has changed.
//! - What a stranger or the network does is a [`Discard`], counted by reason.
//! - What the holder of a key does wrong ends that session with a [`Fault`], counted by reason, and touches no other peer.
//! - A broken invariant of ours is an assertion in debug builds, and [`Fault::Internal`] otherwise. There is no panic path.

#![no_std]
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

#[cfg(test)]
extern crate std;

mod config;
pub mod crypto;
mod deliver;
mod discard;
mod error;
mod event;
mod ids;
mod link;
mod path;
mod peer;
mod recovery;
mod storage;
mod stream;
mod time;
pub mod wire;

mod endpoint;
mod fixed;
#[cfg(feature = "internals")]
pub mod internals;
mod ring;
mod sleep;
mod window;

pub use config::{Config, ConfigError, Congestion, STREAMS_MAX};
pub use deliver::{Accept, Batch, Deliver, Full, Refusal};
pub use discard::{Counters, Discard, Fault};
pub use endpoint::{BootSeed, Endpoint, Envelope, Handled, Pushed, SendFault, Totals};
pub use error::{Error, PushError};
pub use event::Event;
pub use fixed::Fixed;
pub use ids::{
    Boot, Epoch, InIx, KeyId, LARGEST_NUMBER, Label, LinkIx, NAME_MAX, Name, OutIx, PeerId, PeerIx, Position,
};
pub use link::Link;
pub use path::{Ecn, Path};
pub use peer::{End, Peer, Provision};
pub use recovery::sent::Sent;
pub use ring::{Run, measure};
pub use sleep::{ResumeError, SuspendError};
pub use storage::{Parts, Storage};
pub use stream::{EpochSource, Held, InStream, OutStream, Priority};
pub use time::{Duration, Instant};
pub use wire::{Open, Previous};
