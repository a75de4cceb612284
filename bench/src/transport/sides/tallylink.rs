//! Tallylink: one stream from one sender, records pushed in packed batches, taken by the receiver where they were decrypted.
//! A record counts as stored once it was checked; quinn's receiver does no more.
use std::{
    net::SocketAddr,
    sync::{Arc, mpsc},
    time::Duration,
};

use anyhow::{Context, Result};
use tallylink_core::{
    Accept, Batch, Config, Deliver, End as Role, Epoch, EpochSource, Event, Full, InIx, KeyId, Name, Open, OutIx,
    PeerId, PeerIx, Provision, PushError, Refusal,
    crypto::{Psk, Suite, Suites},
    wire::varint,
};
use tallylink_linux::{Application, Network, Settings, Stored, application::SendsOnly};

use super::MAX_DATAGRAM;
use crate::{
    clock,
    transport::{
        ground::{Ground, Room},
        side::{End, Job, Meter, Metered, Repairs, Run, Side, Wire},
        watch::{Patience, TICK, Watch},
    },
    workload::{Checked, Checker, Packed},
};

/// On loopback. The bytes are those of the sender's ring, which are out and not yet stored: a few times what the path holds; what
/// stays in the processor's cache is cheaper to read.
const LOOPBACK: Room = Room { bytes: 3 << 20, packets: 2048, datagram: (MAX_DATAGRAM, MAX_DATAGRAM) };

/// Tallylink with one of its suites.
pub(crate) struct Tallylink {
    name: &'static str,
    suite: Suite,
}

impl Tallylink {
    pub(crate) fn gcm() -> Self {
        Self { name: "tallylink-gcm", suite: Suite::Aes128Gcm }
    }

    pub(crate) fn gcm_siv() -> Self {
        Self { name: "tallylink-gcm-siv", suite: Suite::Aes128GcmSiv }
    }

    pub(crate) fn chacha20_poly1305() -> Self {
        Self { name: "tallylink-chacha20-poly1305", suite: Suite::ChaCha20Poly1305 }
    }
}

impl Side for Tallylink {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, job: &Job) -> Result<Run> {
        let suite = self.suite;
        let (tell, listening) = mpsc::channel();
        let receiver = Metered::spawn(job, End::Receiver, move |job, meter| receive(suite, job, &tell, meter))?;
        let sender = Metered::spawn(job, End::Sender, move |job, meter| {
            let to = listening.recv().context("no receiver")?;
            send(suite, to, job, meter)
        })?;
        let (((elapsed, mut wire), sender), ((checked, calls), receiver)) = sender.join_both(receiver)?;
        wire.receive_calls = Some(calls);
        Ok(Run { threads: vec![sender, receiver], elapsed, checked, wire })
    }
}

fn room(ground: &Ground) -> Room {
    ground.room.unwrap_or(LOOPBACK)
}

/// One link, for the one peer. What a receiver sends are confirmations: it keeps its own bound on packets in flight.
fn settings(end: End, suite: Suite, ground: &Ground) -> Settings {
    let room = room(ground);
    let base = match end {
        End::Sender => Settings::sender().config,
        End::Receiver => Settings::receiver().config,
    };
    let in_flight = if end == End::Sender { room.packets.into() } else { base.in_flight };
    let config = Config {
        max_datagram: room.datagram.1,
        initial_datagram: room.datagram.0,
        suites: Suites::from(suite),
        max_credit: room.bytes.into(),
        in_flight,
        held: room.packets,
        ..base
    };
    let place = ground.place(end);
    let (receive_buffer, send_buffer) = (place.buffer, place.buffer);
    Settings { config, links: 1, listen: place.any_port(), receive_buffer, send_buffer }
}

fn provision(end: Role) -> Provision {
    Provision::new(PeerId(*b"measured"), end, KeyId(0), Psk::from_bytes([7; 16]))
}

fn receive(suite: Suite, job: &Job, tell: &mpsc::Sender<SocketAddr>, meter: &mut Meter) -> Result<(Checked, u64)> {
    let sink = Sink {
        checker: Checker::new(Arc::clone(&job.workload)),
        epoch: Epoch::default(),
        next: 0,
        told: 0,
        watch: Arc::clone(&job.watch),
    };
    let mut network = Network::new(&settings(End::Receiver, suite, &job.ground), sink)?;
    network.add_peer(provision(Role::Gateway))?;
    tell.send(network.local_addr()?)?;

    meter.start();
    // Until the sender has heard that all is stored.
    while !job.watch.is_over() {
        let more = network.turn();
        job.watch.set_received(network.application().told);
        if !more {
            network.wait(Some(TICK), || true)?;
        }
    }
    meter.stop();
    Ok((network.application().checker.finish(), network.counters().receive_calls))
}

