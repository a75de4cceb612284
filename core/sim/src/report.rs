//! What came of a world.

use std::fmt;

/// A world without a broken promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Datagrams that left.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Deadlines that came.
    pub wakes: u64,
    /// Ends that crashed.
    pub crashes: u64,
    /// Devices that fell asleep, and how many of them went on afterwards where they were.
    pub sleeps: u64,
    /// See `sleeps`.
    pub resumed: u64,
    /// Records that were pushed.
    pub records: u64,
    /// How long it took in virtual time.
    pub virtual_us: u64,
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The world.
    pub seed: u64,
    /// Its devices sleep.
    pub sleeping: bool,
    /// When.
    pub at_us: u64,
    /// What.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, sleeping, at_us, what } = self;
        let sleeping = if *sleeping { "--sleeping " } else { "" };
        write!(f, "seed {seed} at {at_us} µs: {what}\n  cargo run -p tallylink-sim -- {sleeping}--seed {seed} --trace")
    }
}

impl std::error::Error for Failure {}
