//! One fault: records before it, across it and after it, and what became of them and of everybody.
use std::{fmt, fs, thread, time::Duration};

use anyhow::{Context, Result};
use rustix::process::Pid;

use super::{grid::Fault, stage::Stage, strike::Strike};
use crate::{clock, numbered};

/// Records before the fault, across it and after it. Half of the middle is under way when it strikes; the middle fills two segments.
const RECORDS: (usize, usize, usize) = (100, 2_500, 100);
/// From then on a process has nothing to do but to wait for the end of the fault.
const SETTLES: Duration = Duration::from_secs(1);
/// Whoever has not sent and stored everything so long after the fault is stuck.
const STUCK: Duration = Duration::from_secs(60);

/// What became of it.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Calls that failed, where they are counted.
    pub(super) failed: u64,
    /// Percent of a core that each used while the fault lasted.
    pub(super) gateway_cpu: f64,
    pub(super) sender_cpu: f64,
    pub(super) stuck: bool,
    /// Processes that ended by themselves.
    pub(super) ended: u64,
    pub(super) lost: u64,
    pub(super) repeated: u64,
    /// Of the neighbour's records.
    pub(super) lost_beside: u64,
    /// The longest that one of them waited that was pushed during the fault.
    pub(super) waited_beside: Duration,
    /// From the end of the fault until everything is stored.
    pub(super) seconds: f64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failed, gateway_cpu, sender_cpu, stuck, ended, lost, repeated, .. } = self;
        write!(
            f,
            "{failed} calls failed, CPU {gateway_cpu:.1} and {sender_cpu:.1} %, lost {lost}, repeated {repeated}"
        )?;
        write!(f, ", beside lost {} and waited {:?}", self.lost_beside, self.waited_beside)?;
        write!(f, "{}, {ended} ended, {:.1} s", if *stuck { ", STUCK" } else { "" }, self.seconds)
    }
}

/// Plays it for so long.
pub(super) fn of(fault: &Fault, lasts: Duration) -> Result<Outcome> {
    played(fault, lasts).with_context(|| format!("{}, {}", fault.place(), fault.name))
}

fn played(fault: &Fault, lasts: Duration) -> Result<Outcome> {
    let mut stage = Stage::set(fault)?;
    stage.give(RECORDS.0)?;
    stage.wait()?;
    stage.give(RECORDS.1 / 2)?;
    let began = clock::wall();
    let strike = Strike::begin(fault, &mut stage)?;
    stage.give(RECORDS.1 / 2)?;
    thread::sleep(SETTLES);
    let (gateway, sender) = (Meter::of(stage.gateway().ok().map(|gateway| gateway.pid())), {
        Meter::of(stage.sender().ok().map(|sender| sender.pid()))
    });
    thread::sleep(lasts.saturating_sub(SETTLES));
    let mut outcome = Outcome { gateway_cpu: gateway.percent(), sender_cpu: sender.percent(), ..Outcome::default() };
    outcome.failed = strike.end(fault, &mut stage)?;
    let over = clock::wall();
    go_on(&mut stage, &mut outcome)?;
    if let Some(neighbour) = stage.neighbour.take() {
        let waits = neighbour.end()?;
        outcome.waited_beside = waits.longest(began, over);
        let expected: String = (0..waits.records()).map(|number| format!("{number}\n")).collect();
        let stored = stage.stored_beside()?;
        if stored != expected.as_bytes() {
            let stored = String::from_utf8_lossy(&stored);
            let missing: Vec<_> = expected.lines().filter(|line| !stored.lines().any(|one| one == *line)).collect();
            eprintln!(
                "beside: of {} records {} are stored, missing {missing:?}",
                waits.records(),
                stored.lines().count()
            );
            // What is all there and yet differs came more than once or out of order.
            outcome.lost_beside = (missing.len() as u64).max(1);
        }
    }
    if stage.gateway().is_ok() && stage.gateway()?.ended()?.is_none() {
        stage.gateway()?.stop()?;
    }
    Ok(outcome)
}

/// The fault is over: everything must come by itself.
fn go_on(stage: &mut Stage, outcome: &mut Outcome) -> Result<()> {
    let since = clock::wall();
    stage.give(RECORDS.2)?;
    stage.sender()?.no_more();
    while stage.sender()?.ended()?.is_none() && stage.gateway()?.ended()?.is_none() && since.elapsed() < STUCK {
        thread::sleep(Duration::from_millis(20));
    }
    outcome.seconds = since.elapsed().as_secs_f64();
    let (sent, died) = (stage.sender()?.ended()?, stage.gateway()?.ended()?.is_some());
    outcome.ended = u64::from(died) + u64::from(sent == Some(false));
    outcome.stuck = sent != Some(true);
    if !died {
        while !stage.gateway()?.status()?.ready && since.elapsed() < STUCK {
            thread::sleep(Duration::from_millis(20));
        }
        outcome.stuck |= !stage.gateway()?.status()?.ready;
    }
    (outcome.lost, outcome.repeated) = numbered::compare(&stage.given, &stage.stored()?);
    Ok(())
}

/// The CPU that a process uses.
struct Meter(Option<(Pid, u64, std::time::Instant)>);

impl Meter {
    fn of(process: Option<Pid>) -> Self {
        Self(process.and_then(|process| Some((process, ticks(process)?, clock::wall()))))
    }

    /// Of one core since the meter was made; none of a process that is gone.
    fn percent(&self) -> f64 {
        let Some((process, before, since)) = self.0 else { return 0.0 };
        let used = ticks(process).map_or(0, |now| now.saturating_sub(before));
        // The kernel tells of it in 100ths of a second.
        used as f64 / since.elapsed().as_secs_f64()
    }
}

fn ticks(process: Pid) -> Option<u64> {
    let told = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // Behind the name, which may hold anything, the 12th and 13th.
    let mut numbers = told.rsplit_once(')')?.1.split_whitespace().skip(11).map_while(|number| number.parse().ok());
    Some(numbers.next()? + numbers.next().unwrap_or(0_u64))
}
