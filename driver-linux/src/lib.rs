//! Tallylink on Linux: UDP with segmented sends and coalesced receives, as sender or receiver.
//!
//! | a program that | uses |
//! |---|---|
//! | sends, from any of its threads | [`Sender`] and [`sender::Stream`] |
//! | sends what it must not lose when it ends | the same, with [`Sender::open_durable`] |
//! | receives as a device what its gateway has for it | the same, with [`Sender::with_downlink`] |
//! | receives, without a disk | [`Receiver`] |
//! | takes others' plain datagrams | [`PlainSocket`] |
//! | has its own loop, or its own disk | [`Network`] with an [`Application`], and a [`Remote`] for its other threads |
//! | has its own loop, and sends what it must not lose | the same, with [`sender::feed`] |
//!
//! A [`Network`] is one socket and all sessions over it, driven by one thread; the other two are such a thread with queues to
//! the program's threads. A thread wakes another only when that one sleeps, and nothing is locked, allocated or asked of the
//! system per record or per packet: packets for one path leave in one call, and what arrives is fetched in runs.
//!
//! What the system can do wrong is dealt with where it happens, and counted under a name: [`SocketCounters`]. Offloads that
//! fail are done without, in the same call; a full socket is waited for; everything else is loss, which core repairs.
//!
//! # A network on one's own thread
//!
//! ```
//! use std::time::Duration;
//! use tallylink_core::{End, EpochSource, KeyId, Name, PeerId, Provision, crypto::Psk};
//! use tallylink_linux::receiver::{InPlace, Record};
//! use tallylink_linux::{Network, SendsOnly, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let provision = |end| Provision::new(PeerId(*b"sensor-1"), end, KeyId(0), Psk::from_bytes([7; 16]));
//! let listen = "127.0.0.1:0".parse()?;
//!
//! let print = |r: Record<'_>| println!("{} {}: {:?}", r.name, r.number, r.bytes);
//! let mut gateway = Network::new(&Settings { listen, ..Settings::receiver() }, InPlace::new(64, print))?;
//! gateway.add_peer(provision(End::Gateway))?;
//!
//! let mut sensor = Network::new(&Settings { listen, ..Settings::sender() }, SendsOnly)?;
//! let peer = sensor.add_peer(provision(End::Device))?;
//! sensor.connect(peer, gateway.local_addr()?)?;
//! let name = Name::new("temperature").ok_or("a name has 1 to 64 bytes")?;
//! let stream = sensor.open(peer, name, EpochSource::FirstSession, 0, 1 << 16)?;
//! sensor.push(stream, b"21.5")?;
//!
//! while sensor.stream(stream).is_some_and(|s| s.stored_below() < 1) {
//!     let more = sensor.turn() | gateway.turn();
//!     if !more {
//!         // Two networks share this thread: each may have something for the other.
//!         sensor.wait(Some(Duration::from_millis(1)), || true)?;
//!         gateway.wait(Some(Duration::ZERO), || true)?;
//!     }
//! }
//! # Ok(())
//! # }
//! ```

pub mod application;
pub mod crypto;
pub mod network;
pub mod outbox;
pub mod receiver;
pub mod sender;
pub mod storage;

mod clock;
mod entropy;
mod settings;
mod socket;
mod sync;
mod wake;

pub use application::{Application, SendsOnly, Stored};
pub use clock::Clock;
pub use entropy::boot_seed;
pub use network::{Network, Remote};
pub use receiver::Receiver;
pub use sender::Sender;
pub use settings::{Settings, StartError};
pub use socket::{Buffers, PlainSocket, SocketCounters};
pub use storage::Boxed;
