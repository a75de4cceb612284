//! What a device needs to talk to its gateway, and the key file that holds it.
//!
//! A key file is TOML, readable by its owner only:
//!
//! ```toml
//! name = "roof"
//! peer = "70b3d5fffe000001"
//! key_id = 0
//! key = "000102030405060708090a0b0c0d0e0f"
//! gateway = "gateway.example:7433" # may be absent
//! ```

mod form;
mod read;

use std::path::Path;

pub use form::Form;
pub use read::DeviceKeyError;

use crate::host_port::HostPort;
use crate::keystore::{Entry, KeyId};
use crate::{PeerId, PeerName, Secret};

/// A device's identity and key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceKey {
    /// What the gateway calls it.
    pub name: PeerName,
    /// Its id.
    pub peer: PeerId,
    /// Which of its keys this is.
    pub key_id: KeyId,
    /// The key.
    pub secret: Secret,
    /// Where its gateway listens.
    pub gateway: Option<HostPort>,
}

impl DeviceKey {
    /// What a peer's new key looks like from the device.
    pub fn new(entry: Entry, gateway: Option<HostPort>) -> Self {
        let Entry { peer, name, key_id, secret, created: _ } = entry;
        Self { name, peer, key_id, secret, gateway }
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// It cannot be opened, others than its owner may use it, or a field is missing or wrong.
    pub fn read(file: &Path) -> Result<Self, DeviceKeyError> {
        read::read(file)
    }
}

#[cfg(test)]
mod tests;
