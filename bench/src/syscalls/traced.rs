//! Calls of the system, as strace counts them: by name, and by thread.
use std::{collections::BTreeMap, env, fs, process::Command};

use anyhow::{Context, Result, ensure};

use super::role::{self, Counted};

/// What strace counted, and what the driver did.
pub(super) struct Traced {
    /// Of the whole process, by name.
    pub(super) calls: BTreeMap<String, u64>,
    /// Of the thread that sends the records, and of the one that receives them.
    pub(super) by_side: [u64; 2],
    pub(super) counted: Counted,
}

/// Carries so many bytes of records under strace.
pub(super) fn run(size: u32, bytes: u64, seed: u64) -> Result<Traced> {
    let log = tempfile::NamedTempFile::new()?;
    let records = bytes / u64::from(size.max(1));
    let mut strace = Command::new("strace");
    // Strings are of no interest here: `-s 0`. `-C` is `-c`, and what `-c` adds up as well.
    strace.args(["-f", "-C", "-s", "0", "-o"]).arg(log.path()).arg(env::current_exe()?);
    let ran = strace.args(role::arguments(size, records, seed)).output();
    let output = ran.context("this bench needs strace; install it, for example by: apt-get install strace")?;
    ensure!(output.status.success(), "under strace: {}", String::from_utf8_lossy(&output.stderr));
    let log = fs::read_to_string(log.path())?;
    let calls: BTreeMap<_, _> = log.lines().filter_map(row).collect();
    ensure!(!calls.is_empty(), "strace counted nothing");
    Ok(Traced { calls, by_side: by_side(&log)?, counted: serde_json::from_slice(&output.stdout)? })
}

/// A row of the table at the end: `% time, seconds, usecs/call, calls, [errors,] syscall`.
fn row(line: &str) -> Option<(String, u64)> {
    let fields: Vec<_> = line.split_whitespace().collect();
    fields.first()?.parse::<f64>().ok().filter(|_| fields[0].contains('.'))?;
    let name = fields.last().filter(|name| **name != "total")?;
    Some(((*name).to_owned(), fields.get(3)?.parse().ok()?))
}

/// A call: the thread and the name. One that was interrupted stands there twice, and counts once.
fn call(line: &str) -> Option<(u32, &str)> {
    let (thread, call) = line.split_once(char::is_whitespace)?;
    let (name, _) = call.trim_start().split_once('(')?;
    let named = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    Some((thread.parse().ok()?, name)).filter(|_| named)
}

/// Calls of the thread that sends most, and of the one that receives most.
fn by_side(log: &str) -> Result<[u64; 2]> {
    let mut threads: BTreeMap<u32, [u64; 3]> = BTreeMap::new();
    for (thread, name) in log.lines().filter_map(call) {
        let [all, sends, receives] = threads.entry(thread).or_default();
        *all += 1;
        *sends += u64::from(name == "sendmsg");
        *receives += u64::from(name == "recvmmsg");
    }
    let most = |which: usize| threads.iter().max_by_key(|(_, counts)| counts[which]);
    let (sender, receiver) = (most(1).context("nobody sent")?, most(2).context("nobody received")?);
    ensure!(sender.0 != receiver.0, "one thread sent and received most");
    Ok([sender.1[0], receiver.1[0]])
}

#[cfg(test)]
mod tests {
    use super::{by_side, row};

    const LOG: &str = "\
10 execve(\"/bench\", [\"bench\"...], 0x7ffd /* 20 vars */) = 0
11 sendmsg(5, {msg_name={sa_family=AF_INET6}, msg_iov=[{iov_base=\"\"..., iov_len=65340}]}, 0) = 65340
12 recvmmsg(4, [{msg_hdr={}}], 32, MSG_DONTWAIT, NULL <unfinished ...>
11 sendmsg(5, {msg_name={sa_family=AF_INET6}}, 0) = 65340
12 <... recvmmsg resumed>) = 2
12 sendmsg(4, {msg_name={sa_family=AF_INET6}}, 0) = 40
12 recvmmsg(4, [{msg_hdr={}}], 32, MSG_DONTWAIT, NULL) = -1 EAGAIN (Resource temporarily unavailable)
11 +++ exited with 0 +++
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.13    0.041000          10         3           sendmsg
 39.87    0.027183           9         2         1 recvmmsg
------ ----------- ----------- --------- --------- ----------------
100.00    0.068183           9         6         1 total";

    #[test]
    fn rows_of_the_table_are_told_from_what_stands_around_them() {
        let rows: Vec<_> = LOG.lines().filter_map(row).collect();
        assert_eq!(rows, [("sendmsg".to_owned(), 3), ("recvmmsg".to_owned(), 2)]);
    }

    #[test]
    fn calls_are_counted_once_for_the_thread_that_made_them() {
        assert_eq!(by_side(LOG).expect("both sides"), [2, 3]);
    }
}
