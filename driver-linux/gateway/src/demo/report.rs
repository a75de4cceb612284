//! What the demo found, as a table.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::latency::Latencies;
use super::plan::{Plan, STREAMS};
use super::relay::Relayed;
use super::sender::Told;
use super::verify::Found;

/// The table, the figures, and what to look at next.
pub(super) fn text(
    plan: &Plan,
    told: &[Told],
    found: &[Found],
    relayed: &Relayed,
    took: Duration,
    dir: &Path,
) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "\n{:<10} {:>8} {:>9} {:>8} {:>8} {:>9} {:>13} {:>12}",
        "sender", "sent", "RECEIVED", "STORED", "missing", "repeated", "out of order", "bytes equal"
    );
    let (mut all, mut sum) = (Told::default(), Found::default());
    let mut latencies = Latencies::default();
    for (number, (told, found)) in (1..).zip(told.iter().zip(found)) {
        let _ = writeln!(text, "{}", row(&format!("sensor-{number}"), told, found));
        all.sent += told.sent;
        all.received += told.received;
        all.bytes += told.bytes;
        sum.records += found.records;
        sum.bytes += found.bytes;
        sum.missing += found.missing;
        sum.repeated += found.repeated;
        sum.out_of_order += found.out_of_order;
        sum.wrong += found.wrong;
        if let Some(more) = &told.latencies {
            latencies.add(more);
        }
    }
    let _ = writeln!(text, "{}", row("all", &all, &sum));

    let seconds = took.as_secs_f64().max(0.001);
    let (rate, megabytes) = (plan.records as f64 / seconds, all.bytes as f64 / seconds / 1e6);
    let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let milliseconds = |us: u64| us as f64 / 1000.0;
    let (p50, p99) = (latencies.of_thousand(500), latencies.of_thousand(990));
    let _ = writeln!(
        text,
        "\nRECEIVED is what senders were told; STORED, missing, repeated, out of order and bytes come from reading the journal.\n\
         {seconds:.1} s, {rate:.0} records and {megabytes:.1} MB a second; push to STORED: p50 {:.1} ms, p99 {:.1} ms, two killings included\n\
         simulated bad network: {} datagrams passed, {} lost, {} late, {} doubled\n\n\
         The journal is in {dir}; try next:\n  \
         tallylink query --data {dir} --peer sensor-1 --stream {} --from 10 --to 15 --json",
        milliseconds(p50),
        milliseconds(p99),
        of(&relayed.passed),
        of(&relayed.lost),
        of(&relayed.late),
        of(&relayed.doubled),
        STREAMS[0],
        dir = dir.display(),
    );
    text
}

/// One row. STORED is what the journal holds.
fn row(name: &str, told: &Told, found: &Found) -> String {
    let Found { records, bytes: _, missing, repeated, out_of_order, wrong } = found;
    let equal = if *wrong == 0 && told.bytes == found.bytes { "yes" } else { "NO" };
    format!(
        "{name:<10} {:>8} {:>9} {records:>8} {missing:>8} {repeated:>9} {out_of_order:>13} {equal:>12}",
        told.sent, told.received
    )
}
