//! What one seed draws before anything happens: the ends, their streams, the paths between them, and what goes wrong when.

use crate::network::PathPlan;
use crate::rng::Rng;
use crate::sleeping::Sleep;
use tallylink_core::crypto::{Suite, Suites};
use tallylink_core::{Config, Congestion, Duration};

/// The gateway's place among the ends; the devices follow.
pub(crate) const GATEWAY: usize = 0;

/// A whole world, before its first moment.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The gateway, then the devices.
    pub(crate) ends: Vec<EndPlan>,
    /// Every stream of the world.
    pub(crate) streams: Vec<StreamPlan>,
    /// The path of each device, by end.
    pub(crate) paths: Vec<PathPlan>,
    /// What goes wrong, in order.
    pub(crate) faults: Vec<Fault>,
    /// The world stays unkind until this many packets have left.
    pub(crate) packets: u64,
    /// Whether the real suites are computed.
    pub(crate) real_crypto: bool,
    /// How often a stranger interferes, in permille of packets.
    pub(crate) stranger: u32,
    /// How often a driver finds no room in its socket, in permille of packets.
    pub(crate) socket_full: u32,
    /// Devices sleep.
    pub(crate) sleeps: bool,
}

/// One end.
#[derive(Clone, Debug)]
pub(crate) struct EndPlan {
    /// Its limits.
    pub(crate) config: Config,
    /// Links that it has.
    pub(crate) links: usize,
    /// It has no entropy source, and counts its boots.
    pub(crate) counts_boots: bool,
    /// Where received records go.
    pub(crate) journal: JournalPlan,
}

/// A receiver's queue and disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalPlan {
    /// The disk survives a crash; without one, the application's memory stands for it.
    pub(crate) durable: bool,
    /// Bytes of the queue before the writer.
    pub(crate) queue: usize,
    /// How long a sync takes at the least and at the most.
    pub(crate) sync_us: (u64, u64),
    /// How long the writer waits for more, so as to sync it together.
    pub(crate) gather_us: u64,
    /// How often the queue claims to be full though it is not, in permille.
    pub(crate) full: u32,
    /// How often a stream is refused, in permille.
    pub(crate) refuse: u32,
}

/// One stream.
#[derive(Clone, Debug)]
pub(crate) struct StreamPlan {
    /// The end that sends.
    pub(crate) sender: usize,
    /// The end that receives.
    pub(crate) receiver: usize,
    /// Its name.
    pub(crate) name: String,
    /// The sender keeps an outbox on disk.
    pub(crate) durable: bool,
    /// Bytes of its ring.
    pub(crate) ring: u32,
    /// The largest record.
    pub(crate) largest: u32,
    /// Records come this far apart.
    pub(crate) every_us: u64,
    /// Records that come together at the most.
    pub(crate) burst: u64,
    /// Bytes that are sent at least, varints not counted.
    pub(crate) bytes: u64,
    /// How often the oldest records are given up when the ring is full, in permille.
    pub(crate) gives_up: u32,
    /// How long a sync of the outbox takes.
    pub(crate) sync_us: u64,
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    /// It happens when this many packets have left.
    pub(crate) after_packets: u64,
    /// What it is.
    pub(crate) what: FaultKind,
}

/// What can go wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FaultKind {
    /// The ends of this set (a bit each) stop and start again.
    Crash {
        /// Which ends.
        ends: u32,
        /// The power fails: what was written but not synced is lost.
        power: bool,
        /// How long until they start.
        down_us: u64,
    },
    /// A device gets another address without noticing.
    Roam(usize),
    /// A device learns that the gateway can be reached; a session may start anew.
    Reconnect(usize),
    /// Nothing passes on this device's path for a while.
    Outage(usize, u64),
    /// Datagrams above this size vanish on this device's path from now on.
    Shrink(usize, usize),
    /// The receiver's disk refuses the next sync.
    SyncFails(usize),
    /// A device falls asleep, if it may.
    Sleep(Sleep),
}

impl Plan {
    /// The world of a seed.
    #[must_use]
    pub(crate) fn draw(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let rng = &mut rng;
        let devices = rng.pick(&[1, 1, 1, 2, 3]);
        let packets = rng.within(250, 700);
        let mut ends: Vec<EndPlan> = (0..=devices).map(|end| draw_end(rng, end)).collect();
        let streams = draw_streams(rng, &ends, packets);
        allow_streams(&mut ends, &streams);
        if rng.chance(150) {
            ends[GATEWAY].links = rng.within(1, devices as u64) as usize;
        }
        let paths = (0..=devices).map(|_| PathPlan::draw(rng)).collect();
        let faults = draw_faults(rng, devices, packets);
        Self {
            ends,
            streams,
            paths,
            faults,
            packets,
            real_crypto: rng.chance(60),
            stranger: rng.pick(&[0, 5, 20, 100]),
            socket_full: rng.pick(&[0, 0, 10, 100]),
            sleeps: false,
        }
    }
}

