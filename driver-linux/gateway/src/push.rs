//! `push`: records from standard input or files to a gateway's spool, for a device.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use tallylink_core::Name;
use tallylink_core::wire::varint;
use tallylink_linux::sender::OpenError;

use crate::config::{Bytes, Config, Level};
use crate::downlink::{Place, put, streams_waiting};
use crate::keystore::{KeyStore, StoreError};
use crate::send::source::{Fault, Limit, Source, largest};
use crate::{Error, PeerId, clock, log};

/// The arguments of `push`.
#[derive(Debug, Args)]
pub struct Push {
    /// The device's name or id
    #[arg(value_name = "PEER")]
    peer: String,
    /// The stream's name, 1 to 64 bytes
    #[arg(value_name = "STREAM")]
    stream: String,
    /// Records on standard input begin with their length: 4 bytes, the most significant first
    #[arg(long, conflicts_with = "files")]
    frames: bool,
    /// End only when the device has stored all of them
    #[arg(long)]
    wait: bool,
    /// Give up waiting after so long [default: never]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, requires = "wait")]
    timeout: Option<Duration>,
    /// Files to push, each as one record; without any, the lines of standard input, each with its newline
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Records that are read while others are being written go into one parcel, up to so many bytes.
const PARCEL_BYTES: usize = 1 << 20;
/// How often the device's progress is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Hands all records over, durable when this returns.
///
/// # Errors
/// A wrong argument or an unknown peer, found before anything is read; a record that is too large, or no room for it, when all
/// before it are handed over; with `--wait`, the time limit.
pub fn run(push: &Push, config: &Config) -> Result<(), Error> {
    log::start(config.log.min(Level::Warn));
    let data = config.data_dir();
    let store = KeyStore::in_data_dir(&data);
    let peer = find(&store, &push.peer)?;
    if Name::new(&push.stream).is_none() {
        return Err(Error::Stream { name: push.stream.clone(), why: OpenError::Name });
    }
    largest(&push.files)?;
    let most = u32::try_from(config.downlink_record.0.min(config.max_record.0)).unwrap_or(u32::MAX);
    let source = Source::of_arguments(push.files.clone(), push.frames, Limit::Downlink(most))?;
    let place = Place::in_data_dir(&data);
    let mut counter = Counter { push, store, peer, limit: config.downlink_limit, handed: 0, end: 0, place };
    let read = read_ahead(source)?;
    let mut ended = None;
    while ended.is_none()
        && let Ok(first) = read.recv()
    {
        ended = counter.hand_over(first, &read)?;
    }
    if push.wait {
        counter.wait()?;
    }
    match ended {
        None => Ok(()),
        Some(fault) => {
            let large = fault.is_size();
            Err(Error::NotHandedOver { handed: counter.handed, fault: fault.to_string(), large })
        }
    }
}

fn find(store: &KeyStore, name_or_id: &str) -> Result<PeerId, Error> {
    let contents = store.read()?;
    let peer = contents.peers.find(name_or_id).ok_or_else(|| StoreError::UnknownPeer(name_or_id.to_owned()))?;
    Ok(peer.id)
}

/// What was read at a time: packed records, or why there are no more.
type Read = Result<Vec<u8>, Fault>;

/// Reads on a thread of its own: while records are written, further ones come together.
fn read_ahead(mut source: Source) -> Result<Receiver<Read>, Error> {
    let (tell, told) = mpsc::sync_channel(4);
    let work = move || {
        loop {
            let read = match source.next() {
                Ok([]) => return,
                Ok(packed) => Ok(packed.to_vec()),
                Err(fault) => Err(fault),
            };
            let over = read.is_err();
            if tell.send(read).is_err() || over {
                return;
            }
        }
    };
    thread::Builder::new().name("read".into()).spawn(work).map_err(Error::Network)?;
    Ok(told)
}

/// Where records are handed over.
struct Counter<'a> {
    push: &'a Push,
    store: KeyStore,
    peer: PeerId,
    limit: Bytes,
    /// Records that were handed over.
    handed: u64,
    /// How many the stream had ever been given with the last of them.
    end: u64,
    place: Place,
}

impl Counter<'_> {
    /// Hands over what was read first, and what else is there; back comes why there is no more.
    fn hand_over(&mut self, first: Read, read: &Receiver<Read>) -> Result<Option<Fault>, Error> {
        let (mut packed, mut ended) = (Vec::new(), None);
        let mut next = Some(first);
        while let Some(some) = next {
            match some {
                Ok(some) => packed.extend_from_slice(&some),
                Err(fault) => ended = Some(fault),
            }
            next = if packed.len() < PARCEL_BYTES { read.try_recv().ok() } else { None };
        }
        if !packed.is_empty() {
            self.put(&packed)?;
        }
        Ok(ended)
    }

    fn put(&mut self, packed: &[u8]) -> Result<(), Error> {
        let records = count(packed);
        let place = self.place.of(self.peer);
        let failed = |error| Error::Downlink { dir: place.dir().to_owned(), error };
        let _lock = place.lock().map_err(failed)?;
        // It may have been removed meanwhile, and what waited for it with it.
        find(&self.store, &self.peer.to_string())?;
        let waiting = streams_waiting(&place)?;
        let bytes: u64 = waiting.iter().map(|stream| stream.bytes).sum();
        if bytes + packed.len() as u64 > self.limit.0 {
            return Err(Error::DownlinkFull {
                peer: self.push.peer.clone(),
                waiting: bytes,
                limit: bytesize::ByteSize(self.limit.0),
                handed: self.handed,
                refused: records,
            });
        }
        let ever = waiting.iter().find(|waits| waits.stream == self.push.stream).map_or(0, |waits| waits.ever);
        let spool = place.make_spool(&self.push.stream).map_err(failed)?;
        put(&spool, records, packed).map_err(failed)?;
        self.handed += records;
        self.end = ever + records;
        // Without a gateway there is nobody to hear it.
        match self.place.ring(self.peer) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }

    /// Waits until the device has stored what was handed over.
    fn wait(&self) -> Result<(), Error> {
        let began = clock::monotonic();
        loop {
            let place = self.place.of(self.peer);
            let waiting = streams_waiting(&place)?;
            let now = waiting.iter().find(|waits| waits.stream == self.push.stream);
            if now.is_some_and(|waits| waits.stored() >= self.end) || self.handed == 0 {
                return Ok(());
            }
            if self.is_over(began) || now.is_none() {
                // What waits for a peer that was removed is gone.
                find(&self.store, &self.peer.to_string())?;
                return Err(Error::NotDelivered {
                    peer: self.push.peer.clone(),
                    stream: self.push.stream.clone(),
                    waiting: now.map_or(0, |waits| waits.records),
                });
            }
            thread::sleep(LOOK);
        }
    }

    fn is_over(&self, began: Instant) -> bool {
        self.push.timeout.is_some_and(|timeout| clock::monotonic().saturating_duration_since(began) >= timeout)
    }
}

/// How many records are packed there.
fn count(packed: &[u8]) -> u64 {
    let (mut records, mut rest) = (0, packed);
    while let Ok((size, head)) = varint::decode(rest) {
        records += 1;
        rest = rest.get(head + size as usize..).unwrap_or(&[]);
    }
    records
}
