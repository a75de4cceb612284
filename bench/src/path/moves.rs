//! The sender's address changes, and old packets of it come from elsewhere.
use std::time::Duration;

use anyhow::Result;

use super::{
    figures::Found,
    transfer::{RATE, SIZE, Stage},
};
use crate::{lab::emulator::Script, marks::Bound};

const SIDE: &str = "tallylink-gcm";
const MOVES: u32 = 5;
/// Between two of them.
const STAY: Duration = Duration::from_secs(2);
const REPLAY_EVERY: Duration = Duration::from_millis(300);
/// A few, at least, must have been replayed after each move.
const REPLAYED_LEAST: f64 = 20.0;

/// Plays it once for each round: every time, all must be right.
pub(super) fn play(stage: &Stage, found: &mut Found) -> Result<()> {
    let case = stage.case("moves");
    let moves: Vec<Duration> = (1..=MOVES).map(|number| STAY * number).collect();
    // Not even the whole link could carry more before the last move has been followed.
    let records = RATE / 8 * (STAY * (MOVES + 1)).as_secs() / SIZE as u64;
    let (mut fewest, mut most, mut replayed) = (u64::MAX, 0, u64::MAX);
    let (mut wrong, mut slowest) = (0, Duration::ZERO);
    for round in 0..u64::from(stage.rounds) {
        let script = Script { moves: moves.clone(), replay_every: Some(REPLAY_EVERY), ..Script::default() };
        let transfer = stage.start(stage.seed + round, script, records)?;
        let watch = std::sync::Arc::clone(&transfer.watch);
        let (run, told) = transfer.finish()?;
        fewest = fewest.min(watch.moves());
        most = most.max(watch.moves());
        replayed = replayed.min(told.counters.replayed);
        wrong += run.checked.wrong + run.checked.records.abs_diff(records);
        slowest = slowest.max(run.elapsed);
    }
    let mut add = |metric, unit, value| found.add(&case, SIDE, metric, unit, value);
    add("address_changes", "", f64::from(MOVES));
    add("moves_followed_fewest", "", fewest as f64);
    add("moves_followed_most", "", most as f64);
    add("packets_replayed_fewest", "", replayed as f64);
    add("slowest_run", "s", slowest.as_secs_f64());
    add("errors", "", wrong as f64);
    found.mark(&case, SIDE, "moves_followed_fewest", Bound::AtLeast(f64::from(MOVES)));
    found.mark(&case, SIDE, "moves_followed_most", Bound::AtMost(f64::from(MOVES)));
    found.mark(&case, SIDE, "packets_replayed_fewest", Bound::AtLeast(REPLAYED_LEAST));
    found.mark(&case, SIDE, "errors", Bound::AtMost(0.0));
    Ok(())
}
