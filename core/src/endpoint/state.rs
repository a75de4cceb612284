//! The endpoint's own state: what belongs to no peer.

use crate::config::{Config, ConfigError};
use crate::crypto::{self, Suite, Suites};
use crate::discard::Counters;
use crate::ids::{Boot, InIx, LinkIx, OutIx, PeerIx};
use crate::path::Ecn;
use crate::storage::Parts;
use crate::time::Instant;

/// How many gateways a device end listens to hints of.
pub(super) const GATEWAYS: usize = 8;
/// This part of the links is many to have something to say: a quarter.
const READY_PART: u32 = 2;
/// And this part is many to wait for something: a half.
const TIMERS_PART: u32 = 1;
/// Fewer are never many.
const LEAST_MANY: u32 = 16;

#[derive(Debug)]
pub(super) struct State {
    pub(super) config: Config,
    /// Offered and accepted.
    pub(super) suites: Suites,
    pub(super) boot: Boot,
    seed: [u8; 16],
    drawn: u64,
    /// Gateway end: the counter of the next WELCOME.
    pub(super) counter: u64,
    pub(super) free_links: LinkIx,
    /// Links that were idle when they were listed: given to other peers when no free one is left.
    pub(super) spare_front: LinkIx,
    pub(super) spare_back: LinkIx,
    /// Streams whose STORED waits for a free link.
    pub(super) waiting_front: InIx,
    pub(super) waiting_back: InIx,
    pub(super) ready_front: LinkIx,
    pub(super) ready_back: LinkIx,
    /// How many there are on that list, and how many are many.
    pub(super) ready: u32,
    pub(super) many_ready: u32,
    /// How many links have a deadline, and how many are many.
    pub(super) timers: u32,
    pub(super) many_timers: u32,
    pub(super) next_timeout: Instant,
    pub(super) dirty_peers: PeerIx,
    pub(super) dirty_out: OutIx,
    pub(super) free_held: u32,
    /// Answers to HELLO, and hints: a flood of either leaves the other alone.
    answers: Replies,
    hints: Replies,
    /// Peers towards which this end is the device.
    pub(super) gateways: heapless::Vec<PeerIx, GATEWAYS>,
    /// Peers towards which this end is the gateway.
    pub(super) devices: u32,
    /// An ACK has no room for another change.
    pub(super) ack_full: bool,
    /// The mark of the datagram that is being handled.
    pub(super) mark: Ecn,
    pub(super) counters: Counters,
    pub(super) totals: Totals,
}

/// What has been sent and received, all peers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sealed packets sent.
    pub packets_sent: u64,
    /// Their bytes of UDP payload.
    pub bytes_sent: u64,
    /// Packets that were declared lost.
    pub packets_lost: u64,
    /// Packets declared lost whose ACK came late.
    pub losses_spurious: u64,
    /// Times that a router's mark told of congestion.
    pub marks_heeded: u64,
    /// Times that a path was found to carry less than before.
    pub paths_shrunk: u64,
    /// Chunks that were sent again.
    pub chunks_repeated: u64,
    /// Probe timeouts.
    pub probes: u64,
    /// HELLOs sent.
    pub hellos_sent: u64,
    /// Authentic packets received.
    pub packets_received: u64,
    /// Their bytes of UDP payload.
    pub bytes_received: u64,
    /// Chunks that waited for a gap to close.
    pub chunks_held: u64,
    /// Sessions that went live.
    pub sessions: u64,
    /// Records pushed.
    pub records_pushed: u64,
    /// Records, or beginnings of them, delivered.
    pub records_delivered: u64,
}

/// What makes one start of one end differ from every other. Guarantee: nonces never repeat.
#[derive(Clone, Debug)]
pub struct BootSeed {
    seed: [u8; 16],
    suites: Suites,
}

impl BootSeed {
    /// 16 bytes from a declared entropy source. Every suite may be used.
    #[must_use]
    pub const fn entropy(bytes: [u8; 16]) -> Self {
        Self { seed: bytes, suites: Suites::ALL }
    }

