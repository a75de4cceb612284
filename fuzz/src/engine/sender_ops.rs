//! A sender against a plain list of what was pushed: whatever is lost, acknowledged, stored and granted, in whatever order, each chunk that
//! leaves has the bytes of its position, and what is confirmed moves as it should.

use super::bytes::Bytes;
use super::inbox::Inbox;
use super::model::{Stream, limits};
use tallylink_core::wire::{Chunk, Frame, Reader, Writer};
use tallylink_core::{End, EpochSource, Handled, Name, OutIx, Path, PeerId, PeerIx, PushError};
use tallylink_sim::hostile::{Channel, Node, WIDE, at};

const KEY: [u8; 16] = [7; 16];
const GATEWAY: &str = "10.0.0.1:2000";
const STREAM: OutIx = OutIx(0);
/// Bytes of the ring, as a power of two.
const RING_BITS: u32 = 11;
/// The most steps of one input.
const MOST: usize = 200;

struct Play {
    now: u64,
    sender: Node<Inbox>,
    gateway: Channel,
    pushed: Stream,
    /// OPEN has been heard.
    opened: bool,
    /// Which of the bytes have arrived, and below which record all have.
    arrived: Vec<bool>,
    seen: u64,
    stored: u64,
}

/// Each byte is a step; some take another as their size.
pub fn sender_ops(data: &[u8]) {
    let mut bytes = Bytes(data);
    let mut play = Play::begin();
    for _ in 0..MOST {
        let Some(step) = bytes.byte() else { break };
        let argument = if step & 7 < 5 { bytes.byte().unwrap_or(0) } else { 0 };
        match step & 7 {
            0 => play.push(usize::from(argument) * usize::from(1 + (step >> 3 & 3))),
            1 => play.store(u64::from(argument)),
            2 => play.say(&[Frame::Credit(u64::from(argument) << 6)]),
            3 => play.pass(u64::from(argument) << (step >> 3 & 15)),
            4 => play.say(&[if argument & 1 == 0 { Frame::Busy } else { Frame::Refused { stream: 1, reason: 2 } }]),
            5 => play.transmit(false),
            6 => play.acknowledge(),
            _ => play.transmit(true),
        }
        play.check();
    }
    play.finish();
}

impl Play {
    fn begin() -> Self {
        let peers = [(PeerId([5; 8]), KEY), (PeerId([6; 8]), KEY)];
        let mut sender = Node::new(&limits(), End::Device, "10.0.0.9:1000", peers, RING_BITS, Inbox::default());
        let (name, source) = (Name::new("s").expect("a name"), EpochSource::FirstSession);
        let to = Path::to(GATEWAY.parse().expect("an address"));
        sender.endpoint.open(at(0), STREAM, PeerIx(0), name, source, 0, 0..1 << RING_BITS).expect("a free stream");
        sender.endpoint.connect(at(0), PeerIx(0), to).expect("a peer");
        let hello = sender.transmit(0);
        let (gateway, mut welcome) = Channel::gateway(KEY, &hello[0].1, WIDE).expect("a HELLO");
        let mut play =
            Self { now: 0, sender, gateway, pushed: Stream::new(), opened: false, arrived: vec![], seen: 0, stored: 0 };
        assert_eq!(play.take(&mut welcome), Ok(Handled::Session));
        play
    }

    fn take(&mut self, packet: &mut [u8]) -> Result<Handled, tallylink_core::Discard> {
        self.sender.take(self.now, GATEWAY.parse().expect("an address"), packet)
    }

