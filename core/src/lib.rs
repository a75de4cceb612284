//! The Tallylink protocol: a sans-I/O, allocation-free state machine.

#![no_std]
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

pub mod config;
pub mod crypto;
pub mod deliver;
pub mod discard;
pub mod error;
pub mod event;
pub mod ids;
pub mod link;
pub mod path;
pub mod peer;
pub mod recovery;
pub mod storage;
pub mod stream;
pub mod time;
pub mod wire;

mod endpoint;
mod fixed;
mod ring;
mod window;

pub use config::{Config, ConfigError};
pub use deliver::{Accept, Batch, Deliver, Full, Refusal};
pub use discard::{Counters, Discard, Fault};
pub use endpoint::{BootSeed, Endpoint, Envelope, Handled, Pushed, SendFault, Totals};
pub use error::{Error, PushError};
pub use event::Event;
pub use fixed::Fixed;
pub use ids::{Boot, Epoch, InIx, KeyId, Label, LinkIx, Name, OutIx, PeerId, PeerIx, Position};
pub use link::Link;
pub use path::Path;
pub use peer::{End, Peer, Provision};
pub use recovery::sent::Sent;
pub use storage::{Parts, Storage};
pub use stream::{EpochSource, Held, InStream, OutStream};
pub use time::{Duration, Instant};
pub use wire::{Open, Previous};
