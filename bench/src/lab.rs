//! `lab`: Tallylink, quinn and the kernel's TCP over one bad network, in turn.
//!
//! The kernel's own impairments are not to be had everywhere, so the lab makes its network itself: two network namespaces, each
//! with a TUN device, and a router between them ([`router`]) that asks a seeded emulator ([`emulator`]) what becomes of each
//! packet. The transports do not know: their sockets are the kernel's, in another namespace. Every run has namespaces of its own,
//! which vanish with the process, however that ends.

mod cases;
pub(crate) mod emulator;
mod figures;
mod flood;
mod network;
mod play;
pub(crate) mod router;
mod world;

use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Args;

pub(crate) use world::Namespace;

use self::cases::Case;
use crate::{machine::Machine, options::Options, report, transport::sides::SideName};

/// The name in result lines.
const BENCH: &str = "lab";

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// The project's five networks, in place of one described here.
    #[arg(long, conflicts_with_all = network::OPTIONS)]
    suite: bool,
    /// With --suite, only cases whose name contains this.
    #[arg(long, value_name = "TEXT", requires = "suite")]
    only: Option<String>,
    #[command(flatten)]
    network: network::Network,
    /// Bytes of a record; one case each.
    #[arg(long, value_delimiter = ',', default_values_t = [1_013])]
    size: Vec<u32>,
    /// What to measure; the first quinn is what others are compared with.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [
        SideName::TallylinkGcm, SideName::QuinnRing, SideName::Tcp,
    ])]
    sides: Vec<SideName>,
    /// About how long each side works in a round.
    #[arg(long, value_name = "S", conflicts_with = "records")]
    seconds: Option<f64>,
    /// Records to carry, in place of a time.
    #[arg(long)]
    records: Option<u64>,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let options = &arguments.options;
    let cases = arguments.cases()?;
    let played = play::all(&cases, &arguments.sides, options)?;
    let mut figures: Vec<_> = played.iter().flat_map(figures::figures).collect();
    figures.extend(flood::figures()?);
    let machine = Machine::here(options.seed, options.rounds, options.quick);
    report::publish(BENCH, machine, &figures, || figures::marks(&cases, &arguments.sides), &options.output)
}

impl Arguments {
    fn cases(&self) -> Result<Vec<Case>> {
        let mut cases = if self.suite { cases::suite() } else { self.described() };
        let only = self.only.as_deref().unwrap_or_default();
        cases.retain(|case| case.name.contains(only));
        ensure!(!cases.is_empty(), "no case of the suite has a name with `{only}` in it");
        for case in &mut cases {
            if self.options.quick {
                case.seconds = case.seconds.min(1.0);
            }
            case.seconds = self.seconds.unwrap_or(case.seconds);
            case.records = self.records;
        }
        Ok(cases)
    }

    fn described(&self) -> Vec<Case> {
        let profile = self.network.profile();
        let seconds = 5.0 + 50.0 * profile.delay.as_secs_f64();
        let of_size = |&size| Case {
            name: format!("{}, {size} B", self.network),
            profile,
            v6: self.network.v6,
            size,
            seconds,
            records: None,
            least_goodput: None,
            most_repeated: None,
        };
        self.size.iter().map(of_size).collect()
    }
}

/// For options in milliseconds, which may have a fraction.
pub(crate) fn milliseconds(value: f64) -> Duration {
    Duration::from_secs_f64(value / 1e3)
}