    /// A counter in flash or retained memory that was increased and saved before this call, mixed with whatever the board
    /// has that differs from others (a serial number, a timer). Only suites that survive a repeated nonce are offered.
    #[must_use]
    pub fn counter(boots: u64, extra: u64) -> Self {
        let [a, b, c, d, e, f, g, h] = boots.to_be_bytes();
        let [i, j, k, l, m, n, o, p] = extra.to_be_bytes();
        Self { seed: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p], suites: Suites::NONE.with(Suite::Aes128GcmSiv) }
    }
}

/// Answers of one kind that are left this second.
#[derive(Clone, Copy, Debug)]
struct Replies {
    left: u32,
    since: Instant,
}

impl Replies {
    fn take(&mut self, now: Instant, each_second: u32) -> bool {
        if now.since(self.since).as_micros() >= 1_000_000 {
            *self = Self { left: each_second, since: now };
        }
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or(0);
        left.is_some()
    }
}

impl State {
    pub(super) fn new<K>(
        config: Config,
        backend: Suites,
        boot: BootSeed,
        p: &mut Parts<'_, K>,
    ) -> Result<Self, ConfigError> {
        let suites = config.suites.intersect(backend).intersect(boot.suites);
        if suites.is_empty() {
            return Err(ConfigError { field: "suites", must: "one that the backend has and the boot seed allows" });
        }
        let links = p.links.len() as u32;
        for (i, link) in (0..links).zip(p.links.iter_mut()) {
            let next = i.saturating_add(1);
            link.next = if next < links { LinkIx(next) } else { LinkIx::NONE };
        }
        let held = p.held.len() as u32;
        for (i, slot) in (0..held).zip(p.held.iter_mut()) {
            let next = i.saturating_add(1);
            slot.next = if next < held { next } else { u32::MAX };
        }
        let replies = Replies { left: config.replies_per_second, since: Instant::from_micros(0) };
        let mut state = Self {
            answers: replies,
            hints: replies,
            config,
            suites,
            boot: Boot::default(),
            seed: boot.seed,
            drawn: 0,
            counter: 0,
            free_links: LinkIx(0),
            spare_front: LinkIx::NONE,
            spare_back: LinkIx::NONE,
            waiting_front: InIx::NONE,
            waiting_back: InIx::NONE,
            ready_front: LinkIx::NONE,
            ready_back: LinkIx::NONE,
            ready: 0,
            many_ready: (links >> READY_PART).max(LEAST_MANY),
            timers: 0,
            many_timers: (links >> TIMERS_PART).max(LEAST_MANY),
            next_timeout: Instant::NEVER,
            dirty_peers: PeerIx::NONE,
            dirty_out: OutIx::NONE,
            free_held: if held > 0 { 0 } else { u32::MAX },
            gateways: heapless::Vec::new(),
            devices: 0,
            ack_full: false,
            mark: Ecn::NotEct,
            counters: Counters::default(),
            totals: Totals::default(),
        };
        let [a, b, c, d, e, f, g, h, ..] = state.draw();
        state.boot = Boot([a, b, c, d, e, f, g, h]);
        Ok(state)
    }

    /// 16 bytes that never repeat and that nobody without the seed can foretell: the CMAC of a count.
    pub(super) fn draw(&mut self) -> [u8; 16] {
        self.drawn = self.drawn.saturating_add(1);
        *crypto::mac(&self.seed, &[b"draw", &self.drawn.to_be_bytes()]).as_bytes()
    }

    /// A number for jitter and labels.
    pub(super) fn draw_u32(&mut self) -> u32 {
        let [a, b, c, d, ..] = self.draw();
        u32::from_be_bytes([a, b, c, d])
    }

    /// Takes one of this second's answers to HELLO.
    pub(super) fn may_answer(&mut self, now: Instant) -> bool {
        self.answers.take(now, self.config.replies_per_second)
    }

    /// Takes one of this second's hints.
    pub(super) fn may_hint(&mut self, now: Instant) -> bool {
        self.hints.take(now, self.config.replies_per_second)
    }
}
