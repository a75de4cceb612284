//! CPU of another process, thread by thread, as the kernel counts it.
use std::{collections::BTreeMap, fs, time::Duration};

use anyhow::{Context, Result};

/// CPU that each thread of a process has used so far, by its name; those of one name together.
pub(crate) fn of_process(id: u32) -> Result<BTreeMap<String, Duration>> {
    let tasks = format!("/proc/{id}/task");
    let mut threads = BTreeMap::new();
    for task in fs::read_dir(&tasks).with_context(|| format!("cannot read {tasks}"))? {
        let task = task?.path();
        // One that has just ended leaves nothing to read.
        let (Ok(name), Ok(statistics)) =
            (fs::read_to_string(task.join("comm")), fs::read_to_string(task.join("schedstat")))
        else {
            continue;
        };
        // Documentation/scheduler/sched-stats.rst: the first number is time spent on the CPU, in nanoseconds.
        let spent = statistics.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
        *threads.entry(name.trim().to_owned()).or_default() += Duration::from_nanos(spent);
    }
    Ok(threads)
}

/// Bytes that a process has caused to be written to disks.
pub(super) fn bytes_written(id: u32) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/io"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|number| number.parse().ok()).context("no write_bytes in /proc/PID/io")
}
