//! Streams, as the sender's thread sees them.

use super::feed::Feed;
use super::stream::Shared;
use crate::application::{Application, Stored};
use crate::network::Network;
use crate::receiver::Inflow;
use rtrb::Consumer;
use std::sync::Arc;
use tallylink_core::wire::varint;
use tallylink_core::{Accept, Batch, Deliver, Epoch, Event, Full, InIx, Name, Open, OutIx, PeerIx, PushError, Refusal};

/// The application of a sender: it passes on what is confirmed, and what it receives, if anything.
#[derive(Debug, Default)]
pub(crate) struct Outlets {
    /// Streams that were opened since the thread last looked.
    pub(super) opened: Vec<Lane>,
    /// Somebody waits for a session, although nothing is outstanding.
    pub(super) wanted: bool,
    /// Where received records go.
    pub(super) inflow: Option<Receives>,
    pub(super) told: Vec<Option<Arc<Shared>>>,
}

impl Outlets {
    pub(super) fn add(&mut self, outlet: Outlet) {
        let at = outlet.at.at();
        if self.told.len() <= at {
            self.told.resize(at + 1, None);
        }
        self.told[at] = Some(Arc::clone(&outlet.shared));
        self.opened.push(Lane::Queue(outlet));
    }

    pub(super) fn add_outbox(&mut self, feed: Feed) {
        self.opened.push(Lane::Outbox(feed));
    }
}

/// What a sender receives.
#[derive(Debug)]
pub(super) struct Receives {
    pub(super) inflow: Inflow,
    /// The streams that are taken; none for all.
    pub(super) names: Vec<Name>,
}

impl Outlets {
    fn inflow(&mut self) -> Result<&mut Inflow, Full> {
        self.inflow.as_mut().map(|receives| &mut receives.inflow).ok_or(Full)
    }
}

impl Deliver for Outlets {
    fn open(&mut self, peer: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        let receives = self.inflow.as_mut().ok_or(Refusal::Name)?;
        let names = &receives.names;
        if !names.is_empty() && !names.iter().any(|name| name.as_str() == open.name) {
            return Err(Refusal::Name);
        }
        receives.inflow.open(peer, open)
    }

    fn known(&self, peer: PeerIx, name: &str) -> Option<InIx> {
        self.inflow.as_ref()?.inflow.known(peer, name)
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        self.inflow()?.records(batch)
    }

    fn gap(&mut self, stream: InIx, epoch: Epoch, from: u64, below: u64, reason: u8) -> Result<(), Full> {
        self.inflow()?.gap(stream, epoch, from, below, reason)
    }
}

impl Application for Outlets {
    fn streams(&self) -> u32 {
        self.inflow.as_ref().map_or(0, |receives| receives.inflow.streams())
    }

    fn confirmed(&mut self, stored: Stored) {
        if let Ok(inflow) = self.inflow() {
            inflow.confirmed(stored);
        }
    }

    fn event(&mut self, event: Event) {
        let (at, received, stored) = match event {
            Event::Received(at, below) => (at, below, 0),
            Event::Stored(at, below) => (at, below, below),
            Event::Refused(at, reason) => {
                tracing::warn!("the receiver refuses stream {}, reason {reason}; it is asked again", at.0);
                return;
            }
            Event::Rejected(_, reason) => {
                tracing::warn!("the gateway rejects this sender: {reason:?}; it is asked again");
                return;
            }
            _ => return,
        };
        if let Some(Some(shared)) = self.told.get(at.at()) {
            shared.confirmed(received, stored);
        }
    }
}

/// What a stream's records come from on the network thread.
#[derive(Debug)]
pub(super) enum Lane {
    /// The queue in memory.
    Queue(Outlet),
    /// An outbox on disk.
    Outbox(Feed),
}

impl Lane {
    /// True while something is not STORED.
    pub(super) fn outstanding(&self) -> bool {
        match self {
            Self::Queue(outlet) => outlet.outstanding(),
            Self::Outbox(outlet) => outlet.outstanding(),
        }
    }

    /// True when there is something to move, and room for it.
    pub(super) fn ready(&self, network: &Network<Outlets>) -> bool {
        match self {
            Self::Queue(outlet) => outlet.ready(network),
            Self::Outbox(outlet) => outlet.ready(network),
        }
    }

    /// True when there is nothing to move, or has been no room since.
    pub(super) fn idle(&self) -> bool {
        match self {
            Self::Queue(outlet) => outlet.idle(),
            Self::Outbox(outlet) => outlet.idle(),
        }
    }

