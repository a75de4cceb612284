//! The 8-byte id of a peer and its text forms.

use std::fmt;
use std::str::FromStr;

use crate::hex;

/// A peer's id. Any 8 bytes will do as long as they differ; a board's EUI-64 fits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub [u8; 8]);

/// Why a text is no peer id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerIdError {
    /// Neither of the accepted forms.
    #[error(
        "\"{0}\" is not a peer id; write an EUI-64 as 16 hexadecimal digits, plain or grouped like \
         70-b3-d5-ff-fe-00-00-01, 70:b3:d5:ff:fe:00:00:01 or 70b3.d5ff.fe00.0001"
    )]
    Form(String),
    /// Six bytes where eight are due.
    #[error(
        "\"{0}\" is a 6-byte MAC address, not an 8-byte EUI-64; put ff-fe in its middle: \"{1}\" is free to use if \
         no other peer has it"
    )]
    Eui48(String, PeerId),
    /// All bits clear or all set: IEEE keeps both from ever naming a device.
    #[error("\"{0}\" is the null EUI-64, which names no device; choose another id or leave out --id")]
    Null(String),
}

impl PeerId {
    /// A new id from the kernel's random numbers, marked as locally administered so that it meets no board's own.
    ///
    /// # Errors
    /// The kernel gave no random numbers.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes)?;
        // IEEE 802-2014 §8.2.2: bit 1 of the first octet says "local", bit 0 says "group".
        bytes[0] = bytes[0] & !0b01 | 0b10;
        Ok(Self(bytes))
    }
}

impl FromStr for PeerId {
    type Err = PeerIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match octets(text) {
            Some(Octets::Eight([0, 0, 0, 0, 0, 0, 0, 0] | [255, 255, 255, 255, 255, 255, 255, 255])) => {
                Err(PeerIdError::Null(text.to_owned()))
            }
            Some(Octets::Eight(id)) => Ok(Self(id)),
            Some(Octets::Six([a, b, c, d, e, f])) => {
                Err(PeerIdError::Eui48(text.to_owned(), Self([a, b, c, 255, 254, d, e, f])))
            }
            None => Err(PeerIdError::Form(text.to_owned())),
        }
    }
}

/// What plain or evenly grouped hexadecimal may stand for.
pub(crate) enum Octets {
    Six([u8; 6]),
    Eight([u8; 8]),
}

/// Reads plain or evenly grouped hexadecimal: one kind of separator, the same distance everywhere.
pub(crate) fn octets(text: &str) -> Option<Octets> {
    let mut digits = [0; 16];
    let mut count = 0;
    let separator = text.chars().find(|c| "-:.".contains(*c));
    // Without a separator the text is one group, of whatever size.
    let size = separator.map_or(text.len(), |separator| text.find(separator).unwrap_or(0));
    if separator.is_some() && !matches!(size, 2 | 4) {
        return None;
    }
    for group in text.split(|c| Some(c) == separator) {
        if group.len() != size || count + size > digits.len() {
            return None;
        }
        digits[count..count + size].copy_from_slice(group.as_bytes());
        count += size;
    }
    let digits = &digits[..count];
    hex::decode(digits).map(Octets::Eight).or_else(|| hex::decode(digits).map(Octets::Six))
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
