//! The application: it takes readings, and counts what became of them.

use crate::readings::{LARGEST, Source};
use core::convert::Infallible;
use cortex_m::singleton;
use smoltcp::time::Instant;
use tallylink_smoltcp::core::crypto::{Soft, SoftKey};
use tallylink_smoltcp::core::{Config, Fixed};
use tallylink_smoltcp::{Board, Declared, DeviceEnd, Event, OutIx, Provision, PushError, StartError, WhenFull};

/// Bytes of the ring for each stream: what the board has memory for.
const RINGS: [u32; 3] = [2048, 4096, if cfg!(feature = "lm3s6965") { 10_240 } else { 65_536 }];
const RING: usize = (RINGS[0] + RINGS[1] + RINGS[2]) as usize;
const DATAGRAM: usize = 1200;
const IN_FLIGHT: usize = 8;
const STREAMS: usize = Source::ALL.len();

/// The device end's arrays: records may be larger than a `Sensor`'s.
type Arrays = Fixed<SoftKey, 1, 0, STREAMS, IN_FLIGHT, RING, 0, DATAGRAM, 1>;
/// A device end whose arrays lie in a `static`: they are larger than the stack.
pub(crate) type Node = DeviceEnd<Soft, &'static mut Arrays, DATAGRAM>;

/// What became of a stream's readings.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) pushed: u64,
    pub(crate) refused: u64,
    /// Those below are STORED or overwritten.
    pub(crate) settled: u64,
}

/// The emulated boards have no generator that nobody can foretell: they count their starts.
struct Counted {
    boots: u64,
}

impl Board for Counted {
    type Error = Infallible;

    fn declare(&mut self) -> Result<Declared, Self::Error> {
        Ok(Declared::BootCounter { boots: self.boots, extra: 0 })
    }
}

/// The device end.
#[inline(never)]
pub(crate) fn node(me: Provision, boots: u64) -> Result<&'static mut Node, &'static str> {
    let config = Config {
        max_record: LARGEST as u32,
        max_credit: 2 * LARGEST as u64,
        in_flight: IN_FLIGHT as u32,
        held: 0,
        max_peers: 1,
        ..Config::small()
    };
    let arrays = singleton!(: Arrays = Arrays::new()).ok_or("taken")?;
    // Made where it stays.
    let node = singleton!(: Result<Node, StartError<Infallible>> =
        DeviceEnd::with(config, Soft, arrays, &mut Counted { boots }, me));
    node.ok_or("taken")?.as_mut().map_err(|_| "the limits do not fit")
}

/// Takes readings from all sources in turn.
pub(crate) struct Sensor {
    streams: [OutIx; STREAMS],
    tallies: [Tally; STREAMS],
    taken: u64,
    wanted: u64,
    every_ms: u64,
    room: &'static mut [u8; LARGEST],
}

impl Sensor {
    pub(crate) fn open(
        node: &mut Node,
        now: Instant,
        readings: u64,
        every_ms: u64,
        when_full: WhenFull,
    ) -> Result<Self, &'static str> {
        let mut streams = [OutIx::default(); STREAMS];
        for ((stream, source), bytes) in streams.iter_mut().zip(Source::ALL).zip(RINGS) {
            *stream = node.open(now, source.name(), bytes).map_err(|_| "a stream does not open")?;
            node.set_when_full(*stream, when_full);
        }
        let tallies = [Tally::default(); STREAMS];
        let room = singleton!(: [u8; LARGEST] = [0; LARGEST]).ok_or("taken")?;
        Ok(Self { streams, tallies, taken: 0, wanted: readings, every_ms, room })
    }

    /// Takes the readings that are due, and says when the next one is.
    pub(crate) fn take(&mut self, node: &mut Node, now: Instant) -> Option<Instant> {
        while self.taken < self.wanted {
            let due = i64::try_from(self.taken * self.every_ms).unwrap_or(i64::MAX);
            if now.total_millis() < due {
                return Some(Instant::from_millis(due));
            }
            let at = (self.taken % STREAMS as u64) as usize;
            let (Some(source), Some(stream), Some(tally)) =
                (Source::ALL.get(at), self.streams.get(at), self.tallies.get_mut(at))
            else {
                return None;
            };
            match node.push(now, *stream, source.record(tally.pushed, self.room)) {
                Ok(number) => tally.pushed = number + 1,
                // Without a rhythm of its own the reading waits until there is room.
                Err(PushError::Full) if self.every_ms == 0 => return None,
                Err(_) => tally.refused += 1,
            }
            self.taken += 1;
        }
        None
    }

    /// Notes what has become of records.
    pub(crate) fn note(&mut self, event: Event) {
        if let Event::Stored(stream, below) = event
            && let Some(at) = self.streams.iter().position(|s| *s == stream)
            && let Some(tally) = self.tallies.get_mut(at)
        {
            tally.settled = below;
        }
    }

    /// True when every reading is STORED, refused or overwritten.
    pub(crate) fn is_done(&self) -> bool {
        self.taken == self.wanted && self.tallies.iter().all(|t| t.settled == t.pushed)
    }

    /// How many readings are STORED, all streams together.
    pub(crate) fn stored(&self, node: &Node) -> u64 {
        let settled = self.tallies.iter().map(|t| t.settled).sum::<u64>();
        settled.saturating_sub(node.overwritten())
    }

    pub(crate) fn tallies(&self) -> [Tally; STREAMS] {
        self.tallies
    }
}
