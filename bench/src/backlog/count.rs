//! The instructions of draining, as valgrind's callgrind counts them: both ends in memory, in a time of their own, so that each
//! run is the same.
use std::{env, net::SocketAddr, process::Command};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use tallylink_core::{
    Accept, Batch, BootSeed, Config, Deliver, Ecn, End, Endpoint, Epoch, EpochSource, Full, Handled, InIx, Instant,
    KeyId, Name, Open, OutIx, OutStream, Path, PeerId, PeerIx, Provision, Refusal, crypto::Psk, wire::varint,
};
use tallylink_linux::crypto::{AwsLc, AwsLcKey};
use tallylink_sim::arrays::{Arrays, Sizes};

use super::{RECORD, ring_bytes};
use crate::workload::{Packed, Workload};

/// Records that are drained.
const DRAINED: u64 = 100_000;
/// Records before anything is counted: the session is there, and the window open.
const WARM_UP: u64 = 20_000;
/// From one turn to the next.
const STEP_US: u64 = 100;
/// Datagrams that leave one end before the other has its turn: what one send call takes.
const AT_ONCE: usize = 45;
/// More turns than any of this takes.
const TURNS: u64 = 1_000_000;
const DATAGRAM: usize = 1_452;
const PEER: PeerIx = PeerIx(0);
const STREAM: OutIx = OutIx(0);

/// Drains only, for valgrind to look at.
#[derive(Args)]
pub(crate) struct BacklogRole {
    #[arg(long)]
    queued: u64,
    #[arg(long)]
    seed: u64,
}

/// Instructions of one record, of those that are drained from so many; none where there is no valgrind.
pub(super) fn instructions(queued: u64, seed: u64) -> Result<Option<f64>> {
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*backlog*count*counted*"])
        .arg(env::current_exe()?)
        .arg("backlog-only")
        .args([format!("--queued={queued}"), format!("--seed={seed}")])
        .output();
    let output = match ran {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        ran => ran.context("cannot start valgrind")?,
    };
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind failed: {said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
    let collected = collected.with_context(|| format!("valgrind did not count: {said}"))?;
    let records: u64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
    Ok(Some(collected as f64 / records as f64))
}

impl BacklogRole {
    pub(crate) fn run(&self) -> Result<()> {
        let mut pair = Pair::new()?;
        pair.fill(self.queued + WARM_UP, self.seed)?;
        let from = pair.drain_to(WARM_UP)?;
        let to = counted(&mut pair, from + DRAINED)?;
        println!("{}", to - from);
        Ok(())
    }
}

/// What valgrind counts; it is told so by this name.
#[inline(never)]
fn counted(pair: &mut Pair, until: u64) -> Result<u64> {
    pair.drain_to(until)
}

type Node = Endpoint<AwsLc, Arrays<AwsLcKey>>;

/// Both ends.
struct Pair {
    device: Node,
    gateway: Node,
    inbox: Inbox,
    now_us: u64,
}

impl Pair {
    fn new() -> Result<Self> {
        let (mut device, gateway) = (node(End::Device)?, node(End::Gateway)?);
        let (now, name) = (Instant::from_micros(1), Name::new("measured").context("a name")?);
        device.open(now, STREAM, PEER, name, EpochSource::FirstSession, 0, 0..ring_bytes())?;
        device.connect(now, PEER, Path::to(address(End::Gateway)))?;
        Ok(Self { device, gateway, inbox: Inbox::default(), now_us: 1 })
    }

    fn fill(&mut self, records: u64, seed: u64) -> Result<()> {
        let workload = Workload::new(seed, RECORD);
        let mut packed = Packed::new(&workload, varint::encode(RECORD as u64).ok().context("a size")?.as_slice());
        let mut pushed = 0;
        while pushed < records {
            let (count, batch) = packed.batch(&workload, pushed, records - pushed);
            let took = self.device.push_batch(Instant::from_micros(self.now_us), STREAM, batch)?;
            ensure!(took.records == count, "the ring has less room than it should");
            pushed += count;
        }
        Ok(())
    }

    /// Until all below `until` are STORED; how far that is then.
    fn drain_to(&mut self, until: u64) -> Result<u64> {
        for _ in 0..TURNS {
            let stored = self.device.storage().outbound().first().map_or(0, OutStream::stored_below);
            if stored >= until {
                return Ok(stored);
            }
            self.turn();
        }
        Err(anyhow!("the backlog does not drain"))
    }

    /// Both ends send what they may, and time passes.
    fn turn(&mut self) {
        let now = Instant::from_micros(self.now_us);
        for node in [&mut self.device, &mut self.gateway] {
            if node.next_timeout().is_some_and(|due| due <= now) {
                node.handle_timeout(now);
            }
        }
        carry(&mut self.device, &mut self.gateway, now, End::Device, &mut self.inbox);
        self.gateway.stored(now, InIx(0), self.inbox.epoch, self.inbox.next);
        carry(&mut self.gateway, &mut self.device, now, End::Gateway, &mut self.inbox);
        for node in [&mut self.device, &mut self.gateway] {
            while node.next_event().is_some() {}
        }
        self.now_us += STEP_US;
    }
}

/// What `from` sends arrives at `to`.
fn carry(from: &mut Node, to: &mut Node, now: Instant, end: End, inbox: &mut Inbox) {
    let path = Path::to(address(end));
    let mut buffer = [0; DATAGRAM];
    for _ in 0..AT_ONCE {
        let Some(envelope) = from.peek_transmit(now) else { return };
        let datagram = &mut buffer[..usize::from(envelope.len)];
        if !from.seal_transmit(now, &envelope, datagram) {
            return;
        }
        if let Ok(Handled::Reply(len)) = to.handle_datagram(now, &path, Ecn::NotEct, datagram, inbox) {
            let _ = from.handle_datagram(now, &envelope.path, Ecn::NotEct, &mut datagram[..len], inbox);
        }
    }
}

fn node(end: End) -> Result<Node> {
    let config = Config {
        max_datagram: DATAGRAM as u16,
        initial_datagram: DATAGRAM as u16,
        ack_window: 4_096,
        in_flight: 1_024,
        held: 64,
        max_credit: 3 << 20,
        max_peers: 1,
        ..Config::default()
    };
    let (inbound, outbound, ring) = match end {
        End::Device => (0, 1, ring_bytes() as usize),
        End::Gateway => (1, 0, 0),
    };
    let arrays = Arrays::new(&config, Sizes { peers: 1, links: 1, inbound, outbound, ring });
    let mut node = Endpoint::new(config, AwsLc, arrays, BootSeed::entropy([end as u8 + 1; 16]))?;
    node.add_peer(PEER, Provision::new(PeerId(*b"counting"), end, KeyId(0), Psk::from_bytes([7; 16])))?;
    Ok(node)
}

fn address(end: End) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], if end == End::Device { 1000 } else { 2000 }))
}

/// Takes every record.
#[derive(Default)]
struct Inbox {
    epoch: Epoch,
    next: u64,
}

impl Deliver for Inbox {
    fn open(&mut self, _: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        self.epoch = open.epoch;
        Ok(Accept { stream: InIx(0), stored_below: self.next, next: self.next })
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        self.next = batch.to.number;
        Ok(())
    }

    fn gap(&mut self, _: InIx, _: Epoch, _: u64, _: u64, _: u8) -> Result<(), Full> {
        Err(Full)
    }
}
