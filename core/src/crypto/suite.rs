//! The suites and sets of them.

/// An authenticated cipher for the packets of a session.
///
/// The value is the suite's number on the wire. Order is by number and says nothing about preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Suite {
    /// AES-128-GCM-SIV (RFC 8452): keeps secrecy even if a nonce ever repeats. Every end has it.
    Aes128GcmSiv = 1,
    /// AES-128-GCM (NIST SP 800-38D): the fastest where the processor has AES instructions. A repeated nonce breaks it.
    Aes128Gcm = 2,
    /// ChaCha20-Poly1305 (RFC 8439): the fastest where the processor has no AES instructions. A repeated nonce breaks it.
    ChaCha20Poly1305 = 3,
}

impl Suite {
    /// Every suite this version knows, by number.
    pub const ALL: [Self; 3] = [Self::Aes128GcmSiv, Self::Aes128Gcm, Self::ChaCha20Poly1305];

    /// The suite's number on the wire.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The suite with this number, if this version knows it.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Aes128GcmSiv),
            2 => Some(Self::Aes128Gcm),
            3 => Some(Self::ChaCha20Poly1305),
            _ => None,
        }
    }

    /// The suite's bit in the bitmap of a HELLO: suite `n` has bit `n − 1`.
    #[must_use]
    pub const fn bit(self) -> u8 {
        match self {
            Self::Aes128GcmSiv => 1,
            Self::Aes128Gcm => 1 << 1,
            Self::ChaCha20Poly1305 => 1 << 2,
        }
    }

    /// The suite that owns this one bit, if this version knows it.
    #[must_use]
    pub const fn from_bit(bit: u8) -> Option<Self> {
        match bit {
            1 => Some(Self::Aes128GcmSiv),
            2 => Some(Self::Aes128Gcm),
            4 => Some(Self::ChaCha20Poly1305),
            _ => None,
        }
    }

    /// The name in configurations, logs and listings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128GcmSiv => "AES-128-GCM-SIV",
            Self::Aes128Gcm => "AES-128-GCM",
            Self::ChaCha20Poly1305 => "ChaCha20-Poly1305",
        }
    }

    /// Whether secrecy survives a nonce that was used twice (for identical packets it shows that they are identical).
    #[must_use]
    pub const fn survives_nonce_reuse(self) -> bool {
        match self {
            Self::Aes128GcmSiv => true,
            Self::Aes128Gcm | Self::ChaCha20Poly1305 => false,
        }
    }

    /// The most packets one key may seal in datagrams of up to `datagram` bytes: packet numbers stay below it.
    ///
    /// - AES-128-GCM: RFC 9001 §B.1 gives 2^28 packets of up to 2^11 bytes, and 2^23 of up to 2^16, for the same
    ///   advantage of an attacker (2^-60 at most).
    /// - AES-128-GCM-SIV: 2^36. Each packet has keys of its own (RFC 8452 §4), so the quadratic bound counts the
    ///   2^12 blocks of one packet, and 2^36 packets leave an attacker an advantage below 2^-68 (RFC 8452 §9).
    /// - ChaCha20-Poly1305: 2^36, so that a key does not live for ever. What the cipher allows is more than there are
    ///   packet numbers (RFC 9001 §6.6).
    ///
    /// Forgeries are not counted: a count would let forged packets end a session. The integrity limit of the GCM suites
    /// (2^52, RFC 9001 §6.6) is out of reach of a link. ChaCha20-Poly1305's is 2^36 there, for an advantage of 2^-60 in
    /// datagrams of up to 2^11 bytes; a link that brings a million forged packets each second needs two years of one
    /// session to come to 2^-50.
    #[must_use]
    pub const fn packet_limit(self, datagram: u16) -> u64 {
        match self {
            Self::Aes128GcmSiv | Self::ChaCha20Poly1305 => 1 << 36,
            Self::Aes128Gcm if datagram <= 2048 => 1 << 28,
            Self::Aes128Gcm => 1 << 23,
        }
    }

    /// From this packet number on a new session is due: seven eighths of [`packet_limit`](Self::packet_limit).
    #[must_use]
    pub const fn soft_packet_limit(self, datagram: u16) -> u64 {
        let limit = self.packet_limit(datagram);
        limit.saturating_sub(limit >> 3)
    }
}

impl core::fmt::Display for Suite {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of suites: the bitmap of a HELLO, without the bits this version does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Suites(u8);

impl Suites {
    /// No suite.
    pub const NONE: Self = Self(0);
    /// Every suite this version knows.
    pub const ALL: Self = Self::NONE.with(Suite::Aes128GcmSiv).with(Suite::Aes128Gcm).with(Suite::ChaCha20Poly1305);

    /// The set with this bitmap; unknown bits are dropped.
    #[must_use]
    pub const fn from_raw(bitmap: u8) -> Self {
        Self(bitmap & Self::ALL.0)
    }

    /// The bitmap.
    #[must_use]
    pub const fn raw(self) -> u8 {
        self.0
    }

    /// Whether `suite` is in the set.
    #[must_use]
    pub const fn contains(self, suite: Suite) -> bool {
        self.0 & suite.bit() != 0
    }

    /// The set and `suite`.
    #[must_use]
    pub const fn with(self, suite: Suite) -> Self {
        Self(self.0 | suite.bit())
    }

    /// The set without `suite`.
    #[must_use]
    pub const fn without(self, suite: Suite) -> Self {
        Self(self.0 & !suite.bit())
    }

    /// What both sets contain.
    #[must_use]
    pub const fn intersect(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The suites that a device end offers (wire-format §4.5): those of the set, but where AES is slow not AES-128-GCM,
    /// if that leaves any.
    #[must_use]
    pub const fn offer(self, fast_aes: bool) -> Self {
        let rest = self.without(Suite::Aes128Gcm);
        if fast_aes || rest.is_empty() { self } else { rest }
    }

    /// The suite that a gateway end chooses of those which both ends have (wire-format §4.5).
    #[must_use]
    pub fn choose(self, fast_aes: bool) -> Option<Suite> {
        let order = if fast_aes {
            [Suite::Aes128Gcm, Suite::ChaCha20Poly1305, Suite::Aes128GcmSiv]
        } else {
            [Suite::ChaCha20Poly1305, Suite::Aes128Gcm, Suite::Aes128GcmSiv]
        };
        order.into_iter().find(|suite| self.contains(*suite))
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The suites of the set, by number.
    pub fn iter(self) -> impl Iterator<Item = Suite> {
        Suite::ALL.into_iter().filter(move |s| self.contains(*s))
    }
}

impl From<Suite> for Suites {
    fn from(suite: Suite) -> Self {
        Self::NONE.with(suite)
    }
}