    /// Moves what fits to the ring. Returns true when something was moved.
    pub(super) fn pump(&mut self, network: &mut Network<Outlets>) -> bool {
        match self {
            Self::Queue(outlet) => outlet.pump(network),
            Self::Outbox(outlet) => outlet.pump(network),
        }
    }

    /// Passes on what the last turn confirmed; a queue's owner is told by events.
    pub(super) fn confirm(&mut self, network: &Network<Outlets>) {
        if let Self::Outbox(outlet) = self {
            outlet.confirm(network);
        }
    }
}

/// A stream's queue, and where it leads.
#[derive(Debug)]
pub(super) struct Outlet {
    at: OutIx,
    queue: Consumer<u8>,
    shared: Arc<Shared>,
    /// The room of the ring when the next record did not fit.
    full_at: Option<u32>,
}

impl Outlet {
    pub(super) fn new(at: OutIx, queue: Consumer<u8>, shared: Arc<Shared>) -> Self {
        Self { at, queue, shared, full_at: None }
    }

    /// True while something is not STORED.
    pub(super) fn outstanding(&self) -> bool {
        self.shared.outstanding()
    }

    /// True when there is something to move, and room for it.
    pub(super) fn ready(&self, network: &Network<Outlets>) -> bool {
        !self.queue.is_empty() && (self.full_at.is_none() || self.full_at != room(network, self.at))
    }

    /// True when there is nothing to move, or has been no room since.
    pub(super) fn idle(&self) -> bool {
        self.full_at.is_some() || self.queue.is_empty()
    }

    /// Moves what fits from the queue to the ring. Returns true when something was moved.
    pub(super) fn pump(&mut self, network: &mut Network<Outlets>) -> bool {
        if !self.ready(network) {
            return false;
        }
        let Ok(chunk) = self.queue.read_chunk(self.queue.slots()) else {
            return false;
        };
        let (front, back) = chunk.as_slices();
        let mut run = Run { network, at: self.at, moved: 0, full: false };
        if back.is_empty() {
            run.push(front);
        } else {
            run.push_wrapped(front, back);
        }
        let (moved, full) = (run.moved, run.full);
        chunk.commit(moved);
        self.full_at = if full { room(network, self.at) } else { None };
        if moved > 0 {
            self.shared.gate.notify();
        }
        moved > 0
    }
}

fn room(network: &Network<Outlets>, at: OutIx) -> Option<u32> {
    network.stream(at).map(|s| s.room())
}

/// Packed records on their way to a ring.
struct Run<'a> {
    network: &'a mut Network<Outlets>,
    at: OutIx,
    moved: usize,
    full: bool,
}

impl Run<'_> {
    fn push(&mut self, packed: &[u8]) {
        if packed.is_empty() || self.full {
            return;
        }
        match self.network.push_batch(self.at, packed) {
            Ok(pushed) => {
                self.moved += pushed.bytes;
                self.full = pushed.bytes < packed.len();
            }
            Err(why) => {
                debug_assert_eq!(why, PushError::Full, "the stream checked each record");
                self.full = true;
            }
        }
    }

    /// One record may lie across the end of the queue.
    fn push_wrapped(&mut self, front: &[u8], back: &[u8]) {
        let (whole, across) = front.split_at(whole_records(front));
        self.push(whole);
        if across.is_empty() {
            self.push(back);
            return;
        }
        if self.full {
            return;
        }
        let mut head = [0; 8];
        for (to, from) in head.iter_mut().zip(across.iter().chain(back)) {
            *to = *from;
        }
        let Ok((size, len)) = varint::decode(&head) else {
            debug_assert!(false, "the stream writes the sizes");
            return;
        };
        let stored = len + size as usize;
        let bytes = || across.iter().chain(back).skip(len);
        let pushed = self.network.push_with(self.at, size as u32, |a, b| {
            a.iter_mut().chain(b).zip(bytes()).for_each(|(to, from)| *to = *from);
        });
        if pushed.is_err() {
            self.full = true;
            return;
        }
        self.moved += stored;
        self.push(back.get(stored.saturating_sub(across.len())..).unwrap_or(&[]));
    }
}

/// How many bytes of the front are whole records.
fn whole_records(packed: &[u8]) -> usize {
    let mut at = 0;
    while let Some((size, len)) = packed.get(at..).and_then(|rest| varint::decode(rest).ok()) {
        let next = at + len + size as usize;
        if next > packed.len() {
            break;
        }
        at = next;
    }
    at
}