fn send(suite: Suite, to: SocketAddr, job: &Job, meter: &mut Meter) -> Result<(Duration, Wire)> {
    let mut network = Network::new(&settings(End::Sender, suite, &job.ground), SendsOnly)?;
    let peer = network.add_peer(provision(Role::Device))?;
    network.connect(peer, to)?;
    let name = Name::new("measured").context("a name")?;
    let stream = network.open(peer, name, EpochSource::FirstSession, 0, room(&job.ground).bytes)?;
    let prefix = varint::encode(job.workload.size() as u64).ok().context("a size")?;
    let mut packed = Packed::new(&job.workload, prefix.as_slice());

    meter.start();
    let begun = clock::wall();
    let mut next = 0;
    let mut stored = 0;
    let mut patience = Patience::new();
    while stored < job.records && !job.watch.is_over() {
        push(&mut network, stream, job, &mut packed, &mut next)?;
        let more = network.turn();
        let reached = network.stream(stream).map_or(0, |s| s.stored_below());
        // With room for more records there is something to push; without news there is something to wait for.
        if !more && reached == stored {
            network.wait(Some(TICK), || true)?;
            patience.check(reached)?;
        }
        stored = reached;
    }
    let elapsed = begun.elapsed();
    meter.stop();
    job.watch.end();

    let counters = network.counters();
    let totals = network.endpoint().totals();
    let wire = Wire {
        datagrams: counters.datagrams_sent,
        largest: u64::from(MAX_DATAGRAM),
        lost: totals.packets_lost,
        send_calls: Some(counters.send_calls),
        receive_calls: None,
        repairs: Some(Repairs {
            spurious: totals.losses_spurious,
            repeated: totals.chunks_repeated,
            probes: totals.probes,
        }),
    };
    Ok((elapsed, wire))
}

/// Fills the ring with whole batches.
fn push(network: &mut Network<SendsOnly>, stream: OutIx, job: &Job, packed: &mut Packed, next: &mut u64) -> Result<()> {
    while *next < job.records {
        let room = network.stream(stream).map_or(0, |s| s.room()) as usize;
        let stride = job.workload.size() + 8;
        if room < stride * job.workload.period() as usize {
            return Ok(());
        }
        let (count, batch) = packed.batch(&job.workload, *next, job.records - *next);
        match network.push_batch(stream, batch) {
            Ok(pushed) if pushed.records == count => *next += count,
            Ok(_) | Err(PushError::Full) => anyhow::bail!("the ring has less room than it said"),
            Err(other) => return Err(other.into()),
        }
    }
    Ok(())
}

/// Checks every record where it was decrypted.
struct Sink {
    checker: Checker,
    epoch: Epoch,
    next: u64,
    told: u64,
    watch: Arc<Watch>,
}

impl Deliver for Sink {
    fn open(&mut self, _: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        self.epoch = open.epoch;
        Ok(Accept { stream: InIx(0), stored_below: self.told, next: self.next })
    }

    #[inline]
    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        let (part, mut rest) = batch.bytes.split_at(batch.first_start as usize);
        if batch.from.offset > 0 {
            self.checker.piece(part);
            if batch.to.number > batch.from.number {
                self.checker.end();
            }
        }
        for _ in 0..batch.starts {
            let Ok((size, length)) = varint::decode(rest) else { return Err(Full) };
            let tail = &rest[length..];
            match tail.split_at_checked(size as usize) {
                Some((record, after)) => {
                    self.checker.record(record);
                    rest = after;
                }
                None => self.checker.piece(tail),
            }
        }
        self.next = batch.to.number;
        Ok(())
    }

    fn gap(&mut self, _: InIx, _: Epoch, _: u64, _: u64, _: u8) -> Result<(), Full> {
        Err(Full)
    }
}

impl Application for Sink {
    fn streams(&self) -> u32 {
        1
    }

    fn event(&mut self, event: Event) {
        if let Event::Moved(_) = event {
            self.watch.add_move();
        }
    }

    fn stored(&mut self) -> Option<Stored> {
        if self.told == self.next {
            return None;
        }
        self.told = self.next;
        Some(Stored { stream: InIx(0), epoch: self.epoch, below: self.told })
    }
}
