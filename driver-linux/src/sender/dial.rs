//! Finding the gateway: its name is resolved at each try, and its addresses are tried in turn.

#[cfg(test)]
mod tests;

use super::outlets::Outlets;
use crate::network::{Network, Remote};
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;
use tallylink_core::{Duration as Span, Instant, PeerIx};

/// How long an address has before the next one is tried; it doubles with each try.
const FIRST_TRY: Span = Span::from_secs(2);
/// The longest time between two tries.
const LAST_TRY: Span = Span::from_secs(30);
/// A gateway that has been silent for so long, with something outstanding, may have moved.
const SILENT: Span = Span::from_secs(15);

/// Turns a name into addresses.
type Resolve = Arc<dyn Fn(&str) -> std::io::Result<Vec<SocketAddr>> + Send + Sync>;

/// Where the gateway is, or may be.
pub(super) struct Dial {
    to: Arc<str>,
    peer: PeerIx,
    remote: Remote<Outlets>,
    resolve: Resolve,
    /// The addresses that the name had last.
    addresses: Vec<SocketAddr>,
    current: Option<SocketAddr>,
    answer: Option<Receiver<Vec<SocketAddr>>>,
    tries: u32,
    next_try: Instant,
}

impl Dial {
    pub(super) fn new(to: &str, peer: PeerIx, remote: Remote<Outlets>) -> Self {
        Self::with(to, peer, remote, Arc::new(|to| to.to_socket_addrs().map(Iterator::collect)))
    }

    fn with(to: &str, peer: PeerIx, remote: Remote<Outlets>, resolve: Resolve) -> Self {
        Self {
            to: to.into(),
            peer,
            remote,
            resolve,
            addresses: Vec::new(),
            current: None,
            answer: None,
            tries: 0,
            next_try: Instant::from_micros(0),
        }
    }

    /// Tries the next address when the one before does not answer. Returns when it must be called again at the latest.
    pub(super) fn turn(&mut self, network: &mut Network<Outlets>, outstanding: bool) -> Option<Duration> {
        let now = network.now();
        self.take_answer(network);
        let (lives, heard) = network.peer(self.peer).map_or((false, now), |p| (p.has_session(), p.heard()));
        let fresh = lives && now.since(heard) < SILENT;
        if fresh {
            (self.tries, self.next_try) = (0, heard + SILENT);
        }
        // The first address is looked for at once, so that the first record need not wait for it.
        if self.answer.is_some() || fresh || (!outstanding && self.current.is_some()) {
            return (outstanding && self.answer.is_none()).then(|| left(now, self.next_try));
        }
        if now >= self.next_try {
            self.next_try = now + FIRST_TRY.doubled(self.tries).min(LAST_TRY);
            self.tries = self.tries.saturating_add(1).min(8);
            self.ask(network);
        }
        Some(left(now, self.next_try))
    }

    /// Asks for the addresses. An address needs no resolver, and must not wait for a thread.
    fn ask(&mut self, network: &mut Network<Outlets>) {
        if let Ok(address) = self.to.parse() {
            self.choose(network, vec![address]);
            return;
        }
        let (tell, told) = sync_channel(1);
        let (to, resolve, remote) = (Arc::clone(&self.to), Arc::clone(&self.resolve), self.remote.clone());
        let asked = thread::Builder::new()
            .name("tallylink-resolve".into())
            .spawn(move || answer(&to, &*resolve, &tell, &remote));
        match asked {
            Ok(_) => self.answer = Some(told),
            Err(e) => tracing::warn!("no thread to resolve {}: {e}", self.to),
        }
    }

    fn take_answer(&mut self, network: &mut Network<Outlets>) {
        let Some(answer) = &self.answer else {
            return;
        };
        match answer.try_recv() {
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => self.answer = None,
            Ok(addresses) => {
                self.answer = None;
                self.choose(network, addresses);
            }
        }
    }

    /// Tries the address after the one that did not answer.
    fn choose(&mut self, network: &mut Network<Outlets>, addresses: Vec<SocketAddr>) {
        if addresses.is_empty() {
            return;
        }
        self.addresses = addresses;
        let tried = self.addresses.iter().position(|a| Some(*a) == self.current);
        let next = tried.map_or(0, |at| (at + 1) % self.addresses.len());
        self.current = self.addresses.get(next).copied();
        if let Some(address) = self.current
            && let Err(e) = network.connect(self.peer, address)
        {
            tracing::error!("{address} cannot be connected to: {e}");
        }
    }
}

/// The thread of one question.
fn answer(
    to: &str,
    resolve: &(dyn Fn(&str) -> std::io::Result<Vec<SocketAddr>> + Send + Sync),
    tell: &SyncSender<Vec<SocketAddr>>,
    remote: &Remote<Outlets>,
) {
    let addresses = resolve(to).unwrap_or_else(|e| {
        tracing::warn!("{to} cannot be resolved: {e}");
        Vec::new()
    });
    // When the sender has stopped, nobody wants to know.
    let _ = tell.send(addresses);
    let _ = remote.run(|_| {});
}

fn left(now: Instant, until: Instant) -> Duration {
    Duration::from_micros(until.since(now).as_micros())
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dial").field("to", &self.to).field("current", &self.current).finish_non_exhaustive()
    }
}
