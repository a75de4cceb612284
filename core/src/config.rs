//! Every limit of the core, in one documented place, checked once at the start.

use crate::crypto::Suites;
use crate::recovery::rtt::MAX_ACK_DELAY;
use crate::time::Duration;
use crate::wire::frame::{LARGEST_RECORD, LARGEST_WINDOW};
use crate::wire::handshake::READS_ACK_ECN;
use crate::wire::{Limits, varint};
use core::fmt;

/// The most streams that a peer may have open in one session, each way (wire-format §6.3).
pub const STREAMS_MAX: u16 = 1024;

/// How the congestion window grows and is cut (wire-format §8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// NewReno (RFC 9002 §7): the smallest.
    NewReno,
    /// CUBIC (RFC 9438) with HyStart++ (RFC 9406): what TCP on Linux does, so that both get their share.
    #[cfg(feature = "cubic")]
    Cubic,
}

impl Default for Congestion {
    /// CUBIC, where it is built in.
    fn default() -> Self {
        #[cfg(feature = "cubic")]
        let best = Self::Cubic;
        #[cfg(not(feature = "cubic"))]
        let best = Self::NewReno;
        best
    }
}

/// Limits and timings. [`Config::default`] suits Linux; [`Config::small`] a microcontroller.
#[derive(Clone, Debug)]
pub struct Config {
    /// The most bytes of a record that this end receives or sends, without its size varint: at least 63.
    pub max_record: u32,
    /// The largest datagram that this end receives, in bytes of UDP payload: at least 1,200.
    pub max_datagram: u16,
    /// The largest datagram that this end sends before it knows more of the path: 1,200 to `max_datagram`.
    pub initial_datagram: u16,
    /// The width of the window of received packet numbers (W): a power of two from 64 to 65,536.
    pub ack_window: u32,
    /// How the congestion window grows and is cut.
    pub congestion: Congestion,
    /// Whether packets leave with marks that routers may change (ECN), and marks are counted. Both ends must want it.
    pub ecn: bool,
    /// The most bytes of datagrams with data that leave towards one peer in a second; `None` for as many as the path takes.
    pub max_rate: Option<u64>,
    /// How many packets that ask for an ACK a link may have out: a power of two from 4 to 65,536.
    pub in_flight: u32,
    /// How many packets this end can hold ahead of a gap (Q). All peers share as many.
    pub held: u16,
    /// The first credit window that a peer gets, in bytes.
    pub first_credit: u32,
    /// The largest credit window that a peer gets, in bytes: at least one record of `max_record`.
    pub max_credit: u64,
    /// The most streams that a peer may open towards this end.
    pub streams: u16,
    /// How long this end holds back an ACK at the most.
    /// At most 25 ms, which the other end counts on.
    pub max_ack_delay: Duration,
    /// The suites that this end is willing to use. What the backend lacks is left out.
    pub suites: Suites,
    /// The most peers there will ever be: how many bits of a label name the peer.
    pub max_peers: u32,
    /// How many packets of one link leave before the next link's turn.
    pub turn: u16,
    /// How many hints leave in a second, and how many answers to HELLO, all peers together.
    pub replies_per_second: u32,
    /// A device end that receives streams sends PING after this long without hearing from the gateway.
    pub poll: Option<Duration>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_record: 1 << 20,
            max_datagram: 1472,
            initial_datagram: 1200,
            ack_window: 65_536,
            congestion: Congestion::default(),
            max_rate: None,
            ecn: true,
            in_flight: 8192,
            held: 2048,
            first_credit: 16 << 10,
            max_credit: 16 << 20,
            streams: 64,
            max_ack_delay: Duration::from_millis(25),
            suites: Suites::ALL,
            max_peers: 1 << 20,
            turn: 45,
            replies_per_second: 1000,
            poll: None,
        }
    }
}

impl Config {
    /// Limits for a microcontroller with a few KiB to spare.
    #[must_use]
    pub fn small() -> Self {
        Self {
            max_record: 1024,
            max_datagram: 1200,
            ack_window: 64,
            congestion: Congestion::NewReno,
            ecn: false,
            in_flight: 8,
            held: 2,
            first_credit: 2048,
            max_credit: 2048,
            streams: 4,
            max_peers: 2,
            turn: 4,
            replies_per_second: 10,
            ..Self::default()
        }
    }

    /// What this end tells the other in HELLO and WELCOME.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            max_record: self.max_record,
            max_datagram: self.max_datagram,
            ack_window: self.ack_window,
            credit: self.first_credit,
            held: self.held,
        }
    }

    /// The extensions of HELLO and WELCOME.
    pub(crate) fn extensions(&self) -> &'static [u8] {
        if self.ecn { READS_ACK_ECN } else { &[] }
    }

    /// The stored size of the largest record: the varint and the bytes.
    pub(crate) fn max_stored(&self) -> u64 {
        u64::from(self.max_record).saturating_add(varint::len(u64::from(self.max_record)) as u64)
    }

    /// Bits of a label that name the peer.
    pub(crate) fn label_bits(&self) -> u32 {
        u32::BITS.saturating_sub(self.max_peers.saturating_sub(1).leading_zeros())
    }

    /// Words of the window of received packet numbers.
    pub(crate) fn window_words(&self) -> usize {
        (self.ack_window >> 6) as usize
    }

    /// Checks every limit.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let rules = [
            // Sizes of one byte are never held against the limit.
            ("max_record", (63..LARGEST_RECORD >> 1).contains(&self.max_record), "from 63 to below 2^29"),
            ("max_datagram", self.max_datagram >= 1200, "at least 1200"),
            (
                "initial_datagram",
                self.initial_datagram >= 1200 && self.initial_datagram <= self.max_datagram,
                "from 1200 to max_datagram",
            ),
            (
                "ack_window",
                self.ack_window.is_power_of_two() && (64..=65_536).contains(&self.ack_window),
                "a power of two from 64 to 65536",
            ),
            (
                "in_flight",
                self.in_flight.is_power_of_two() && (4..=65_536).contains(&self.in_flight),
                "a power of two from 4 to 65536",
            ),
            ("held", self.held <= 32_768, "at most 32768"),
            ("first_credit", self.first_credit >= 1024, "at least 1024"),
            (
                "max_credit",
                self.max_credit >= u64::from(self.first_credit)
                    && self.max_credit >= self.max_stored()
                    && self.max_credit <= LARGEST_WINDOW,
                "at least first_credit and one record of max_record, at most 2^40 - 1",
            ),
            ("streams", (1..=STREAMS_MAX).contains(&self.streams), "from 1 to 1024"),
            ("max_peers", (1..=1 << 24).contains(&self.max_peers), "from 1 to 2^24"),
            ("max_ack_delay", self.max_ack_delay <= MAX_ACK_DELAY, "at most 25 ms"),
            ("max_rate", self.max_rate.is_none_or(|rate| rate >= 1000), "at least 1000 bytes a second"),
            ("turn", self.turn >= 1, "at least 1"),
            ("suites", !self.suites.is_empty(), "at least one"),
        ];
        match rules.iter().find(|(_, holds, _)| !holds) {
            None => Ok(()),
            Some((field, _, must)) => Err(ConfigError { field, must }),
        }
    }
}

/// A limit is out of its range, or the driver's arrays do not fit the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The field of [`Config`], or the array of `Parts`.
    pub field: &'static str,
    /// What it must be.
    pub must: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.field, self.must)
    }
}

impl core::error::Error for ConfigError {}
