//! Tallylink on Linux: UDP with GSO and GRO, as sender or receiver.

pub mod application;
pub mod crypto;
pub mod network;
pub mod receiver;
pub mod sender;
pub mod storage;

mod clock;
mod entropy;
mod settings;
mod socket;
mod wake;

pub use application::{Application, Stored};
pub use clock::Clock;
pub use entropy::boot_seed;
pub use network::{Network, Remote};
pub use receiver::Receiver;
pub use sender::Sender;
pub use settings::{Settings, StartError};
pub use socket::{Buffers, SocketCounters};
pub use storage::Boxed;
