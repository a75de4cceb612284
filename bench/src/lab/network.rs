//! A network as it is described on the command line.
use std::fmt;

use clap::Args;

use super::{
    emulator::{Jitter, Profile},
    milliseconds,
};

/// The names of all of them.
pub(super) const OPTIONS: [&str; 13] = [
    "delay_ms",
    "jitter_ms",
    "in_order",
    "loss",
    "burst",
    "reorder",
    "duplicate",
    "corrupt",
    "rate_mbit",
    "queue_kib",
    "mtu",
    "no_icmp",
    "v6",
];

#[derive(Args)]
pub(super) struct Network {
    /// Delay of each direction.
    #[arg(long, default_value_t = 0.0, value_parser = not_negative)]
    delay_ms: f64,
    /// Each packet's delay differs by up to so much, so that packets overtake.
    #[arg(long, default_value_t = 0.0, value_parser = not_negative)]
    jitter_ms: f64,
    /// With jitter, packets wait for those before them.
    #[arg(long)]
    in_order: bool,
    /// Percent of packets that are lost, in each direction.
    #[arg(long, default_value_t = 0.0, value_parser = percent)]
    loss: f64,
    /// Packets that are lost in a row, on average; independent of each other by default.
    #[arg(long, default_value_t = 1.0, value_parser = not_negative)]
    burst: f64,
    /// Percent of packets that skip the delay.
    #[arg(long, default_value_t = 0.0, value_parser = percent)]
    reorder: f64,
    /// Percent of packets that come twice.
    #[arg(long, default_value_t = 0.0, value_parser = percent)]
    duplicate: f64,
    /// Percent of packets with a changed bit that UDP's checksum does not show.
    #[arg(long, default_value_t = 0.0, value_parser = percent)]
    corrupt: f64,
    /// Mbit/s of the slowest link; as fast as the router can by default.
    #[arg(long, value_parser = positive)]
    rate_mbit: Option<f64>,
    /// KiB that wait in front of it; by default what the path holds, and 16 KiB at least.
    #[arg(long, requires = "rate_mbit")]
    queue_kib: Option<u64>,
    /// Bytes of the largest IP packet.
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(576..=1500))]
    mtu: u16,
    /// Nobody says that a packet was too large.
    #[arg(long)]
    no_icmp: bool,
    /// Over IPv6.
    #[arg(long)]
    pub(super) v6: bool,
}

impl Network {
    pub(super) fn profile(&self) -> Profile {
        let profile = Profile {
            delay: milliseconds(self.delay_ms),
            jitter: Jitter { most: milliseconds(self.jitter_ms), in_order: self.in_order },
            loss: self.loss / 100.0,
            burst: self.burst,
            reorder: self.reorder / 100.0,
            duplicate: self.duplicate / 100.0,
            corrupt: self.corrupt / 100.0,
            rate: self.rate_mbit.map(|mbit| (mbit * 1e6) as u64),
            queue: u64::MAX,
            mtu: self.mtu,
            icmp: !self.no_icmp,
        };
        let queue = match self.queue_kib {
            Some(kib) => kib << 10,
            None => profile.bandwidth_delay().map_or(u64::MAX, |bytes| bytes.max(16 << 10)),
        };
        Profile { queue, ..profile }
    }
}

/// What differs from a perfect network.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.delay_ms)?;
        let parts = [
            (self.jitter_ms, "±", " ms jitter"),
            (self.loss, "", " % loss"),
            (self.reorder, "", " % reordered"),
            (self.duplicate, "", " % twice"),
            (self.corrupt, "", " % altered"),
            (self.rate_mbit.unwrap_or(0.0), "", " Mbit/s"),
        ];
        for (value, before, after) in parts {
            if value > 0.0 {
                write!(f, ", {before}{value}{after}")?;
            }
        }
        if self.burst > 1.0 {
            write!(f, " in bursts of {}", self.burst)?;
        }
        if self.mtu != 1500 {
            write!(f, ", MTU {}", self.mtu)?;
        }
        if self.v6 { write!(f, ", IPv6") } else { Ok(()) }
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    ranged(text, 0.0..=1e6)
}

fn positive(text: &str) -> Result<f64, String> {
    ranged(text, 0.001..=1e6)
}

fn percent(text: &str) -> Result<f64, String> {
    ranged(text, 0.0..=100.0)
}

fn ranged(text: &str, range: std::ops::RangeInclusive<f64>) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if range.contains(&value) { Ok(value) } else { Err(format!("must be from {} to {}", range.start(), range.end())) }
}
