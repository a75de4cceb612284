//! The thread that takes what `push` handed over into outboxes, and ends those that are drained (storage §11).
//!
//! ```text
//! push ── parcels ──> this thread ── an outbox for each stream under way ──> network thread ──> device
//! ```
//!
//! A parcel waits on disk until its device has a session: a fleet that sleeps costs neither memory nor files. Then its
//! records go into the stream's outbox, and once they are durable there the parcel is removed. Its mark, the number of records
//! that the outbox had held before, tells after a crash which of them are in there.

mod bell;
mod feeds;
mod line;
mod shared;

pub(super) use feeds::{Feeds, confirm, pump};
pub(super) use shared::{Counts, Shared};

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tallylink_core::Duration as Span;
use tallylink_linux::{Network, Remote, network::Gone};
use tracing::{info, warn};

use super::bridge::Bridge;
use super::health::{Subject, remedy};
use super::ingest::Ingest;
use crate::downlink::{PeerPlace, Place, parcels, streams_waiting};
use crate::keystore::KeyStore;
use crate::{Error, PeerId, clock};
use bell::Bell;
use line::{Line, NotTaken};

/// How many streams may be under way to devices at a time: each takes a thread, a few files and a ring.
const LINES_MAX: usize = 128;
/// How long a drained outbox stays open for more.
const LINGER: Duration = Duration::from_secs(2);
/// A device that was not heard for so long gives its place up when others need it.
const SILENT: Span = Span::from_secs(30);
/// After a failure it is tried again this much later.
const AGAIN: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Downlink {
    place: Place,
    store: KeyStore,
    remote: Remote<Ingest>,
    bridge: Arc<Bridge>,
    shared: Arc<Shared>,
    /// There is none before the data directory could be used.
    bell: Option<Bell>,
    /// Bytes of a stream's ring.
    ring: u32,
    lines: HashMap<(PeerId, String), Line>,
    /// Peers to look at again: something failed, or too many streams were under way.
    again: BTreeSet<PeerId>,
    again_at: Option<Instant>,
    /// Devices that did not answer, and whose outboxes made room for others'.
    asleep: BTreeSet<PeerId>,
}

/// Why a peer is looked at again.
enum Trouble {
    /// The network thread has ended.
    Gone,
    /// The disk, or what is on it.
    Wrong(Error),
    /// There are as many streams under way as may be.
    Crowd,
}

