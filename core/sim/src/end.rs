//! One end: what is on its disk, and what is in its memory while it runs.

use crate::arrays::{Arrays, Sizes};
use crate::audit::{Audit, AuditKey, Book};
use crate::inbox::Inbox;
use crate::ledger::Ledger;
use crate::log::Log;
use crate::outbox::Outbox;
use crate::plan::{GATEWAY, Plan};
use crate::rng::{Rng, mix};
use crate::sending::Out;
use crate::sleeping::Retained;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use tallylink_core::crypto::Psk;
use tallylink_core::{BootSeed, End as Role, Endpoint, Instant, KeyId, OutIx, Path, PeerId, PeerIx, Provision};

/// Where the gateway is.
pub(crate) const GATEWAY_ADDRESS: ([u8; 4], u16) = ([10, 0, 0, 1], 5000);

/// One end of the world.
#[derive(Debug)]
pub(crate) struct End {
    /// Its place among the ends.
    pub(crate) at: usize,
    /// Its address now.
    pub(crate) address: SocketAddr,
    /// Its outboxes on disk, by stream of the world; streams without storage have an empty one.
    pub(crate) outboxes: Vec<Outbox>,
    /// Its journal on disk.
    pub(crate) log: Log,
    /// How often it was started.
    pub(crate) boots: u64,
    /// What it left in retained memory.
    pub(crate) retained: Option<Retained>,
    /// While it runs.
    pub(crate) up: Option<Up>,
}

/// What is in an end's memory.
#[derive(Debug)]
pub(crate) struct Up {
    /// The core.
    pub(crate) endpoint: Endpoint<Audit, Arrays<AuditKey>>,
    /// Where records go.
    pub(crate) inbox: Inbox,
    /// The streams that it sends.
    pub(crate) outs: Vec<Out>,
    /// The journal's writer has something to do at a time that is set.
    pub(crate) writing: bool,
    /// The next sync fails.
    pub(crate) sync_fails: bool,
    /// For which deadline the world will wake it.
    pub(crate) wake_at: u64,
    /// The second in which timeouts were counted, how many there were, and how many packets left.
    pub(crate) second: (u64, u64, u64),
}

/// What the ends of a world share.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// The truth.
    pub(crate) ledger: Rc<RefCell<Ledger>>,
    /// The book of sealed packets.
    pub(crate) book: Rc<RefCell<Book>>,
    /// The seed.
    pub(crate) seed: u64,
}

impl End {
    /// An end that has never run.
    #[must_use]
    pub(crate) fn new(at: usize, streams: usize) -> Self {
        let address = match at {
            GATEWAY => GATEWAY_ADDRESS.into(),
            device => ([10, 1, device as u8, 1], 4000).into(),
        };
        Self {
            at,
            address,
            outboxes: vec![Outbox::default(); streams],
            log: Log::default(),
            boots: 0,
            retained: None,
            up: None,
        }
    }

    /// Starts the end from its disk.
    ///
    /// # Errors
    /// What core refuses of it.
    pub(crate) fn start(&mut self, now: Instant, plan: &Plan, shared: &Shared, rng: &mut Rng) -> Result<(), String> {
        let me = &plan.ends[self.at];
        self.boots += 1;
        self.log.recover(&mut shared.ledger.borrow_mut());
        self.outboxes.iter_mut().for_each(Outbox::recover);
        let peers: Vec<usize> = match self.at {
            GATEWAY => (1..plan.ends.len()).collect(),
            _ => vec![GATEWAY],
        };
        let sent = of(plan, |s| s.sender == self.at);
        let received = of(plan, |s| s.receiver == self.at);
        let sizes = Sizes {
            peers: peers.len(),
            links: me.links.min(peers.len()),
            inbound: received.len(),
            outbound: sent.len(),
            ring: sent.iter().map(|s| plan.streams[*s].ring as usize).sum(),
        };
        let seed = if me.counts_boots {
            BootSeed::counter(self.boots, self.at as u64)
        } else {
            BootSeed::entropy(rng.bytes())
        };
        let crypto = Audit::new(shared.book.clone(), plan.real_crypto);
        let arrays = Arrays::new(&me.config, sizes);
        let mut endpoint = Endpoint::new(me.config.clone(), crypto, arrays, seed)
            .map_err(|e| format!("the limits do not fit: {e}"))?;
        for (ix, peer) in peers.iter().enumerate() {
            let device = self.at.max(*peer);
            let role = if self.at == GATEWAY { Role::Gateway } else { Role::Device };
            let at = PeerIx(ix as u32);
            endpoint
                .add_peer(at, provision(shared.seed, device, role))
                .map_err(|e| format!("a peer was refused: {e}"))?;
            if role == Role::Device && self.retained.is_none() {
                endpoint
                    .connect(now, at, Path::to(GATEWAY_ADDRESS.into()))
                    .map_err(|e| format!("connect was refused: {e}"))?;
            }
        }
        let mut ring = 0;
        let outs = sent
            .iter()
            .enumerate()
            .map(|(ix, stream)| {
                let spec = &plan.streams[*stream];
                let start = ring;
                ring += spec.ring;
                let other = spec.sender.max(spec.receiver);
                let peer = if self.at == GATEWAY { other - 1 } else { 0 };
                Out::new(*stream, OutIx(ix as u32), PeerIx(peer as u32), start..ring)
            })
            .collect();
        let inbox = Inbox::new(me.journal, shared.ledger.clone(), rng.fork(), received, peers, &self.log);
        self.up =
            Some(Up { endpoint, inbox, outs, writing: false, sync_fails: false, wake_at: u64::MAX, second: (0, 0, 0) });
        Ok(())
    }

    /// An application that sleeps has its disks, and no more.
    pub(crate) fn stop(&mut self, plan: &Plan) {
        self.up = None;
        if !plan.ends[self.at].journal.durable {
            self.log = Log::default();
        }
    }

    /// Stops the end without warning. With `power`, what was not synced is lost.
    pub(crate) fn crash(&mut self, plan: &Plan, power: bool, rng: &mut Rng, ledger: &mut Ledger) {
        self.stop(plan);
        if power {
            self.log.power_cut(rng);
            for outbox in &mut self.outboxes {
                let before = outbox.epochs.clone();
                outbox.power_cut(rng);
                for lost in before {
                    let left = outbox.epochs.iter().find(|e| e.epoch == lost.epoch);
                    let left = left.map_or(0, |e| e.written);
                    ledger.source_mut(lost.source).sizes.truncate(left as usize);
                }
            }
        }
    }
}

/// The streams of a plan that `which` picks.
fn of(plan: &Plan, which: impl Fn(&crate::plan::StreamPlan) -> bool) -> Vec<usize> {
    (0..plan.streams.len()).filter(|s| which(&plan.streams[*s])).collect()
}

fn provision(seed: u64, device: usize, role: Role) -> Provision {
    let half = mix(seed ^ device as u64).to_be_bytes();
    let mut key = [0x5a; 16];
    key[..8].copy_from_slice(&half);
    Provision::new(PeerId([0, 0, 0, 0, 0, 0, 0xd0, device as u8]), role, KeyId(1), Psk::from_bytes(key))
}
