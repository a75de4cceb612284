//! The world: a queue of moments, and what happens at each.

use crate::end::{End, GATEWAY_ADDRESS, Shared};
use crate::ledger::Ledger;
use crate::network::Direction;
use crate::outbox::Outbox;
use crate::plan::{GATEWAY, Plan};
use crate::report::{Failure, Report};
use crate::rng::Rng;
use crate::stranger::{Datagram, Stranger};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use tallylink_core::{Ecn, Instant};

/// All limits of time are for paths of this delay, and longer on slower ones.
const DELAY_US: u64 = 300_000;
/// The world may be unkind for this long at the most.
const UNKIND_US: u64 = 40_000_000_000;
/// When nothing goes wrong any more, everything is STORED within this time.
const PROGRESS_US: u64 = 900_000_000;
/// What is still said when everything is STORED is said within this time.
const SETTLE_US: u64 = 200_000_000;
/// Then nothing is sent for as long as one looks.
const IDLE_US: u64 = 300_000_000;

/// Deviations that show that the world notices when something is missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sabotage {
    /// The receiver reports records as stored without syncing them.
    pub no_sync: bool,
    /// A device that wakes up leaves its image where it is.
    pub image_kept: bool,
}

/// Something that will happen.
#[derive(Clone, Debug)]
pub(crate) enum Happens {
    /// A datagram arrives.
    Arrival(Datagram),
    /// An end's deadline: its boot, so that an earlier boot's deadlines are nobody's.
    Wake(usize, u64),
    /// A stream's application has records.
    Produce(usize),
    /// An outbox's sync returns: stream, boot, and the outbox when it began.
    OutboxSynced(usize, u64, Outbox),
    /// A journal's writer has gathered enough: end, boot.
    Write(usize, u64),
    /// A journal's sync returns: end, boot, entries.
    JournalSynced(usize, u64, usize),
    /// A stopped end starts.
    Start(usize),
}

/// A seeded world.
pub struct World {
    pub(crate) seed: u64,
    pub(crate) plan: Plan,
    pub(crate) rng: Rng,
    pub(crate) now: u64,
    queue: BTreeMap<(u64, u64), Happens>,
    queued: u64,
    pub(crate) ends: Vec<End>,
    /// From and to each end's device.
    pub(crate) paths: Vec<[Direction; 2]>,
    pub(crate) shared: Shared,
    pub(crate) stranger: Stranger,
    pub(crate) next_fault: usize,
    pub(crate) produced: Vec<u64>,
    pub(crate) calm: bool,
    pub(crate) sabotage: Sabotage,
    pub(crate) trace: bool,
    pub(crate) report: Report,
}

