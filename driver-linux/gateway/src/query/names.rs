//! What the peers of the journal are called.

use crate::keystore::{Contents, KeyStore, StoreError};
use crate::{Error, PeerId};

/// The names that the key store knows. Records of removed peers are still there; they go by their id.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: Contents,
    /// Why there are none, in case that matters.
    refused: Option<StoreError>,
}

impl Names {
    /// Reads the names. Whoever may read the journal, but not the keys, sees ids.
    pub(crate) fn read(store: &KeyStore) -> Self {
        match store.read() {
            Ok(known) => Self { known, refused: None },
            Err(error) => Self { known: Contents::default(), refused: Some(error) },
        }
    }

    /// The id that a person means by a name or an id. An id need not be known.
    pub(crate) fn id(&mut self, name_or_id: &str) -> Result<[u8; 8], Error> {
        if let Some(peer) = self.known.peers.find(name_or_id) {
            return Ok(peer.id.0);
        }
        match (name_or_id.parse::<PeerId>(), self.refused.take()) {
            (Ok(PeerId(id)), _) => Ok(id),
            (Err(_), Some(refused)) => Err(refused.into()),
            (Err(_), None) => Err(StoreError::UnknownPeer(name_or_id.to_owned()).into()),
        }
    }

    pub(crate) fn name(&self, id: [u8; 8]) -> Option<&str> {
        Some(self.known.peers.by_id(PeerId(id))?.name.as_str())
    }
}
