//! One fault: records before it, across it and after it, and what became of them.
use std::{
    fmt, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};

use super::grid::{Fault, Place, What};
use crate::{
    clock,
    numbered::{self, RECORD},
    strace::{Attached, around},
    strangers::gateway::{Gateway, Home},
    tmpfs::{self, Tmpfs},
};

/// Records before the fault, across it and after it. The middle fills two segments.
const RECORDS: (usize, usize, usize) = (100, 2_500, 100);
/// How long a fault lasts that lasts.
const LASTS: Duration = Duration::from_secs(2);
/// A gateway that has not stored everything so long after the fault is stuck.
const STUCK: Duration = Duration::from_secs(60);
const CONFIG: &str = "segment = \"1 MiB\"\n";

/// What became of it.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The gateway ended with this code, and another was started.
    pub(super) exit: Option<i32>,
    /// Failures of the journal that the gateway counted.
    pub(super) failures: u64,
    /// Not everything was stored in time, or the gateway was not ready.
    pub(super) stuck: bool,
    pub(super) lost: u64,
    pub(super) repeated: u64,
    /// From the end of the fault until everything is stored.
    pub(super) seconds: f64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { exit, failures, stuck, lost, repeated, seconds } = self;
        match exit {
            Some(code) => write!(f, "exit code {code} and started again")?,
            None => write!(f, "went on by itself after {failures} failures")?,
        }
        write!(f, "{}, lost {lost}, repeated {repeated}, {seconds:.1} s", if *stuck { ", STUCK" } else { "" })
    }
}

/// Plays it.
pub(super) fn of(fault: &Fault) -> Result<Outcome> {
    let played = if fault.place == Place::Start { at_start(fault) } else { while_running(fault) };
    played.with_context(|| format!("{}, {}", fault.place.name(), fault.name))
}

/// A gateway with records is killed and started under the fault, then without it.
fn at_start(fault: &Fault) -> Result<Outcome> {
    let What::Inject(inject) = &fault.what else { anyhow::bail!("only calls fail at the start") };
    let mut stage = Stage::set(None)?;
    stage.give(RECORDS.0)?;
    ensure!(stage.wait(STUCK)?, "records are not stored before the fault");
    drop(stage.gateway.take());
    let journal = stage.home.path("data/journal");
    let mut paths = vec![journal.clone(), stage.home.path("data"), stage.home.path("data/keys")];
    for file in fs::read_dir(&journal)? {
        paths.push(file?.path());
    }
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let address = stage.address.clone();
    let mut child = around(&stage.serve(&address)?, inject, &paths);
    let started = Gateway::start_with(&stage.home, clone_of(&child));
    let mut outcome = Outcome::default();
    match started {
        Ok(gateway) => stage.gateway = Some(gateway),
        Err(_) => {
            // Again, to see how it ends: the first was only asked for its first line.
            let ended = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?.wait_with_output()?;
            outcome.exit = Some(ended.status.code().unwrap_or(-1));
        }
    }
    stage.go_on(outcome)
}

/// The fault strikes a gateway through which records flow.
fn while_running(fault: &Fault) -> Result<Outcome> {
    let small = matches!(fault.what, What::Full).then_some("4m");
    let mut stage = Stage::set(small)?;
    stage.give(RECORDS.0)?;
    ensure!(stage.wait(STUCK)?, "records are not stored before the fault");
    let lasts = fault.place == Place::Lasting;
    match &fault.what {
        What::Inject(inject) => {
            let attached = Attached::to(stage.gateway()?.pid(), inject, Path::new("/dev/null"))?;
            stage.give(RECORDS.1)?;
            if lasts {
                thread::sleep(LASTS);
            } else {
                stage.wait(STUCK)?;
            }
            drop(attached);
        }
        What::MovedAway(what) => {
            let (there, away) = (stage.home.path("data").join(what), stage.home.path("away"));
            fs::rename(&there, &away)?;
            stage.give(RECORDS.1)?;
            thread::sleep(LASTS);
            fs::rename(&away, &there)?;
        }
        What::Removed => {
            fs::remove_dir_all(stage.home.path("data/journal"))?;
            stage.forget();
            stage.give(RECORDS.1)?;
        }
        What::Full => {
            let filler = tmpfs::fill(&stage.home.path("data"))?;
            stage.give(RECORDS.1)?;
            thread::sleep(LASTS);
            fs::remove_file(&filler)?;
        }
    }
    stage.go_on(Outcome::default())
}

/// A command once more: one cannot be cloned.
fn clone_of(command: &Command) -> Command {
    let mut other = Command::new(command.get_program());
    other.args(command.get_args()).env_clear().stdout(Stdio::piped());
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        other.current_dir(directory);
    }
    other
}

