//! Processes that open a journal, and what that takes.
use std::{
    env, fs,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};

use super::journal;
use crate::clock;

/// What a start took.
pub(super) struct Opened {
    /// From the process's start to the line that says it is ready.
    pub(super) after: Duration,
    /// The most memory it had until then.
    pub(super) peak_bytes: u64,
}

/// Opens an outbox in this process, says so, and ends with its standard input.
#[derive(Args)]
pub(crate) struct Open {
    home: PathBuf,
}

impl Open {
    /// Up to the first records that go out.
    pub(crate) fn run(&self) -> Result<()> {
        let mut outbox = journal::open_outbox(&self.home, 2)?;
        outbox.next(&mut Vec::new())?.context("nothing is left to deliver")?;
        println!("ready");
        std::io::stdin().read_to_end(&mut Vec::new())?;
        Ok(())
    }
}

/// Starts a gateway on `home` and stops it again.
pub(super) fn gateway(home: &Path) -> Result<Opened> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["tallylink", "--", "serve", "--listen", "127.0.0.1:0", "--data"]).arg(home);
    command.stdin(Stdio::null());
    let (mut process, opened) = start(command, "listening on ")?;
    kill_process(Pid::from_child(&process), Signal::TERM)?;
    ensure!(process.wait()?.success(), "the gateway did not stop cleanly");
    Ok(opened)
}

/// Opens the outbox of `home`.
pub(super) fn outbox(home: &Path) -> Result<Opened> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("open-outbox").arg(home).stdin(Stdio::piped());
    let (mut process, opened) = start(command, "ready")?;
    drop(process.stdin.take());
    ensure!(process.wait()?.success(), "the outbox did not close cleanly");
    Ok(opened)
}

fn start(mut command: Command, says: &str) -> Result<(Child, Opened)> {
    let began = clock::wall();
    let mut process = command.stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(process.stdout.take().context("no output")?).read_line(&mut line)?;
    let after = clock::wall().duration_since(began);
    let peak_bytes = peak(process.id());
    if !line.starts_with(says) || peak_bytes.is_err() {
        // Fails only if it has ended.
        let _ = process.kill();
        process.wait()?;
    }
    ensure!(line.starts_with(says), "the process did not start: {line:?}");
    Ok((process, Opened { after, peak_bytes: peak_bytes? }))
}

fn peak(process: u32) -> Result<u64> {
    let told = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    Ok(kib.context("the kernel does not tell how much memory was in use")? << 10)
}
