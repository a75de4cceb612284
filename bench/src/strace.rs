//! Calls of the system that fail or take long because strace says so.
use std::{
    fs::File,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::process::inside;

/// Makes sure that it is there.
pub(crate) fn needed() -> Result<()> {
    let ran = Command::new("strace").arg("-V").stdout(Stdio::null()).status();
    ran.map(drop).context("this bench needs strace; install it, for example by: apt-get install strace")
}

/// strace on a running process; it lets go when it goes out of scope.
pub(crate) struct Attached(Child);

impl Attached {
    /// What it injects, it notes in `log`, a line a call.
    pub(crate) fn to(process: Pid, inject: &[String], log: &Path) -> Result<Self> {
        let mut command = Command::new("strace");
        command.args(["-f", "-p", &process.as_raw_nonzero().to_string(), "-o"]).arg(log).args(options(inject));
        let mut strace = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut said = String::new();
        if let Some(messages) = strace.stderr.take() {
            BufReader::new(messages).read_line(&mut said)?;
        }
        let attached = Self(strace);
        ensure!(said.contains("attached"), "strace cannot attach: {said}");
        Ok(attached)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = kill_process(Pid::from_child(&self.0), Signal::INT);
        let _ = self.0.wait();
    }
}

/// A command under strace from its first call on, and still this process's own child. Only calls that concern `paths`
/// fail: those of the loader are not meant.
pub(crate) fn around(command: &Command, inject: &[String], paths: &[&Path]) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-D", "-f", "-o", "/dev/null"]).args(options(inject));
    for path in paths {
        strace.arg("-P").arg(path);
    }
    inside(strace, command)
}

/// How many calls failed, as the log of [`Attached::to`] says.
pub(crate) fn injected(log: &Path) -> Result<u64> {
    let lines = BufReader::new(File::open(log)?).split(b'\n').map_while(Result::ok);
    Ok(lines.filter(|line| line.ends_with(b"(INJECTED)")).count() as u64)
}

fn options(inject: &[String]) -> Vec<String> {
    let calls: Vec<_> = inject.iter().filter_map(|one| one.split(':').next()).collect();
    let trace = ["-e".to_owned(), format!("trace={}", calls.join(","))];
    trace.into_iter().chain(inject.iter().flat_map(|one| ["-e".to_owned(), format!("inject={one}")])).collect()
}