    fn say(&mut self, frames: &[Frame<'_>]) {
        let mut buffer = [0; 64];
        let mut w = Writer::new(&mut buffer);
        frames.iter().for_each(|frame| frame.write(&mut w).expect("there is room"));
        let frames = w.into_written().to_vec();
        self.give(&frames);
    }

    fn give(&mut self, frames: &[u8]) {
        let mut packet = self.gateway.seal(self.gateway.next, frames);
        self.gateway.next += 1;
        let handled = self.take(&mut packet);
        assert_eq!(handled, Ok(Handled::Data(PeerIx(0))), "an honest packet");
    }

    fn push(&mut self, size: usize) {
        let number = self.pushed.len();
        let record: Vec<u8> = (0..size).map(|i| (number as usize * 31 + i * 7) as u8).collect();
        match self.sender.endpoint.push(at(self.now), STREAM, &record) {
            Ok(given) => {
                assert_eq!(given, number, "numbers ascend");
                self.pushed.push(&record);
            }
            Err(PushError::Full) => {}
            Err(PushError::TooLarge) => assert!(size > 1000, "{size} bytes are too large"),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// The receiver has stored some of what it has seen.
    fn store(&mut self, more: u64) {
        if !self.opened {
            return;
        }
        self.stored = (self.stored + more).min(self.seen);
        self.say(&[Frame::Stored { stream: 1, below: self.stored }]);
    }

    fn pass(&mut self, us: u64) {
        self.now += us;
        while self.sender.timeout() <= self.now {
            self.sender.endpoint.handle_timeout(at(self.now));
        }
    }

    /// What leaves now arrives, or is lost.
    fn transmit(&mut self, lost: bool) {
        let sent = self.sender.transmit(self.now);
        if lost {
            return;
        }
        for (_, packet) in sent {
            // A HELLO beside the session is none of its packets.
            let Some(frames) = self.gateway.open(&packet) else { continue };
            let mut r = Reader::new(&frames);
            while !r.is_empty() {
                match Frame::parse(&mut r).expect("a frame") {
                    Frame::Chunk(chunk) => self.see(&chunk),
                    Frame::Open(_) => self.opened = true,
                    _ => {}
                }
            }
        }
        if self.opened {
            self.say(&[Frame::Opened { stream: 1, stored_below: self.stored }]);
        }
    }

    fn see(&mut self, chunk: &Chunk<'_>) {
        let from = self.pushed.place(chunk.number, chunk.offset).expect("a position that was pushed");
        let mut expected = self.pushed.bytes[from..from + chunk.bytes.len()].to_vec();
        if crate::planted::here() && chunk.offset > 0 && chunk.number % 4 == 3 {
            // A part of a later record has been shifted.
            expected.rotate_left(1);
        }
        assert_eq!(chunk.bytes, expected, "the bytes at {}+{}", chunk.number, chunk.offset);
        assert_eq!(chunk.rest, self.pushed.rest(from), "what is left at {}+{}", chunk.number, chunk.offset);
        self.arrived.resize(self.pushed.bytes.len(), false);
        self.arrived[from..from + chunk.bytes.len()].fill(true);
        let whole = |seen: u64| {
            let record = self.pushed.starts[seen as usize]..self.pushed.starts[seen as usize + 1];
            self.arrived[record].iter().all(|arrived| *arrived)
        };
        self.seen = (self.seen..self.pushed.len()).find(|seen| !whole(*seen)).unwrap_or(self.pushed.len());
    }

    fn acknowledge(&mut self) {
        let ack = self.gateway.ack();
        if !ack.is_empty() {
            self.give(&ack);
        }
    }

    fn check(&self) {
        let stream = self.sender.outbound(0);
        assert_eq!(stream.next(), self.pushed.len());
        assert_eq!(stream.stored_below(), self.stored);
        assert!(stream.received_below() >= self.stored && stream.received_below() <= self.pushed.len());
    }

    /// With a patient and generous receiver everything is seen and stored in the end.
    fn finish(&mut self) {
        for _ in 0..200 {
            if self.stored == self.pushed.len() {
                return;
            }
            self.say(&[Frame::Credit(1 << 20)]);
            self.transmit(false);
            self.acknowledge();
            self.store(u64::MAX >> 1);
            self.check();
            // Whatever has backed off in silence takes its time.
            self.pass(self.sender.timeout().saturating_sub(self.now).clamp(100_000, 1 << 27));
        }
        panic!("{} of {} records are stored", self.stored, self.pushed.len());
    }
}
