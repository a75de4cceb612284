//! The names of things: peers, keys, streams, epochs, numbers and positions.

use crate::wire::varint;
use core::fmt;

/// A peer's 8-byte id; an EUI-64 fits. It travels in the clear.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PeerId(pub [u8; 8]);

impl fmt::Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// Which of a peer's keys a HELLO uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct KeyId(pub u8);

/// One start of one end: random, new each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Boot(pub [u8; 8]);

/// What a packet carries in place of names while a session lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Label(pub u32);

/// Names one numbering of a stream. It has nothing to do with keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Epoch(pub [u8; 8]);

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// The largest bound on record numbers, which is one above the largest number (wire-format §2).
pub const LARGEST_NUMBER: u64 = varint::MAX;

/// A place in a stream: `offset` bytes into the stored bytes (`[size varint][bytes]`) of record `number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    /// Which record.
    pub number: u64,
    /// How many of its stored bytes lie before.
    pub offset: u32,
}

impl Position {
    /// Where record `number` begins.
    #[must_use]
    pub const fn start_of(number: u64) -> Self {
        Self { number, offset: 0 }
    }
}

/// The largest length of a stream's name, in bytes of UTF-8.
pub const NAME_MAX: usize = 64;

/// The name of a stream: 1 to [`NAME_MAX`] bytes of UTF-8.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(heapless::String<NAME_MAX>);

impl Name {
    /// Takes `text` as a stream's name; `None` when it is empty or longer than [`NAME_MAX`] bytes.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let name = heapless::String::try_from(text).ok()?;
        (!name.is_empty()).then_some(Self(name))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Defines an index into one of the arrays that the driver lends.
macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// No element.
            pub(crate) const NONE: Self = Self(u32::MAX);

            /// As an index of a slice.
            #[must_use]
            #[inline]
            pub const fn at(self) -> usize {
                self.0 as usize
            }

            /// `None` for [`Self::NONE`].
            #[inline]
            pub(crate) fn some(self) -> Option<Self> {
                (self != Self::NONE).then_some(self)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::NONE
            }
        }
    };
}

index!(
    /// A peer: an index into `Parts::peers`.
    PeerIx
);
index!(
    /// An active link: an index into `Parts::links`.
    LinkIx
);
index!(
    /// A stream that is received: an index into `Parts::inbound`, given by the driver's `Deliver::open`.
    InIx
);
index!(
    /// A stream that is sent: an index into `Parts::outbound`.
    OutIx
);
