//! `transport`: what it costs to carry records from one thread to another over loopback.
//!
//! Records flow as fast as the transport takes them, one stream, datagrams of at most 1,452 B, and
//! the receiver checks every byte. The cost of a side is the CPU of all its threads; quinn's build
//! that costs less is the reference that the others are compared with.

mod figures;
pub(crate) mod ground;
mod rounds;
pub(crate) mod side;
pub(crate) mod sides;
pub(crate) mod watch;

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use clap::Args;

use self::{
    rounds::Case,
    sides::{SideName, SuiteName},
};
use crate::{
    machine::Machine,
    marks::{Bound, Mark},
    options::Options,
    report,
    workload::Workload,
};

/// The name in result lines.
const BENCH: &str = "transport";

/// CPU of each side in each round: below this, chance weighs too much.
const CPU_FULL: Duration = Duration::from_secs(2);
const CPU_QUICK: Duration = Duration::from_millis(200);

/// Tallylink with the suite that quinn uses, too.
const FASTEST: &str = "tallylink-gcm";
/// What a record may cost, as a share of the reference's cost.
const CPU_BUDGETS: [(&str, f64); 2] = [(FASTEST, 0.4), ("tallylink-gcm-siv", 0.65)];

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Bytes of a record; one case each.
    #[arg(long, value_delimiter = ',', default_values_t = [61, 1_013, 16_013])]
    sizes: Vec<u32>,
    /// What to measure.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [
        SideName::TallylinkGcm, SideName::TallylinkGcmSiv, SideName::TallylinkChaCha20Poly1305, SideName::QuinnRing,
        SideName::QuinnAwsLc, SideName::S2nQuic,
    ])]
    sides: Vec<SideName>,
    /// Only Tallylink with this suite, and quinn.
    #[arg(long, value_enum, conflicts_with = "sides")]
    suite: Option<SuiteName>,
}

/// Whether all marks are met, where they were to be checked.
pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let options = &arguments.options;
    let enough = if options.quick { CPU_QUICK } else { CPU_FULL };
    let names = match arguments.suite {
        Some(suite) => vec![suite.side(), SideName::QuinnRing, SideName::QuinnAwsLc],
        None => arguments.sides.clone(),
    };
    let sides: Vec<_> = names.iter().map(|name| name.side()).collect();
    let cases: Vec<_> = arguments.sizes.iter().map(|&size| case(options.seed, size)).collect();
    let cases = cases.into_iter().collect::<Result<Vec<_>>>()?;

    let measured = rounds::measure(&cases, &sides, options.rounds, enough)?;
    let figures: Vec<_> = measured.iter().flat_map(figures::figures).collect();
    let machine = Machine::here(options.seed, options.rounds, options.quick);
    report::publish(BENCH, machine, &figures, || marks(&cases, &sides), &options.output)
}

fn case(seed: u64, size: u32) -> Result<Case> {
    let bytes = usize::try_from(size).context("a record size that this machine cannot hold")?;
    Ok(Case { name: format!("{size} B"), workload: Arc::new(Workload::new(seed, bytes)) })
}

/// Every side must bring every record unharmed; Tallylink must keep its budget, whether it was asked for
/// or not.
fn marks(cases: &[Case], sides: &[Box<dyn side::Side>]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for case in cases {
        let mut mark = |side: &str, metric: &str, bound| {
            marks.push(Mark { case: case.name.clone(), side: side.into(), metric: metric.into(), bound });
        };
        for side in sides {
            mark(side.name(), figures::ERRORS, Bound::AtMost(0.0));
        }
        for (side, cpu) in CPU_BUDGETS {
            mark(side, figures::CPU, Bound::RatioAtMost(cpu));
        }
        mark(FASTEST, figures::RATE, Bound::RatioAtLeast(1.0));
    }
    marks
}
