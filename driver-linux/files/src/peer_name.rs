//! What a peer is called on the command line.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::peer_id::{Octets, octets};

/// A peer's name: 1 to 64 bytes of letters and digits of any script, `-`, `_` and `.`, so that it can stand in
/// a shell line, a file name and a table as it is. Clones share the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerName(Arc<str>);

/// Why a text is no peer name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerNameError {
    /// Nothing at all.
    #[error("a peer's name is empty; give it 1 to {} bytes", PeerName::LONGEST)]
    Empty,
    /// Too long.
    #[error("the peer name \"{0}\" has {len} bytes; at most {most} are allowed", len = .0.len(), most = PeerName::LONGEST)]
    Long(String),
    /// A character with a meaning of its own somewhere.
    #[error("the peer name {0:?} contains {1:?}; use letters, digits, \"-\", \"_\" and \".\" only")]
    Character(String, char),
    /// Looks like an option or a hidden file.
    #[error("the peer name \"{0}\" begins with \"{1}\"; begin it with a letter or a digit")]
    Begin(String, char),
    /// Looks like a peer id, which commands accept in a name's place.
    #[error("the peer name \"{0}\" reads like a peer id; choose another name and give the id with --id")]
    LikeId(String),
}

impl PeerName {
    /// Bytes of the longest name.
    pub const LONGEST: usize = 64;

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PeerName {
    type Err = PeerNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let given = || text.to_owned();
        let Some(first) = text.chars().next() else {
            return Err(PeerNameError::Empty);
        };
        if text.len() > Self::LONGEST {
            return Err(PeerNameError::Long(given()));
        }
        if let Some(bad) = text.chars().find(|c| !c.is_alphanumeric() && !"-_.".contains(*c)) {
            return Err(PeerNameError::Character(given(), bad));
        }
        if matches!(first, '-' | '.') {
            return Err(PeerNameError::Begin(given(), first));
        }
        if matches!(octets(text), Some(Octets::Eight(_))) {
            return Err(PeerNameError::LikeId(given()));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for PeerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests;
