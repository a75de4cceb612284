//! Time as the driver tells it: microseconds since a start of its choosing, never going back.

use core::ops::{Add, Sub};

/// A moment, in microseconds since the driver's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A span of time, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// A moment that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// `us` microseconds after the driver's start.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Self(us)
    }

    /// Microseconds since the driver's start.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero when it is not after it.
    #[must_use]
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Later by `d`; at most [`Instant::NEVER`].
    #[inline]
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// Earlier by `d`; at least the driver's start.
    #[inline]
    fn sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of `us` microseconds.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Self(us)
    }

    /// A span of `ms` milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000))
    }

    /// A span of `s` seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000))
    }

    /// In microseconds.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// `self` times `n`.
    #[must_use]
    #[inline]
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// `self` divided by 2^`n`.
    #[must_use]
    #[inline]
    pub const fn shifted_down(self, n: u32) -> Self {
        Self(match self.0.checked_shr(n) {
            Some(v) => v,
            None => 0,
        })
    }

    /// `self` times 2^`n`, at most the longest span.
    #[must_use]
    #[inline]
    pub const fn doubled(self, n: u32) -> Self {
        Self(match 1u64.checked_shl(n) {
            Some(factor) => self.0.saturating_mul(factor),
            None => u64::MAX,
        })
    }
}

impl Add for Duration {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Duration {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
