//! Calls of the system, as strace counts them.
use std::{collections::BTreeMap, env, fs, process::Command};

use anyhow::{Context, Result, ensure};

use super::role::{self, Counted};

/// How often each call was made by any thread of the process, and what its driver counted.
pub(super) fn run(size: u32, bytes: u64, seed: u64) -> Result<(BTreeMap<String, u64>, Counted)> {
    let table = tempfile::NamedTempFile::new()?;
    let records = bytes / u64::from(size.max(1));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-o"]).arg(table.path()).arg(env::current_exe()?);
    let ran = strace.args(role::arguments(size, records, seed)).output();
    let output = ran.context("this bench needs strace; install it, for example by: apt-get install strace")?;
    ensure!(output.status.success(), "under strace: {}", String::from_utf8_lossy(&output.stderr));
    let calls: BTreeMap<_, _> = fs::read_to_string(table.path())?.lines().filter_map(row).collect();
    ensure!(!calls.is_empty(), "strace counted nothing");
    Ok((calls, serde_json::from_slice(&output.stdout)?))
}

/// A row of its table: `% time, seconds, usecs/call, calls, [errors,] syscall`.
fn row(line: &str) -> Option<(String, u64)> {
    let fields: Vec<_> = line.split_whitespace().collect();
    let name = fields.last().filter(|name| **name != "total")?;
    Some(((*name).to_owned(), fields.get(3)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn rows_of_the_table_are_told_from_what_stands_around_them() {
        let table = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.13    0.041000          10      4100           sendmsg
 39.87    0.027183           9      3000       120 recvmmsg
------ ----------- ----------- --------- --------- ----------------
100.00    0.068183           9      7100       120 total";
        let rows: Vec<_> = table.lines().filter_map(row).collect();
        assert_eq!(rows, [("sendmsg".to_owned(), 4100), ("recvmmsg".to_owned(), 3000)]);
    }
}
