//! The gateway's peers: those of the key store, as it changes.

use std::collections::HashSet;
use std::fs;
use std::mem;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tallylink_core::{End, KeyId, PeerIx, Provision, crypto::Psk};
use tallylink_linux::{Network, Remote, network::Gone};
use tracing::{info, warn};

use super::bridge::Bridge;
use super::health::Subject;
use super::ingest::Ingest;
use crate::keystore::{Change, Contents, Damaged, Entry, Follower, KeyStore, Peer, StoreError};
use crate::{PeerId, Secret};

/// How many peers are handed to the network thread at a time: it goes on receiving in between.
const BATCH: usize = 1024;
/// How long after a failure the key store is looked at again, should nothing tell of a change before.
const AGAIN: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// However fast failures follow one another, they are this far apart.
const PAUSE: Duration = Duration::from_millis(100);
/// What a person can do about it.
const REMEDY: &str = "put it back or mend it, and they are read by themselves";

/// What became of the peers of the key store since it was looked at last.
#[derive(Debug, Default)]
struct News {
    /// Keys that were told, each as if it were the first of a peer that is not provisioned yet.
    told: Vec<Provision>,
    /// Peers of which more than that changed: what they have now has to be read.
    changed: HashSet<PeerId>,
    forgotten: bool,
}

/// Keeps the gateway's peers as the key store has them. Which there are is known to the network alone: there may be a million.
#[derive(Debug)]
pub(super) struct Keys {
    store: KeyStore,
    follower: Follower,
    /// How many peers are provisioned.
    count: usize,
    /// Peers that changed and could not be read yet.
    unread: HashSet<PeerId>,
    bridge: Arc<Bridge>,
}

impl Keys {
    /// Provisions every peer there is.
    ///
    /// # Errors
    /// The key store cannot be read or followed.
    pub(super) fn provision(
        store: KeyStore,
        network: &mut Network<Ingest>,
        bridge: Arc<Bridge>,
    ) -> Result<Self, StoreError> {
        let follower = store.follow()?;
        let expected = store.expected_peers();
        network.reserve_peers(expected);
        network.application_mut().reserve_peers(expected);
        let mut keys = Self { store, follower, count: 0, unread: HashSet::new(), bridge };
        let mut changed = HashSet::new();
        keys.follower.catch_up(&mut |change| match change {
            // One at a time: a list of them all would be there once more for a moment.
            Change::Key(entry) => changed.extend(put_if_new(network, provision(entry))),
            Change::Gone { peer, .. } => {
                changed.insert(peer);
            }
            Change::Damaged(damaged) => warn_of(&damaged),
            // Nothing was told before.
            Change::Forgotten => {}
        })?;
        let unfinished = keys.follower.unfinished();
        if unfinished > 0 {
            let file = keys.store.file();
            warn!(
                "the last {unfinished} bytes of {} are no whole line and not used; see `tallylink check`",
                file.display()
            );
        }
        for update in keys.read(&changed)? {
            update.apply(network);
        }
        keys.count = network.peers();
        Ok(keys)
    }

    /// How many peers there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Runs on its own thread and ends with the network. Sleeps until the key store changes, or for a moment where it
    /// could not be read.
    pub(super) fn follow(mut self, remote: &Remote<Ingest>) {
        let mut at_most = None;
        loop {
            let mut fds = [PollFd::new(&self.follower, PollFlags::IN)];
            let polled = poll(&mut fds, at_most.as_ref());
            let done = match polled {
                Ok(_) | Err(Errno::INTR) => self.update(remote),
                Err(why) => Ok(Err(StoreError::Read { file: self.store.file(), error: why.into() })),
            };
            at_most = match done {
                Err(Gone) => return,
                Ok(Ok(())) => {
                    self.bridge.health.right(Subject::Keys);
                    None
                }
                Ok(Err(why)) => {
                    let what = format!("{why}; the {} peers stay as they are", self.count);
                    self.bridge.health.wrong(Subject::Keys, what, REMEDY);
                    // Whatever it was: not at once again.
                    thread::sleep(PAUSE);
                    Some(AGAIN)
                }
            };
        }
    }

    /// Learns what changed, as far as it can be read, and tells the network.
    fn update(&mut self, remote: &Remote<Ingest>) -> Result<Result<(), StoreError>, Gone> {
        let (news, looked) = match self.look() {
            Ok(news) => (news, Ok(())),
            Err(why) => (News::default(), Err(why)),
        };
        let mut updated = 0;
        let mut wanted = mem::take(&mut self.unread);
        wanted.extend(news.changed);
        let told = news.told.len();
        let known = in_batches(news.told, remote, |network, told| {
            told.into_iter().filter_map(|provision| put_if_new(network, provision)).collect::<Vec<_>>()
        })?;
        let known: Vec<_> = known.into_iter().flatten().collect();
        updated += told - known.len();
        wanted.extend(known);
        if news.forgotten {
            wanted.extend(all_peers(remote)?);
        }
        let (changed, read) = match self.read(&wanted) {
            Ok(changed) => (changed, Ok(())),
            Err(why) => {
                self.unread = wanted;
                (Vec::new(), Err(why))
            }
        };
        updated += changed.len();
        in_batches(changed, remote, |network, some| some.into_iter().for_each(|update| update.apply(network)))?;
        if updated > 0 {
            self.count = remote.call(|network| network.peers())?;
            info!("{updated} peers changed, {} are provisioned now", self.count);
        }
        Ok(looked.and(read).and_then(|()| self.is_there()))
    }

