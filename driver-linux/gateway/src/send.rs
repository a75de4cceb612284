//! `send`: records from standard input or files to a gateway, until every one is stored.

mod progress;
mod source;

use std::fs::File;
use std::io::{self, Read};
use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use tallylink_core::{End, Provision, crypto::Psk};
use tallylink_linux::{Sender, Settings, sender::Confirmed, sender::FlushError, sender::Stream};

use crate::config::{Config, Level};
use crate::device::DeviceKey;
use crate::host_port::HostPort;
use crate::{Error, clock, log};
use progress::Progress;
use source::{Fault, Source};

/// The arguments of `send`.
#[derive(Debug, Args)]
pub struct Send {
    /// Where the gateway is; without it, where the key file says
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,
    /// The key file that `tallylink peer add` wrote for this device
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The stream's name, 1 to 64 bytes
    #[arg(long, value_name = "NAME")]
    stream: String,
    /// Records on standard input begin with their length: 4 bytes, the most significant first
    #[arg(long, conflicts_with = "files")]
    frames: bool,
    /// Give up when nothing was confirmed for so long [default: never]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    timeout: Option<Duration>,
    /// Files to send, each as one record; without any, the lines of standard input, each with its newline
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// How often the terminal and the time limit are looked at.
const TICK: Duration = Duration::from_millis(100);
/// After so long without an answer, a person is told what may be wrong.
const HINT_AFTER: Duration = Duration::from_secs(3);

/// Sends all records and waits until they are stored.
///
/// # Errors
/// A wrong argument, key or address, found before anything is read; a record that the gateway does not take, when all
/// before it are stored; the time limit, or an interruption.
pub fn run(send: &Send, config: &Config) -> Result<(), Error> {
    log::start(config.log.min(Level::Warn));
    let key = DeviceKey::read(&send.key)?;
    let to = match &send.to {
        Some(to) => to.parse()?,
        None => key
            .gateway
            .clone()
            .ok_or(Error::Usage("the key file does not say where the gateway is; give --to HOST:PORT"))?,
    };
    check_name(&to)?;
    let largest = source::largest(&send.files)?;
    let mut settings = Settings::sender();
    let own = &mut settings.config;
    own.max_record = own.max_record.max(u32::try_from(largest).unwrap_or(u32::MAX));
    own.max_credit = own.max_credit.max(u64::from(own.max_record) + 8);
    let interrupted = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&interrupted)).map_err(Error::Network)?;

    let provision = Provision::new(
        tallylink_core::PeerId(key.peer.0),
        End::Device,
        tallylink_core::KeyId(key.key_id),
        Psk::from_bytes(*key.secret.expose()),
    );
    let sender = Sender::with(&settings, &to.to_string(), provision)?;
    let stream = sender.open(&send.stream).map_err(|why| Error::Stream { name: send.stream.clone(), why })?;
    let mut watch = Watch {
        to,
        interrupted,
        timeout: send.timeout,
        confirmed: stream.confirmed(),
        progress: Progress::new(),
        moved: clock::monotonic(),
        seen: (0, 0),
        hinted: false,
    };
    let limit = loop {
        match sender.largest_record() {
            Some(theirs) => break theirs.min(settings.config.max_record),
            None => thread::sleep(Duration::from_millis(1)),
        }
        watch.tick()?;
    };
    let pushed = push_all(send, stream, limit, &mut watch)?;
    wait_until_stored(&sender, &mut watch)?;
    watch.progress.finish(&watch.confirmed);
    // A gateway that came back with a lower limit never took the records above it.
    let theirs = sender.largest_record().unwrap_or(limit);
    match pushed.ended {
        Some(fault) => Err(Error::Record {
            stored: watch.confirmed.stored_below(),
            fault: fault.to_string(),
            large: fault.is_size(),
        }),
        None if pushed.largest > theirs => Err(Error::Record {
            stored: watch.confirmed.stored_below(),
            fault: format!("the gateway lowered its limit to {theirs} bytes while larger records were on the way"),
            large: true,
        }),
        None => Ok(()),
    }
}

/// What was pushed.
#[derive(Debug)]
struct PushedAll {
    /// Why it ended before the input did.
    ended: Option<Fault>,
    /// Bytes of the largest record.
    largest: u32,
}

