//! The other processes of the demo. None outlives it.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, Signal, kill_process};

use super::plan::Plan;
use super::sender::{DemoSender, Told};
use crate::Error;
use crate::device::DeviceKey;

/// A process that is killed when nobody waits for it any more.
#[derive(Debug)]
struct Owned(Child);

impl Drop for Owned {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where the gateway's messages go.
pub(super) fn log_file(dir: &Path) -> PathBuf {
    dir.join("gateway.log")
}

/// The gateway process.
#[derive(Debug)]
pub(super) struct Gateway {
    process: Owned,
    address: SocketAddr,
}

impl Gateway {
    /// Starts it on a data directory, at any port or the one that it had, and waits until it listens.
    pub(super) fn start(dir: &Path, at: Option<SocketAddr>) -> Result<Self, Error> {
        let log = OpenOptions::new().create(true).append(true).open(log_file(dir)).map_err(failed)?;
        let listen = at.map_or_else(|| "127.0.0.1:0".to_owned(), |at| at.to_string());
        let child = this_program()?
            .args(["serve", "--listen", &listen, "--data"])
            .arg(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(failed)?;
        let mut process = Owned(child);
        let ready = process.0.stdout.take().map(first_line).transpose().map_err(failed)?.unwrap_or_default();
        let address = ready.split_whitespace().nth(2).and_then(|address| address.parse().ok());
        let address = address
            .ok_or_else(|| Error::Demo(format!("the gateway did not start; see {}", log_file(dir).display())))?;
        Ok(Self { process, address })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// SIGKILL: no code of the gateway runs after this.
    pub(super) fn kill(&mut self) -> Result<(), Error> {
        self.process.0.kill().and_then(|()| self.process.0.wait()).map(drop).map_err(failed)
    }

    /// SIGTERM, and waits.
    pub(super) fn stop(mut self) -> Result<(), Error> {
        if let Some(pid) = i32::try_from(self.process.0.id()).ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::TERM).map_err(|error| failed(error.into()))?;
        }
        let ended = self.process.0.wait().map_err(failed)?;
        if ended.success() { Ok(()) } else { Err(Error::Demo(format!("the gateway ended with {ended}"))) }
    }
}

/// The sender processes.
#[derive(Debug)]
pub(super) struct Senders {
    all: Vec<SenderProcess>,
}

#[derive(Debug)]
struct SenderProcess {
    process: Owned,
    told: Arc<Mutex<Told>>,
    reader: Option<JoinHandle<()>>,
}

impl Senders {
    pub(super) fn start(plan: &Plan, keys: &[(PathBuf, DeviceKey)], to: SocketAddr) -> Result<Self, Error> {
        let mut all = Vec::new();
        for (number, (key, _)) in (0..).zip(keys) {
            let child = this_program()?
                .args(DemoSender::args(plan, number, key, to))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(failed)?;
            let mut process = Owned(child);
            let told = Arc::new(Mutex::new(Told::default()));
            let (out, listens) = (process.0.stdout.take(), Arc::clone(&told));
            let reader = thread::Builder::new()
                .name("sender".into())
                .spawn(move || out.into_iter().for_each(|out| listen(out, &listens)))
                .map_err(failed)?;
            all.push(SenderProcess { process, told, reader: Some(reader) });
        }
        Ok(Self { all })
    }

    /// The gateway was killed once more: so much more may be sent.
    pub(super) fn go_on(&mut self) {
        for stdin in self.all.iter_mut().filter_map(|sender| sender.process.0.stdin.as_mut()) {
            // One that cannot be told has ended.
            let _ = stdin.write_all(b"\n");
        }
    }

    /// Whether all have ended, each with success.
    pub(super) fn have_ended(&mut self) -> Result<bool, Error> {
        let mut all_ended = true;
        for (number, sender) in (1..).zip(&mut self.all) {
            match sender.process.0.try_wait().map_err(failed)? {
                None => all_ended = false,
                Some(ended) if ended.success() => {}
                Some(ended) => return Err(Error::Demo(format!("sender {number} ended with {ended}"))),
            }
        }
        Ok(all_ended)
    }

    /// Records that are stored, as the senders say.
    pub(super) fn stored(&self) -> u64 {
        self.all.iter().map(|sender| sender.told().stored).sum()
    }

    /// What each said last.
    pub(super) fn ended(mut self) -> Result<Vec<Told>, Error> {
        let mut told = Vec::new();
        for sender in &mut self.all {
            if let Some(reader) = sender.reader.take() {
                reader.join().map_err(|_| Error::Demo("a sender could not be heard to its end".into()))?;
            }
            told.push(sender.told());
        }
        Ok(told)
    }
}

impl SenderProcess {
    fn told(&self) -> Told {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn listen(out: ChildStdout, told: &Mutex<Told>) {
    for line in BufReader::new(out).lines().map_while(Result::ok) {
        if let Ok(news) = serde_json::from_str(&line) {
            *told.lock().unwrap_or_else(PoisonError::into_inner) = news;
        }
    }
}

fn first_line(out: ChildStdout) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    Ok(line)
}

/// This program once more, without this process's settings.
fn this_program() -> Result<Command, Error> {
    let mut command = Command::new(env::current_exe().map_err(failed)?);
    command.env_remove("TALLYLINK_CONFIG").env_remove("TALLYLINK_DATA");
    Ok(command)
}

fn failed(error: io::Error) -> Error {
    Error::Demo(format!("another process cannot be started or watched: {error}"))
}