    /// A key store that is gone revokes nothing, but somebody should know.
    fn is_there(&self) -> Result<(), StoreError> {
        let file = self.store.file();
        match fs::metadata(&file) {
            Err(error) if self.count > 0 => Err(StoreError::Read { file, error }),
            _ => Ok(()),
        }
    }

    /// What changed since the last look.
    fn look(&mut self) -> Result<News, StoreError> {
        let mut news = News::default();
        self.follower.catch_up(&mut |change| match change {
            Change::Key(entry) => news.told.push(provision(entry)),
            Change::Gone { peer, .. } => {
                news.changed.insert(peer);
            }
            Change::Damaged(damaged) => warn_of(&damaged),
            Change::Forgotten => news.forgotten = true,
        })?;
        Ok(news)
    }

    /// What the changed peers have now.
    fn read(&self, changed: &HashSet<PeerId>) -> Result<Vec<Update>, StoreError> {
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        let Contents { peers, .. } = self.store.read()?;
        if peers.is_empty() {
            // A store that is not there reads as an empty one.
            self.is_there()?;
        }
        let update = |id: &PeerId| match peers.by_id(*id) {
            Some(peer) => Update::Put(provision_of(peer)),
            None => Update::Remove(*id),
        };
        Ok(changed.iter().map(update).collect())
    }
}

/// Has the network thread work on a list, part by part.
fn in_batches<T: Send + 'static, R: Send + 'static>(
    mut list: Vec<T>,
    remote: &Remote<Ingest>,
    work: impl Fn(&mut Network<Ingest>, Vec<T>) -> R + Copy + Send + 'static,
) -> Result<Vec<R>, Gone> {
    let mut done = Vec::new();
    while !list.is_empty() {
        let some: Vec<_> = list.drain(..list.len().min(BATCH)).collect();
        done.push(remote.call(move |network| work(network, some))?);
    }
    Ok(done)
}

/// Every peer that the network has.
fn all_peers(remote: &Remote<Ingest>) -> Result<Vec<PeerId>, Gone> {
    let mut all = Vec::new();
    for from in (0..).step_by(BATCH) {
        let (some, more) = remote.call(move |network| {
            let part = network.endpoint().storage().peers().get(from..).unwrap_or_default();
            let some = part.iter().take(BATCH).filter(|peer| peer.in_use()).map(|peer| PeerId(peer.id().0));
            (some.collect::<Vec<_>>(), part.len() > BATCH)
        })?;
        all.extend(some);
        if !more {
            break;
        }
    }
    Ok(all)
}

fn warn_of(damaged: &Damaged) {
    warn!("the key store, line {}: {}; that key is not used", damaged.line, damaged.reason);
}

/// Provisions a peer that is not there yet. One that is comes back: what it has now has to be read.
fn put_if_new(network: &mut Network<Ingest>, provision: Provision) -> Option<PeerId> {
    let id = provision.id;
    if network.find_peer(id).is_some() {
        return Some(PeerId(id.0));
    }
    put(network, provision);
    None
}

/// One change of a peer.
#[derive(Debug)]
enum Update {
    Put(Provision),
    Remove(PeerId),
}

impl Update {
    fn apply(self, network: &mut Network<Ingest>) {
        match self {
            Self::Put(provision) => put(network, provision),
            Self::Remove(id) => {
                if let Some(at) = network.find_peer(tallylink_core::PeerId(id.0)) {
                    network.remove_peer(at);
                }
            }
        }
    }
}

fn put(network: &mut Network<Ingest>, provision: Provision) {
    let id = provision.id;
    let done = match network.find_peer(id) {
        Some(at) => network.set_keys(at, provision).map_err(|why| why.to_string()),
        None => network.add_peer(provision).map_err(|why| why.to_string()).map(|at: PeerIx| {
            network.application_mut().placed(at, id);
        }),
    };
    if let Err(why) = done {
        warn!("the peer {id} cannot be provisioned: {why}");
    }
}

fn provision(entry: Entry) -> Provision {
    let id = tallylink_core::PeerId(entry.peer.0);
    Provision::new(id, End::Gateway, KeyId(entry.key_id), psk(&entry.secret))
}

fn provision_of(peer: &Peer) -> Provision {
    let mut keys = [const { None }; 2];
    // The newest first.
    for (slot, entry) in keys.iter_mut().rev().zip(peer.entries()) {
        *slot = Some((KeyId(entry.key_id), psk(&entry.secret)));
    }
    keys.sort_by_key(Option::is_none);
    Provision { id: tallylink_core::PeerId(peer.id.0), end: End::Gateway, keys }
}

fn psk(secret: &Secret) -> Psk {
    Psk::from_bytes(*secret.expose())
}
