//! Sending through an outbox: records are on disk here before they leave, and until they are stored there.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::fs::FlockOperation;
use tallylink_core::Provision;
use tallylink_journal::Dir;
use tallylink_linux::outbox::{OutboxError, OutboxOptions};
use tallylink_linux::sender::{DurableError, DurableStream, OpenDurableError, Progress};
use tallylink_linux::{Sender, Settings};

use super::source::{Fault, Limit, Source, behind};
use super::watch::{Reached, Stop, Watch};
use super::{Send, TICK};
use crate::Error;
use crate::host_port::HostPort;
use crate::outbox::{dir_of, streams_in};

/// How long an interrupted run takes to make durable what it has read.
const LAST_WRITE: Duration = Duration::from_secs(10);

/// Delivers what the outbox has left and then the input, or, without a stream, what all streams have left.
///
/// # Errors
/// As [`super::run`]; what is not stored is still in the outbox.
pub(super) fn run(
    send: &Send,
    dir: &Path,
    stream: Option<&str>,
    settings: &Settings,
    to: HostPort,
    provision: Provision,
) -> Result<(), Error> {
    let _held = hold(&send.key)?;
    let names = match stream {
        Some(name) => vec![name.to_owned()],
        None => streams_in(dir)?.into_iter().map(|(name, _)| name).collect(),
    };
    // Its own name must outlive a power cut as well.
    Dir::create(dir).map_err(|error| Error::NoOutbox { dir: dir.to_owned(), error })?;
    let mut watch =
        Watch::start(to.clone(), send.timeout, &[signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM])?;
    let sender = Sender::with(settings, &to.to_string(), provision)?;
    let mut streams = Vec::new();
    for name in &names {
        let options = OutboxOptions::default();
        let opened = sender.open_durable_until(name, dir_of(dir, name), &options, watch.interrupted());
        streams.push(opened.map_err(|why| match why {
            OpenDurableError::Outbox(OutboxError::Stopped { .. }) => {
                Error::OutboxNotOpened { dir: dir.to_owned(), key: send.key.clone() }
            }
            OpenDurableError::Outbox(why) => Error::Outbox { why: why.into() },
            OpenDurableError::Stream(why) => Error::Stream { name: name.clone(), why },
        })?);
    }
    let all = All { open: streams.iter().map(DurableStream::progress).collect() };
    watch.follow(all.reached());
    let gives_up = |stop| all.gives_up(stop, dir, &send.key);

    let mut ended = None;
    if stream.is_some()
        && let Some(stream) = streams.pop()
    {
        let left_out = if send.resume { stream.history() } else { 0 };
        let source = send.source(Limit::Outbox(settings.config.max_record))?;
        let pushed = push_all(source, stream, left_out, &mut watch).map_err(gives_up)?;
        if pushed.left_out < left_out {
            watch.say(&format!(
                "tallylink: the outbox has held {left_out} records, and the input has only {}: is it the same input?",
                pushed.left_out
            ));
        }
        ended = pushed.ended;
    }
    let failed = all.wait_until_stored(&mut watch).map_err(gives_up)?;
    watch.finish();
    let stored = all.reached()().stored;
    match (failed, ended) {
        (Some(why), _) | (None, Some(Fault::Outbox(DurableError::Outbox(why)))) => Err(Error::Outbox { why }),
        (None, Some(fault)) => Err(Error::Record { stored, fault: fault.to_string(), large: fault.is_size() }),
        (None, None) if all.open.iter().any(Progress::gave_up) => Err(Error::Record {
            stored,
            fault: "the gateway does not take records as large as some of these: it has a gap in their place".into(),
            large: true,
        }),
        (None, None) => Ok(()),
    }
}

/// Keeps a second sender with the same key out while it lives: the gateway would take them for one.
fn hold(key: &Path) -> Result<File, Error> {
    let file = File::open(key).map_err(|error| Error::Read { file: key.to_owned(), error })?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::KeyInUse { file: key.to_owned() }),
        // A file system without locks: the outbox has its own.
        Ok(()) | Err(_) => Ok(file),
    }
}

/// All streams that are open.
struct All {
    open: Vec<Progress>,
}

impl All {
    /// Counts records that waited already as pushed now.
    fn reached(&self) -> impl Fn() -> Reached + use<> {
        let open: Vec<_> = self.open.iter().map(|p| (p.clone(), p.inherited())).collect();
        move || {
            let mut sum = Reached::default();
            for (progress, inherited) in &open {
                let delivered = inherited - progress.inherited();
                sum.pushed += inherited + progress.next();
                sum.received += delivered + progress.received_below();
                sum.stored += delivered + progress.stored_below();
            }
            sum
        }
    }

    /// Waits for every stream; why the disk keeps something from being sent, if it does.
    fn wait_until_stored(&self, watch: &mut Watch) -> Result<Option<std::sync::Arc<OutboxError>>, Stop> {
        for progress in &self.open {
            loop {
                match progress.flush(TICK) {
                    Ok(()) => break,
                    // What is durable still goes out.
                    Err(DurableError::Outbox(why)) if progress.waiting() == 0 => return Ok(Some(why)),
                    Err(DurableError::Outbox(_)) => {
                        thread::sleep(TICK);
                        watch.tick()?;
                    }
                    Err(DurableError::Closed) => return Err(Stop::Died),
                    Err(_) => watch.tick()?,
                }
            }
        }
        Ok(None)
    }

    /// Makes durable what was read, and says how to go on.
    fn gives_up(&self, stop: Stop, dir: &Path, key: &Path) -> Error {
        let failed = self.open.iter().find_map(|progress| progress.flush_durable(LAST_WRITE).err());
        Error::OutboxWaits {
            why: match failed {
                Some(failed) => format!("{stop}, and not all that was read is in the outbox ({failed})"),
                None => stop.to_string(),
            },
            dir: dir.to_owned(),
            key: key.to_owned(),
            waiting: self.open.iter().map(Progress::waiting).sum(),
            interrupted: stop == Stop::Interrupted,
        }
    }
}

/// What was pushed.
#[derive(Debug)]
struct PushedAll {
    /// Why it ended before the input did.
    ended: Option<Fault>,
    /// How many records of the input were left out.
    left_out: u64,
}

/// Reads and pushes on a thread of its own, so that this one can watch.
fn push_all(source: Source, stream: DurableStream, left_out: u64, watch: &mut Watch) -> Result<PushedAll, Stop> {
    let (tell, told) = mpsc::sync_channel(1);
    let work = move || {
        // Nobody listens only when the program is about to end.
        let _ = tell.send(push_from(source, stream, left_out));
    };
    thread::Builder::new().name("read".into()).spawn(work).map_err(|_| Stop::Died)?;
    loop {
        match told.recv_timeout(TICK) {
            Ok(pushed) => return Ok(pushed),
            Err(RecvTimeoutError::Timeout) => watch.tick()?,
            Err(RecvTimeoutError::Disconnected) => return Err(Stop::Died),
        }
    }
}

fn push_from(mut source: Source, mut stream: DurableStream, left_out: u64) -> PushedAll {
    let mut left = left_out;
    let ended = loop {
        match source.next() {
            Ok([]) => break None,
            Ok(packed) => {
                if let Err(why) = stream.push_batch(behind(packed, &mut left)) {
                    break Some(Fault::Outbox(why));
                }
            }
            Err(fault) => break Some(fault),
        }
    };
    PushedAll { ended, left_out: left_out - left }
}