impl World {
    /// The world of a seed, before its first moment.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::of(seed, Plan::draw(seed))
    }

    pub(crate) fn of(seed: u64, plan: Plan) -> Self {
        let limits = plan.streams.iter().map(|s| plan.ends[s.receiver].config.max_record).collect();
        let keeps = plan.streams.iter().map(|s| plan.ends[s.receiver].journal.durable).collect();
        let ledger = Ledger::new(seed, plan.streams.clone(), limits, keeps);
        let direction = |end: usize| {
            let path = &plan.paths[end];
            [Direction::new(path.clone()), Direction::new(path.clone())]
        };
        Self {
            seed,
            rng: Rng::new(!seed),
            now: 0,
            queue: BTreeMap::new(),
            queued: 0,
            ends: (0..plan.ends.len()).map(|e| End::new(e, plan.streams.len())).collect(),
            paths: (0..plan.ends.len()).map(direction).collect(),
            shared: Shared { ledger: Rc::new(RefCell::new(ledger)), book: Rc::default(), seed },
            stranger: Stranger::default(),
            next_fault: 0,
            produced: vec![0; plan.streams.len()],
            calm: false,
            sabotage: Sabotage::default(),
            trace: false,
            report: Report::default(),
            plan,
        }
    }

    /// Prints everything that happens.
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.trace = true;
        self
    }

    /// Leaves something out that the guarantees depend on.
    #[must_use]
    pub fn sabotaged(mut self, sabotage: Sabotage) -> Self {
        self.sabotage = sabotage;
        self
    }

    /// Lives through the whole world.
    ///
    /// # Errors
    /// The first broken promise.
    pub fn run(mut self) -> Result<Report, Failure> {
        let lived = self.live();
        let sleeping = self.plan.sleeps;
        lived.map_err(|what| Failure { seed: self.seed, sleeping, at_us: self.now, what })?;
        self.report.virtual_us = self.now;
        Ok(self.report)
    }

    fn live(&mut self) -> Result<(), String> {
        let plan = format!("{:#?}", self.plan);
        self.note(|| plan);
        for end in 0..self.ends.len() {
            self.after(0, Happens::Start(end));
        }
        for stream in 0..self.plan.streams.len() {
            self.after(0, Happens::Produce(stream));
        }
        let slowest = self.plan.paths.iter().map(|p| p.delay_us).max().unwrap_or(0);
        let patience = slowest.div_ceil(DELAY_US).max(1);
        self.happen_until(UNKIND_US * patience, |w| {
            w.next_fault == w.plan.faults.len() && w.report.packets >= w.plan.packets && w.all_up()
        })?
        .ok_or("the unkind part of the world has no end")?;
        self.calm_down();
        self.happen_until(self.now + PROGRESS_US * patience, Self::finished)?.ok_or_else(|| self.unfinished())?;
        self.audit()?;
        self.rest(patience)
    }

    /// Nothing is sent, and nothing wakes, when there is nothing to say.
    fn rest(&mut self, patience: u64) -> Result<(), String> {
        self.happen_until(self.now + SETTLE_US * patience, |_| false)?;
        let (packets, wakes) = (self.report.packets, self.report.wakes);
        self.happen_until(self.now + IDLE_US * patience, |_| false)?;
        let polls = self.plan.ends.iter().any(|e| e.config.poll.is_some());
        if !polls && (self.report.packets, self.report.wakes) != (packets, wakes) {
            let (sent, woken) = (self.report.packets - packets, self.report.wakes - wakes);
            return Err(format!("an idle world sent {sent} packets and woke {woken} times"));
        }
        self.audit()
    }

    /// Goes on until `done` or the time is over. `None`: it was over first.
    fn happen_until(&mut self, until: u64, done: impl Fn(&mut Self) -> bool) -> Result<Option<()>, String> {
        loop {
            if done(self) {
                return Ok(Some(()));
            }
            let Some(((at, _), _)) = self.queue.first_key_value() else {
                self.now = until;
                return Ok(None);
            };
            if *at > until {
                self.now = until;
                return Ok(None);
            }
            let Some(((at, _), happens)) = self.queue.pop_first() else {
                return Ok(None);
            };
            self.now = at;
            self.happens(happens)?;
            self.break_things()?;
            if let Some((key, number)) = self.shared.book.borrow().reused {
                return Err(format!("key {key:016x} sealed two packets as number {number}"));
            }
        }
    }

    fn happens(&mut self, happens: Happens) -> Result<(), String> {
        match happens {
            Happens::Arrival(datagram) => self.arrives(datagram),
            Happens::Wake(end, boot) => self.wakes(end, boot),
            Happens::Produce(stream) => self.produces(stream),
            Happens::OutboxSynced(stream, boot, then) => self.outbox_synced(stream, boot, &then),
            Happens::Write(end, boot) => self.writes(end, boot),
            Happens::JournalSynced(end, boot, to) => self.journal_synced(end, boot, to),
            Happens::Start(end) => self.starts(end),
        }
    }

    fn starts(&mut self, end: usize) -> Result<(), String> {
        if self.ends[end].up.is_some() {
            return Ok(());
        }
        self.note(|| format!("end {end} starts"));
        self.audit()?;
        let now = self.time();
        self.ends[end].start(now, &self.plan, &self.shared, &mut self.rng)?;
        if !self.wakes_up(end)? {
            return Ok(());
        }
        if self.calm
            && let Some(up) = &mut self.ends[end].up
        {
            up.inbox.calm();
        }
        self.turn(end)
    }

    /// Something happens later.
    pub(crate) fn after(&mut self, us: u64, happens: Happens) {
        self.queued += 1;
        self.queue.insert((self.now + us, self.queued), happens);
    }

    pub(crate) fn time(&self) -> Instant {
        Instant::from_micros(self.now)
    }

    /// The end that has this address now.
    pub(crate) fn end_at(&self, address: SocketAddr) -> Option<usize> {
        self.ends.iter().position(|e| e.address == address)
    }

    /// A datagram leaves.
    pub(crate) fn sends(&mut self, from: usize, to: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        self.report.packets += 1;
        self.report.bytes += bytes.len() as u64;
        let mut datagram = Datagram { from: self.ends[from].address, to, ecn, bytes: bytes.to_vec() };
        self.stranger.read(&datagram, &mut self.rng);
        let interferes = !self.calm && self.rng.chance(self.plan.stranger);
        if interferes && let Some(sent) = self.stranger.act(&mut self.rng) {
            let delay = self.rng.pick(&[0, 1_000, 1_000_000]);
            self.note(|| format!("a stranger sends {} B to {}", sent.bytes.len(), sent.to));
            self.after(delay, Happens::Arrival(sent));
        }
        if interferes && self.rng.chance(100) {
            // The stranger passes it on under an address of its own.
            datagram.from = crate::stranger::address();
        }
        let Some(other) = self.end_at(to) else {
            return;
        };
        let (device, way) = if from == GATEWAY { (other, 1) } else { (from, 0) };
        let arrivals = self.paths[device][way].send(self.now, ecn, &datagram.bytes, &mut self.rng);
        if arrivals.is_empty() {
            self.note(|| format!("lost: {} B to {to}", bytes.len()));
        }
        for arrival in arrivals {
            let datagram = Datagram { bytes: arrival.bytes, ecn: arrival.ecn, ..datagram };
            self.after(arrival.at - self.now, Happens::Arrival(datagram));
        }
    }

    pub(crate) fn note(&self, what: impl FnOnce() -> String) {
        if self.trace {
            println!("{:>13} {}", self.now, what());
        }
    }

    fn all_up(&self) -> bool {
        self.ends.iter().all(|e| e.up.is_some())
    }

    /// Where the gateway is.
    pub(crate) fn gateway() -> SocketAddr {
        GATEWAY_ADDRESS.into()
    }
}
