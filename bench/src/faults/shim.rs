//! Clocks that jump: the kernel's cannot be set for one process, so a few lines of C stand before them.
use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::strangers::gateway::Home;

const SOURCE: &str = include_str!("shim.c");

/// What is preloaded, and the file that says by how much the clocks are wrong.
pub(super) struct Clocks {
    library: PathBuf,
    offsets: PathBuf,
}

impl Clocks {
    /// Compiles it. The clocks are right at first.
    pub(super) fn new(home: &Home) -> Result<Self> {
        let clocks = Self { library: home.path("clocks.so"), offsets: home.path("clocks") };
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-x", "c", "-", "-ldl", "-o"]).arg(&clocks.library);
        let mut cc = cc.stdin(Stdio::piped()).spawn().context("this bench needs cc, the C compiler")?;
        if let Some(mut stdin) = cc.stdin.take() {
            stdin.write_all(SOURCE.as_bytes())?;
        }
        ensure!(cc.wait()?.success(), "shim.c cannot be compiled");
        fs::write(&clocks.offsets, [0; 16])?;
        Ok(clocks)
    }

    /// Lets a process that will be started see these clocks.
    pub(super) fn preload(&self, command: &mut Command) {
        command.env("LD_PRELOAD", &self.library).env("TALLYLINK_BENCH_CLOCKS", &self.offsets);
    }

    /// Seconds by which the clocks are ahead from now on.
    pub(super) fn set(&self, wall: i64, monotonic: i64) -> Result<()> {
        let bytes = [wall.to_ne_bytes(), monotonic.to_ne_bytes()].concat();
        // In place: the file is mapped.
        Ok(OpenOptions::new().write(true).open(&self.offsets)?.write_all(&bytes)?)
    }
}
