//! A process that tells the bench, line by line, how far it is.
use std::{
    fs::File,
    process::ExitStatus,
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use anyhow::{Result, bail};

use super::Process;

/// A process that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// A process and what it says.
pub(crate) struct Conversation {
    process: Process,
    lines: Receiver<String>,
}

impl Conversation {
    pub(crate) fn start(arguments: &[String], log: &File) -> Result<Self> {
        let (tell, lines) = mpsc::channel();
        let process = Process::start(arguments, log, move |line| {
            // Nobody listens any more only when the bench fails.
            let _ = tell.send(line.to_owned());
        })?;
        Ok(Self { process, lines })
    }

    /// Waits for the line that begins so, and returns the rest of it.
    pub(crate) fn hear(&mut self, begins: &str) -> Result<String> {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    if let Some(rest) = line.strip_prefix(begins) {
                        return Ok(rest.to_owned());
                    }
                }
                Err(_) => bail!("a process ended or hung before it said `{begins}`"),
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Lets it end, which it does when nobody speaks to it any more.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.process.hang_up();
        succeeded(self.process.wait()?)
    }

    /// SIGTERM, and success is expected.
    pub(crate) fn stop(mut self) -> Result<()> {
        succeeded(self.process.stop()?)
    }

    /// The same, and the rest of the line that begins so, which it says before it ends.
    pub(crate) fn stop_and_hear(mut self, begins: &str) -> Result<String> {
        succeeded(self.process.stop()?)?;
        self.hear(begins)
    }
}

fn succeeded(ended: ExitStatus) -> Result<()> {
    if ended.success() { Ok(()) } else { bail!("a process ended with {ended}") }
}
