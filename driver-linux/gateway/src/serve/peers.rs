//! The gateway's peers: those of the key store, as it changes.

use std::collections::HashSet;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tallylink_core::{End, KeyId, PeerIx, Provision, crypto::Psk};
use tallylink_linux::{Network, Remote, network::Gone};
use tracing::{error, info, warn};

use super::ingest::Ingest;
use crate::keystore::{Change, Contents, Entry, Follower, KeyStore, Peer, StoreError};
use crate::{PeerId, Secret};

/// How many peers are handed to the network thread at a time: it goes on receiving in between.
const BATCH: usize = 1024;

/// What became of the peers of the key store since it was looked at last.
#[derive(Debug, Default)]
struct News {
    /// Peers that had no key before, with the first of theirs.
    new: Vec<Provision>,
    /// Peers of which more than that changed: what they have now has to be read.
    changed: HashSet<PeerId>,
    forgotten: bool,
}

/// Keeps the gateway's peers as the key store has them.
#[derive(Debug)]
pub(super) struct Keys {
    store: KeyStore,
    follower: Follower,
    known: HashSet<PeerId>,
}

impl Keys {
    /// Provisions every peer there is.
    ///
    /// # Errors
    /// The key store cannot be read or followed.
    pub(super) fn provision(store: KeyStore, network: &mut Network<Ingest>) -> Result<Self, StoreError> {
        let follower = store.follow()?;
        let mut keys = Self { store, follower, known: HashSet::new() };
        let news = keys.look()?;
        let unfinished = keys.follower.unfinished();
        if unfinished > 0 {
            let file = keys.store.file();
            warn!(
                "the last {unfinished} bytes of {} are no whole line and not used; see `tallylink check`",
                file.display()
            );
        }
        network.reserve_peers(news.new.len());
        let changed = keys.read(&news)?;
        for change in news.new.into_iter().map(Update::Put).chain(changed) {
            change.apply(network);
        }
        Ok(keys)
    }

    /// How many peers there are.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Runs on its own thread and ends with the network. Sleeps until the key store changes.
    pub(super) fn follow(mut self, remote: &Remote<Ingest>) {
        loop {
            let mut fds = [PollFd::new(&self.follower, PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(why) => return error!("changes of the key store are not followed any more: {why}"),
            }
            if self.update(remote) == Err(Gone) {
                return;
            }
        }
    }

    fn update(&mut self, remote: &Remote<Ingest>) -> Result<(), Gone> {
        let news = match self.look() {
            Ok(news) => news,
            Err(why) => {
                warn!("{why}; peers stay as they are");
                return Ok(());
            }
        };
        // A change that cannot be read now is told again by a later one, or by a restart; the rest is not held up.
        let changed = self.read(&news).unwrap_or_else(|why| {
            warn!("{why}; {} peers stay as they are", news.changed.len());
            Vec::new()
        });
        let mut updates: Vec<_> = news.new.into_iter().map(Update::Put).chain(changed).collect();
        if !updates.is_empty() {
            info!("{} peers changed, {} are provisioned now", updates.len(), self.known.len());
        }
        while !updates.is_empty() {
            let some: Vec<_> = updates.drain(..updates.len().min(BATCH)).collect();
            remote.call(move |network| some.into_iter().for_each(|update| update.apply(network)))?;
        }
        Ok(())
    }

    /// What changed since the last look.
    fn look(&mut self) -> Result<News, StoreError> {
        let Self { follower, known, .. } = self;
        let mut news = News::default();
        follower.catch_up(&mut |change| match change {
            Change::Key(entry) => {
                if known.insert(entry.peer) {
                    news.new.push(provision(entry));
                } else {
                    news.changed.insert(entry.peer);
                }
            }
            Change::Gone { peer, .. } => {
                news.changed.insert(peer);
            }
            Change::Damaged(damaged) => {
                warn!("the key store, line {}: {}; that key is not used", damaged.line, damaged.reason);
            }
            Change::Forgotten => news.forgotten = true,
        })?;
        if news.forgotten {
            news.changed.extend(known.iter().copied());
        }
        Ok(news)
    }

    /// What the changed peers have now.
    fn read(&mut self, news: &News) -> Result<Vec<Update>, StoreError> {
        if news.changed.is_empty() {
            return Ok(Vec::new());
        }
        let Contents { peers, .. } = self.store.read()?;
        let update = |id: &PeerId| match peers.by_id(*id) {
            Some(peer) => Update::Put(provision_of(peer)),
            None => Update::Remove(*id),
        };
        let updates: Vec<_> = news.changed.iter().map(update).collect();
        for update in &updates {
            if let Update::Remove(id) = update {
                self.known.remove(id);
            }
        }
        Ok(updates)
    }
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
