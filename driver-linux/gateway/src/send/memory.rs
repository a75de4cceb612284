//! Sending from memory: what is not stored when this program ends has to be sent again.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tallylink_core::Provision;
use tallylink_linux::sender::{Confirmed, FlushError, Stream};
use tallylink_linux::{Sender, Settings};

use super::source::{Fault, Limit, Source};
use super::watch::{Reached, Stop, Watch};
use super::{Send, TICK};
use crate::Error;
use crate::host_port::HostPort;

/// Sends all records of the input.
///
/// # Errors
/// As [`super::run`].
pub(super) fn run(
    send: &Send,
    name: &str,
    settings: &Settings,
    to: HostPort,
    provision: Provision,
) -> Result<(), Error> {
    let mut watch = Watch::start(to.clone(), send.timeout, &[signal_hook::consts::SIGINT])?;
    let sender = Sender::with(settings, &to.to_string(), provision)?;
    let stream = sender.open(name).map_err(|why| Error::Stream { name: name.to_owned(), why })?;
    let confirmed = stream.confirmed();
    watch.follow(reached(confirmed.clone()));
    let stopped = |stop| stopped(stop, &to, &confirmed);
    let limit = loop {
        match sender.largest_record() {
            Some(theirs) => break theirs.min(settings.config.max_record),
            None => thread::sleep(Duration::from_millis(1)),
        }
        watch.tick().map_err(stopped)?;
    };
    let source = send.source(Limit::Gateway(limit))?;
    let pushed = push_all(source, stream, &mut watch).map_err(stopped)?;
    loop {
        match sender.flush(TICK) {
            Ok(()) => break,
            Err(FlushError::Timeout { .. }) => watch.tick().map_err(stopped)?,
            Err(FlushError::Closed) => return Err(stopped(Stop::Died)),
        }
    }
    watch.finish();
    // A gateway that came back with a lower limit never took the records above it.
    let theirs = sender.largest_record().unwrap_or(limit);
    let stored = confirmed.stored_below();
    match pushed.ended {
        Some(fault) => Err(Error::Record { stored, fault: fault.to_string(), large: fault.is_size() }),
        None if pushed.largest > theirs => Err(Error::Record {
            stored,
            fault: format!("the gateway lowered its limit to {theirs} bytes while larger records were on the way"),
            large: true,
        }),
        None => Ok(()),
    }
}

fn reached(confirmed: Confirmed) -> impl Fn() -> Reached {
    move || Reached { pushed: confirmed.next(), received: confirmed.received_below(), stored: confirmed.stored_below() }
}

fn stopped(stop: Stop, to: &HostPort, confirmed: &Confirmed) -> Error {
    let (stored, pushed) = (confirmed.stored_below(), confirmed.next());
    match stop {
        Stop::Interrupted => Error::Interrupted { stored },
        Stop::Timeout | Stop::Died => Error::NotStored { why: stop.to_string(), to: to.clone(), stored, pushed },
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
fn push_all(source: Source, stream: Stream, watch: &mut Watch) -> Result<PushedAll, Stop> {
    let (tell, told) = mpsc::sync_channel(1);
    let work = move || {
        // Nobody listens only when the program is about to end.
        let _ = tell.send(push_from(source, stream));
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