/// Reads and pushes on a thread of its own, so that this one can watch.
fn push_all(send: &Send, stream: Stream, limit: u32, watch: &mut Watch) -> Result<PushedAll, Error> {
    let (tell, told) = mpsc::sync_channel(1);
    let files = send.files.clone();
    let input: Box<dyn Read + core::marker::Send> = if files.is_empty() {
        Box::new(File::from(rustix::io::dup(io::stdin()).map_err(|error| Error::Network(error.into()))?))
    } else {
        Box::new(io::empty())
    };
    let source = match (files.is_empty(), send.frames) {
        (false, _) => Source::files(files, limit),
        (true, true) => Source::frames(input, limit),
        (true, false) => Source::lines(input, limit),
    };
    let work = move || {
        // Nobody listens only when the program is about to end.
        let _ = tell.send(push_from(source, stream));
    };
    thread::Builder::new().name("read".into()).spawn(work).map_err(Error::Network)?;
    loop {
        match told.recv_timeout(TICK) {
            Ok(pushed) => return Ok(pushed),
            Err(RecvTimeoutError::Timeout) => watch.tick()?,
            Err(RecvTimeoutError::Disconnected) => return Err(watch.not_stored("the sender has stopped")),
        }
    }
}

fn push_from(mut source: Source, mut stream: Stream) -> PushedAll {
    loop {
        let ended = match source.next() {
            Ok([]) => None,
            Ok(packed) => match stream.push_batch(packed) {
                Ok(_) => continue,
                Err(why) => Some(Fault::Push(why)),
            },
            Err(fault) => Some(fault),
        };
        return PushedAll { ended, largest: source.largest_record() };
    }
}

fn wait_until_stored(sender: &Sender, watch: &mut Watch) -> Result<(), Error> {
    loop {
        match sender.flush(TICK) {
            Ok(()) => return Ok(()),
            Err(FlushError::Timeout { .. }) => watch.tick()?,
            Err(FlushError::Closed) => return Err(watch.not_stored("the sender has stopped")),
        }
    }
}

/// Looks after what a person should know while records are on their way.
struct Watch {
    to: HostPort,
    interrupted: Arc<AtomicBool>,
    timeout: Option<Duration>,
    confirmed: Confirmed,
    progress: Progress,
    /// When a confirmation moved last, or more was pushed while nothing was outstanding.
    moved: Instant,
    seen: (u64, u64),
    hinted: bool,
}

impl Watch {
    /// Shows the progress.
    ///
    /// # Errors
    /// It is time to give up.
    fn tick(&mut self) -> Result<(), Error> {
        self.progress.show(&self.confirmed);
        let now = clock::monotonic();
        let seen = (self.confirmed.received_below(), self.confirmed.stored_below());
        let waits_for_input = seen.1 > 0 && seen.1 == self.confirmed.next();
        if seen != self.seen || waits_for_input {
            (self.moved, self.seen) = (now, seen);
        }
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Error::Interrupted { stored: seen.1 });
        }
        let silent = now.saturating_duration_since(self.moved);
        if self.timeout.is_some_and(|timeout| silent >= timeout) {
            return Err(self.not_stored("the time is over"));
        }
        if !self.hinted && seen == (0, 0) && silent >= HINT_AFTER {
            self.hinted = true;
            self.progress.say(&format!(
                "tallylink: no answer from {} yet; is a gateway running there, and does it know this key? still trying",
                self.to
            ));
        }
        Ok(())
    }

    fn not_stored(&self, why: &str) -> Error {
        Error::NotStored {
            why: why.to_owned(),
            to: self.to.clone(),
            stored: self.confirmed.stored_below(),
            pushed: self.confirmed.next(),
        }
    }
}

/// A name that nobody knows is most often a typing error; later it is resolved at each try to reach the gateway.
fn check_name(to: &HostPort) -> Result<(), Error> {
    match to.to_string().to_socket_addrs().map(|mut found| found.next()) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(Error::Resolve { to: to.clone(), error: io::ErrorKind::NotFound.into() }),
        Err(error) => Err(Error::Resolve { to: to.clone(), error }),
    }
}
