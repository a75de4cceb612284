//! The files that people and the gateway write for Tallylink, and the names in them.
//!
//! Nothing here knows of the network or of the protocol's ciphers, so all of it can be fuzzed by itself.
//!
//! | module | subject |
//! |---|---|
//! | [`config`] | the configuration file and its keys |
//! | [`hex`] | bytes as digits |
//! | [`host_port`] | where a gateway can be reached |
//! | [`keystore`] | peers and their keys on disk, and following them while they change |
//! | [`private_file`] | files that only their owner may read |
//! | [`records`] | an input taken apart into lines or frames |

pub mod config;
mod exit;
pub mod hex;
pub mod host_port;
pub mod keystore;
mod peer_id;
mod peer_name;
pub mod private_file;
pub mod records;
mod secret;

pub use crate::exit::Exit;
pub use crate::peer_id::{PeerId, PeerIdError};
pub use crate::peer_name::{PeerName, PeerNameError};
pub use crate::secret::Secret;