impl Downlink {
    /// `largest` is the size of the largest record that `push` takes.
    pub(super) fn new(
        place: Place,
        store: KeyStore,
        remote: Remote<Ingest>,
        bridge: Arc<Bridge>,
        shared: Arc<Shared>,
        largest: u64,
    ) -> Self {
        let ring = u32::try_from(largest + 8).unwrap_or(u32::MAX).max(64 << 10);
        let (lines, again, asleep) = (HashMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { place, store, remote, bridge, shared, bell: None, ring, lines, again, again_at: None, asleep }
    }

    /// Runs on its own thread and ends with the network.
    pub(super) fn run(mut self) {
        while self.turn().is_ok() {
            let looks = if self.asleep.is_empty() { None } else { clock::monotonic().checked_add(AGAIN) };
            let closes = self.lines.values().filter_map(|line| line.closes_at(LINGER));
            let due = closes.chain(self.again_at).chain(looks).min();
            bell::wait(self.bell.as_ref(), &self.shared, due);
        }
    }

    fn turn(&mut self) -> Result<(), Gone> {
        let called = self.shared.take();
        if self.bell.is_none()
            && let Err(error) = self.begin()
        {
            self.failed(&Error::Downlink { dir: self.place.dir().to_owned(), error });
            self.again_at = clock::monotonic().checked_add(AGAIN);
        }
        for peer in called.removed {
            let removed = self.remove(PeerId(peer));
            self.settle(PeerId(peer), removed)?;
        }
        let mut peers: BTreeSet<PeerId> = called.heard.into_iter().map(PeerId).collect();
        match self.place.rung() {
            Ok(rung) => peers.extend(rung),
            Err(error) => self.failed(&Error::Downlink { dir: self.place.dir().to_owned(), error }),
        }
        let now = clock::monotonic();
        if self.again_at.is_some_and(|at| at <= now) {
            self.again_at = None;
            peers.append(&mut self.again);
        }
        if !self.asleep.is_empty() {
            peers.extend(self.awake()?);
        }
        for peer in peers {
            let served = self.serve(peer);
            self.settle(peer, served)?;
        }
        self.close_drained()?;
        if self.again.is_empty() && self.bell.is_some() {
            self.bridge.health.right(Subject::Downlink);
        }
        Ok(())
    }

    /// Makes what `push` looks for, and finds what waits: it is looked at as if it had just come.
    fn begin(&mut self) -> io::Result<()> {
        self.place.make()?;
        let bell = Bell::watch(&self.place.bells())?;
        self.again.extend(self.place.peers()?);
        (self.bell, self.again_at) = (Some(bell), Some(clock::monotonic()));
        Ok(())
    }

    fn settle(&mut self, peer: PeerId, done: Result<(), Trouble>) -> Result<(), Gone> {
        match done {
            Ok(()) => return Ok(()),
            Err(Trouble::Gone) => return Err(Gone),
            Err(Trouble::Crowd) => {}
            Err(Trouble::Wrong(why)) => self.failed(&why),
        }
        self.again.insert(peer);
        let at = clock::monotonic() + AGAIN;
        self.again_at.get_or_insert(at);
        Ok(())
    }

    fn failed(&self, why: &Error) {
        let what = format!("{why}; what was pushed stays there");
        self.bridge.health.wrong(Subject::Downlink, what, remedy(io::ErrorKind::Other));
    }

    /// Takes what waits for a peer, if it has a session.
    fn serve(&mut self, peer: PeerId) -> Result<(), Trouble> {
        let place = self.place.of(peer);
        let id = tallylink_core::PeerId(peer.0);
        // Before its session is looked for: one that comes after this is told.
        self.shared.expect(peer.0);
        let found = self.remote.call(move |network| {
            network.find_peer(id).map(|at| network.peer(at).is_some_and(tallylink_core::Peer::has_session))
        })?;
        let Some(session) = found else { return self.remove(peer) };
        let mut waits = false;
        for stream in place.streams().map_err(|error| failed(&place, error))? {
            waits |= self.serve_stream(peer, &place, stream, session)?;
        }
        if !waits {
            self.shared.unexpect(peer.0);
        }
        Ok(())
    }

    /// True when something waits for a session.
    fn serve_stream(
        &mut self,
        peer: PeerId,
        place: &PeerPlace,
        stream: String,
        session: bool,
    ) -> Result<bool, Trouble> {
        let spool = place.spool(&stream);
        let waiting = parcels(&spool).map_err(|error| failed(place, error))?;
        let key = (peer, stream);
        let open = self.lines.contains_key(&key);
        if !open && waiting.is_empty() && crate::outbox::held(&place.outbox(&key.1))?.waiting == 0 {
            return Ok(false);
        }
        if !open && !session {
            return Ok(true);
        }
        if !open {
            if self.lines.len() >= LINES_MAX && !self.make_room(peer)? {
                return Err(Trouble::Crowd);
            }
            place.make_outboxes().map_err(|error| failed(place, error))?;
            let line = Line::open(place.outbox(&key.1), peer, &key.1, &self.remote, &self.shared, self.ring)?;
            self.lines.insert(key.clone(), line);
        }
        if let Some(line) = self.lines.get_mut(&key) {
            for parcel in waiting {
                line.take(parcel, &self.shared).map_err(|why| match why {
                    NotTaken::Disk(error) => failed(place, error),
                    NotTaken::Outbox(why) => Trouble::Wrong(why),
                })?;
            }
        }
        Ok(false)
    }

    /// Ends the outboxes of which everything is STORED.
    fn close_drained(&mut self) -> Result<(), Gone> {
        let due: Vec<_> =
            self.lines.iter_mut().filter_map(|(key, line)| line.is_over(LINGER).then(|| key.clone())).collect();
        for key in due {
            let Some(mut line) = self.lines.remove(&key) else { continue };
            if !line.detach(&self.remote)? {
                line.linger();
                self.lines.insert(key, line);
                continue;
            }
            drop(line);
            // What came while it ended found it open.
            let served = self.serve(key.0);
            self.settle(key.0, served)?;
        }
        Ok(())
    }

    /// Ends the outbox of a device that does not answer, if there is one: what it holds waits on disk like a parcel.
    fn make_room(&mut self, for_peer: PeerId) -> Result<bool, Gone> {
        let silent = |network: &Network<Ingest>, peer: PeerId| {
            let at = network.find_peer(tallylink_core::PeerId(peer.0)).and_then(|at| network.peer(at));
            at.is_none_or(|p| !p.has_session() || network.now().since(p.heard()) > SILENT)
        };
        let keys: Vec<_> = self.lines.keys().filter(|(peer, _)| *peer != for_peer).cloned().collect();
        for key in keys {
            let peer = key.0;
            if !self.remote.call(move |network| silent(network, peer))? {
                continue;
            }
            if let Some(line) = self.lines.remove(&key) {
                if line.detach(&self.remote)? {
                    self.shared.expect(peer.0);
                    self.asleep.insert(peer);
                    return Ok(true);
                }
                self.lines.insert(key, line);
            }
        }
        Ok(false)
    }

    /// Devices whose outbox was ended, and that were heard since: one whose session still lives tells so by nothing else.
    fn awake(&mut self) -> Result<Vec<PeerId>, Gone> {
        let asleep: Vec<_> = self.asleep.iter().copied().collect();
        let awake = self.remote.call(move |network| {
            let heard = |peer: &PeerId| {
                let at = network.find_peer(tallylink_core::PeerId(peer.0)).and_then(|at| network.peer(at));
                at.is_none_or(|p| p.has_session() && network.now().since(p.heard()) < SILENT)
            };
            asleep.into_iter().filter(heard).collect::<Vec<_>>()
        })?;
        awake.iter().for_each(|peer| {
            self.asleep.remove(peer);
        });
        Ok(awake)
    }

    /// A peer is gone, and what waited for it goes too; unless it is only not to be read in the key store.
    fn remove(&mut self, peer: PeerId) -> Result<(), Trouble> {
        self.lines.retain(|(whose, _), _| *whose != peer);
        let place = self.place.of(peer);
        if !place.dir().exists() {
            self.shared.unexpect(peer.0);
            return Ok(());
        }
        let _lock = place.lock().map_err(|error| failed(&place, error))?;
        let known = self.store.read().map_err(|why| Trouble::Wrong(why.into()))?;
        if known.peers.by_id(peer).is_some() {
            // It was added again meanwhile, or is about to be known to the network: its session will tell.
            self.shared.expect(peer.0);
            return Ok(());
        }
        let records: u64 = streams_waiting(&place)?.iter().map(|waits| waits.records).sum();
        if !known.damaged.is_empty() || known.unfinished > 0 || !self.store.file().exists() {
            warn!("{records} records wait for {peer}, which the damaged key store does not name: they are kept");
            return Ok(());
        }
        place.remove().map_err(|error| failed(&place, error))?;
        self.shared.unexpect(peer.0);
        self.shared.counts.removed(records);
        info!("{peer} was removed, and {records} records that waited for it with it");
        Ok(())
    }
}

impl From<Gone> for Trouble {
    fn from(Gone: Gone) -> Self {
        Self::Gone
    }
}

impl From<Error> for Trouble {
    fn from(why: Error) -> Self {
        Self::Wrong(why)
    }
}

fn failed(place: &PeerPlace, error: io::Error) -> Trouble {
    Trouble::Wrong(Error::Downlink { dir: place.dir().to_owned(), error })
}