/// A gateway, a sender, and what that was given.
struct Stage {
    gateway: Option<Gateway>,
    address: String,
    sender: Sender,
    input: Option<ChildStdin>,
    given: Vec<u8>,
    /// So much of it was taken away on purpose.
    forgotten: usize,
    _mounted: Option<Tmpfs>,
    home: Home,
}

/// Killed when it goes out of scope.
struct Sender(Child);

impl Drop for Sender {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Stage {
    fn set(small: Option<&str>) -> Result<Self> {
        let home = Home::new()?;
        let mut mounted = None;
        if let Some(size) = small {
            mounted = Some(Tmpfs::mount(home.path("data"), size)?);
        }
        home.add_peer("roof")?;
        fs::write(home.path("tallylink.toml"), CONFIG)?;
        let serve = home.command(&["serve", "--config", "tallylink.toml", "--listen", "127.0.0.1:0"])?;
        let gateway = Gateway::start_with(&home, serve)?;
        let address = gateway.address.to_string();
        let mut send = home.command(&["send", "--to", &address, "--key", "roof.key", "--stream", "s"])?;
        let mut sender = send.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let input = sender.stdin.take();
        let sender = Sender(sender);
        Ok(Self {
            gateway: Some(gateway),
            address,
            sender,
            input,
            given: Vec::new(),
            forgotten: 0,
            _mounted: mounted,
            home,
        })
    }

    fn serve(&self, address: &str) -> Result<Command> {
        self.home.command(&["serve", "--config", "tallylink.toml", "--listen", address])
    }

    fn gateway(&mut self) -> Result<&mut Gateway> {
        self.gateway.as_mut().context("no gateway runs")
    }

    fn give(&mut self, records: usize) -> Result<()> {
        let input = self.input.as_mut().context("the sender has its whole input")?;
        for _ in 0..records {
            let record = numbered::record(self.given.len() / RECORD);
            self.given.extend_from_slice(&record);
            input.write_all(&record)?;
        }
        Ok(input.flush()?)
    }

    /// Everything that is stored goes, and shall not be missed.
    fn forget(&mut self) {
        self.forgotten = self.given.len();
    }

    fn stored(&self) -> Result<Vec<u8>> {
        // There may be no journal for a while.
        Ok(self.home.run(&["query", "--stream", "s", "--format", "raw"], b"")?.stdout)
    }

    /// Waits until everything given is stored, or the gateway has ended. False if neither comes about.
    fn wait(&mut self, at_most: Duration) -> Result<bool> {
        let since = clock::wall();
        while since.elapsed() < at_most {
            if self.gateway()?.ended()?.is_some() || self.stored()?.len() >= self.given.len() - self.forgotten {
                return Ok(true);
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(false)
    }

    /// The fault is over: whatever ended is started again, and everything must come.
    fn go_on(mut self, mut outcome: Outcome) -> Result<Outcome> {
        let since = clock::wall();
        if self.gateway.is_some() {
            self.wait(STUCK)?;
            if let Some(code) = self.gateway()?.ended()? {
                outcome.exit = Some(code);
                self.gateway = None;
            }
        }
        if self.gateway.is_none() {
            let serve = self.serve(&self.address)?;
            self.gateway = Some(Gateway::start_with(&self.home, serve)?);
        }
        self.give(RECORDS.2)?;
        drop(self.input.take());
        while self.sender.0.try_wait()?.is_none() && since.elapsed() < STUCK {
            thread::sleep(Duration::from_millis(20));
        }
        outcome.seconds = since.elapsed().as_secs_f64();
        let sent = self.sender.0.try_wait()?.is_some_and(|ended| ended.success());
        let mut told = self.gateway()?.status()?;
        while !told.ready && since.elapsed() < STUCK {
            thread::sleep(Duration::from_millis(20));
            told = self.gateway()?.status()?;
        }
        outcome.failures = told.counters.get("journal").and_then(|all| all.get("failures")).copied().unwrap_or(0);
        outcome.stuck = !sent || !told.ready;
        let kept = self.given.get(self.forgotten..).unwrap_or_default();
        // What is stored is seen by others a moment later, where that could not be told at once.
        (outcome.lost, outcome.repeated) = numbered::compare(kept, &self.stored()?);
        while outcome.lost > 0 && since.elapsed() < STUCK {
            thread::sleep(Duration::from_millis(100));
            (outcome.lost, outcome.repeated) = numbered::compare(kept, &self.stored()?);
        }
        self.gateway()?.stop()?;
        Ok(outcome)
    }
}
