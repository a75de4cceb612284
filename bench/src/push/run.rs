//! Inserting, and the CPU of it.
use std::{thread, time::Duration};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use tallylink_core::{EpochSource, Name, OutIx, wire::varint};
use tallylink_linux::{Network, Sender, application::SendsOnly, sender::Stream};

use super::{BURST, RECORD, link};
use crate::{
    clock,
    transport::watch::Patience,
    workload::{Packed, Workload},
};

/// The ring of a [`Stream`], and here also of a [`Network`]: so many bytes of records wrap it.
const RING: u32 = 4 << 20;
/// Records that may be under way when the next burst begins: the link is busy, and there is room.
const UNDER_WAY: u64 = 2 * BURST;
/// For a thread that waits until the link has got on.
const NAP: Duration = Duration::from_micros(50);

/// What records go into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Target {
    Stream,
    Network,
}

/// How many at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum How {
    Single,
    Batch,
}

impl Target {
    pub(super) const ALL: [Self; 2] = [Self::Stream, Self::Network];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stream => "Stream, sent by another thread",
            Self::Network => "Network, driven by the same thread",
        }
    }
}

impl How {
    pub(super) const ALL: [Self; 2] = [Self::Single, Self::Batch];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Single => "one at a time",
            Self::Batch => "in batches",
        }
    }
}

/// Inserts only, for valgrind to look at.
#[derive(Args)]
pub(crate) struct PushRole {
    #[arg(long)]
    into: Target,
    #[arg(long)]
    how: How,
    #[arg(long)]
    bursts: u64,
    #[arg(long)]
    seed: u64,
}

impl PushRole {
    pub(crate) fn run(&self) -> Result<()> {
        // Under valgrind the clock that tells a thread's CPU cannot be read.
        insert_all(self.into, self.how, self.bursts, self.seed, || Duration::ZERO).map(drop)
    }
}

/// Nanoseconds of CPU that inserting one record took this thread.
pub(super) fn measure(into: Target, how: How, bursts: u64, seed: u64) -> Result<f64> {
    let spent = insert_all(into, how, bursts, seed, clock::thread_cpu)?;
    Ok(spent.as_nanos() as f64 / (bursts * BURST) as f64)
}

/// Inserts so many bursts and more; what passed by `clock` while it inserted the ones that count comes back.
fn insert_all(into: Target, how: How, bursts: u64, seed: u64, clock: fn() -> Duration) -> Result<Duration> {
    let link = link::Link::open()?;
    let mut end: Box<dyn End> = match into {
        Target::Stream => {
            let sender =
                Sender::with(&link::sender(), &link.to().to_string(), link::provision(tallylink_core::End::Device))?;
            Box::new(sender.open("pushed")?)
        }
        Target::Network => {
            let mut network = Network::new(&link::sender(), SendsOnly)?;
            let peer = network.add_peer(link::provision(tallylink_core::End::Device))?;
            network.connect(peer, link.to())?;
            let name = Name::new("pushed").context("a name")?;
            let stream = network.open(peer, name, EpochSource::FirstSession, 0, RING)?;
            Box::new(Driven { network, stream })
        }
    };
    let workload = Workload::new(seed, RECORD);
    let prefix = varint::encode(RECORD as u64).ok().context("a size")?;
    let mut packed = Packed::new(&workload, prefix.as_slice());
    let mut next = 0;
    let mut burst = |end: &mut dyn End, measured: bool| {
        let (_, batch) = packed.batch(&workload, next, BURST);
        end.make_room(next)?;
        next += BURST;
        let before = clock();
        match (measured, how) {
            (true, _) => counted(end, how, batch)?,
            (false, _) => insert(end, how, batch)?,
        }
        Ok::<_, anyhow::Error>(clock().saturating_sub(before))
    };
    // Once round, and a bit.
    for _ in 0..=u64::from(RING) / (BURST * (RECORD as u64 + 1)) {
        burst(&mut *end, false)?;
    }
    let mut spent = Duration::ZERO;
    for _ in 0..bursts {
        spent += burst(&mut *end, true)?;
    }
    end.make_room(next + UNDER_WAY)?;
    link.close()?;
    Ok(spent)
}

/// What valgrind counts; it is told so by this name.
#[inline(never)]
fn counted(end: &mut dyn End, how: How, batch: &[u8]) -> Result<()> {
    insert(end, how, batch)
}

fn insert(end: &mut dyn End, how: How, batch: &[u8]) -> Result<()> {
    match how {
        How::Single => end.push_each(batch),
        How::Batch => end.push_batch(batch),
    }
}

/// The end of the link that records go into.
trait End {
    /// Returns when so few are under way that a burst finds room.
    fn make_room(&mut self, next: u64) -> Result<()>;
    fn push_each(&mut self, batch: &[u8]) -> Result<()>;
    fn push_batch(&mut self, batch: &[u8]) -> Result<()>;
}

impl End for Stream {
    fn make_room(&mut self, next: u64) -> Result<()> {
        let mut patience = Patience::new();
        while self.stored_below() + UNDER_WAY < next {
            thread::sleep(NAP);
            patience.check(self.stored_below())?;
        }
        Ok(())
    }

    fn push_each(&mut self, batch: &[u8]) -> Result<()> {
        for record in batch.chunks_exact(RECORD + 1) {
            self.push(&record[1..])?;
        }
        Ok(())
    }

    fn push_batch(&mut self, batch: &[u8]) -> Result<()> {
        Stream::push_batch(self, batch)?;
        Ok(())
    }
}

struct Driven {
    network: Network<SendsOnly>,
    stream: OutIx,
}

impl End for Driven {
    fn make_room(&mut self, next: u64) -> Result<()> {
        let stored =
            |network: &Network<SendsOnly>| network.stream(self.stream).map_or(0, |stream| stream.stored_below());
        let mut patience = Patience::new();
        loop {
            let more = self.network.turn();
            let now = stored(&self.network);
            if now + UNDER_WAY >= next {
                return Ok(());
            }
            patience.check(now)?;
            if !more {
                self.network.wait(Some(Duration::from_millis(1)), || true)?;
            }
        }
    }

    fn push_each(&mut self, batch: &[u8]) -> Result<()> {
        for record in batch.chunks_exact(RECORD + 1) {
            self.network.push(self.stream, &record[1..])?;
        }
        Ok(())
    }

    fn push_batch(&mut self, batch: &[u8]) -> Result<()> {
        let pushed = self.network.push_batch(self.stream, batch)?;
        if pushed.bytes < batch.len() {
            bail!("the ring has less room than it should");
        }
        Ok(())
    }
}