fn draw_end(rng: &mut Rng, end: usize) -> EndPlan {
    let max_datagram = rng.pick(&[1200, 1200, 1252, 1472, 4000, 9000]);
    let max_record = rng.pick(&[63, 64, 1000, 1024, 4096, 16_384, 65_536]);
    let first_credit = rng.pick(&[1024, 2048, 4096, 16_384, 65_536]);
    let suites = match rng.below(3) {
        0 => Suites::NONE.with(Suite::Aes128GcmSiv),
        1 => Suites::ALL.without(Suite::Aes128Gcm),
        _ => Suites::ALL,
    };
    let config = Config {
        max_record,
        max_datagram,
        initial_datagram: rng.pick(&[1200, 1200, max_datagram]),
        ack_window: rng.pick(&[64, 64, 128, 1024, 65_536]),
        congestion: rng.pick(&[Congestion::NewReno, Congestion::Cubic]),
        ecn: rng.chance(700),
        max_rate: rng.chance(100).then(|| rng.pick(&[5_000, 100_000])),
        in_flight: rng.pick(&[4, 8, 8, 32, 256, 1024]),
        held: rng.pick(&[0, 1, 2, 8, 64]),
        first_credit,
        max_credit: u64::from(rng.pick(&[max_record + 4, 4096, 65_536, 1 << 20]))
            .max(u64::from(max_record) + 4)
            .max(u64::from(first_credit)),
        streams: 0,
        max_ack_delay: Duration::from_millis(rng.pick(&[0, 1, 5, 25])),
        suites,
        max_peers: rng.pick(&[4, 8, 1 << 20]),
        turn: rng.pick(&[1, 4, 45]),
        replies_per_second: rng.pick(&[2, 10, 1000]),
        poll: None,
    };
    let durable = end == GATEWAY || rng.chance(500);
    let sync_max = rng.pick(&[0, 200, 5_000, 100_000]);
    EndPlan {
        config,
        links: 4,
        counts_boots: end != GATEWAY && rng.chance(250),
        journal: JournalPlan {
            durable,
            queue: rng.pick(&[10_000, 100_000, 1 << 20]),
            sync_us: (sync_max / 10, sync_max),
            gather_us: rng.pick(&[0, 100, 10_000]),
            full: rng.pick(&[0, 0, 0, 10, 100]),
            refuse: rng.pick(&[0, 0, 100, 400]),
        },
    }
}

fn draw_streams(rng: &mut Rng, ends: &[EndPlan], packets: u64) -> Vec<StreamPlan> {
    let mut streams = Vec::new();
    let downlink = rng.chance(400);
    for device in 1..ends.len() {
        let up = rng.within(1, 5);
        let down = if downlink { rng.within(1, 2) } else { 0 };
        for at in 0..up + down {
            let (sender, receiver) = if at < up { (device, GATEWAY) } else { (GATEWAY, device) };
            let name = format!("{}{at}", if at < up { "up" } else { "down" });
            streams.push(draw_stream(rng, ends, sender, receiver, name));
        }
    }
    let each = packets * 400 / streams.len() as u64;
    for stream in &mut streams {
        stream.bytes = rng.within(each / 4, each);
    }
    streams
}

fn draw_stream(rng: &mut Rng, ends: &[EndPlan], sender: usize, receiver: usize, name: String) -> StreamPlan {
    let ours = ends[sender].config.max_record;
    let theirs = ends[receiver].config.max_record;
    // Now and then a sender is allowed more than its receiver takes.
    let limit = if rng.chance(50) { ours } else { ours.min(theirs) };
    let largest = rng.pick(&[0, 1, 40, 62, 63, 64, 300, 1200, 3000, limit]).min(limit);
    let ring = (largest + 8).max(rng.pick(&[64, 300, 1500, 8000, 65_536]));
    StreamPlan {
        sender,
        receiver,
        name,
        durable: rng.chance(500),
        ring,
        largest,
        every_us: rng.pick(&[200, 5_000, 50_000, 1_000_000]),
        burst: rng.pick(&[1, 1, 5, 30]),
        bytes: 0,
        gives_up: rng.pick(&[0, 0, 0, 50, 300]),
        sync_us: rng.pick(&[0, 300, 20_000]),
    }
}

/// Both ends allow as many streams as there are, and a device that expects records asks for them now and then.
fn allow_streams(ends: &mut [EndPlan], streams: &[StreamPlan]) {
    for (end, plan) in ends.iter_mut().enumerate() {
        let from = |peer: usize| streams.iter().filter(|s| s.receiver == end && s.sender == peer).count();
        let most = (0..16).map(from).max().unwrap_or(0);
        plan.config.streams = most.max(1) as u16;
        if end != GATEWAY && most > 0 {
            plan.config.poll = Some(Duration::from_secs(5));
        }
    }
}

fn draw_faults(rng: &mut Rng, devices: usize, packets: u64) -> Vec<Fault> {
    let mut faults = vec![draw_crash(rng, devices)];
    for _ in 0..rng.below(6) {
        let device = rng.within(1, devices as u64) as usize;
        faults.push(match rng.below(9) {
            0..=2 => draw_crash(rng, devices),
            3 | 4 => FaultKind::Roam(device),
            5 => FaultKind::Reconnect(device),
            7 => FaultKind::Shrink(device, rng.pick(&[1200, 1252, 1400])),
            6 => FaultKind::Outage(device, rng.within(10_000, 60_000_000)),
            _ => FaultKind::SyncFails(if rng.chance(700) { GATEWAY } else { device }),
        });
    }
    let mut faults: Vec<Fault> =
        faults.into_iter().map(|what| Fault { after_packets: rng.within(5, packets), what }).collect();
    faults.sort_by_key(|f| f.after_packets);
    faults
}

fn draw_crash(rng: &mut Rng, devices: usize) -> FaultKind {
    let device = 1 << rng.within(1, devices as u64);
    FaultKind::Crash {
        ends: match rng.below(5) {
            0 | 1 => 1 << GATEWAY,
            2 | 3 => device,
            _ => device | 1 << GATEWAY,
        },
        power: rng.chance(500),
        down_us: rng.pick(&[0, 1_000, 300_000, 5_000_000, 100_000_000]),
    }
}
