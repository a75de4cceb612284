//! A receiver against a plain list of what was sent: whatever order the parts come in, however they overlap, however often, and whether
//! there is room, what is delivered is the beginning of the stream, and what is acknowledged came.

use super::bytes::Bytes;
use super::inbox::Inbox;
use super::model::{Stream, limits};
use std::collections::BTreeSet;
use tallylink_core::wire::{Chunk, Frame, Open, Reader, Writer};
use tallylink_core::{Boot, Discard, End, Epoch, Handled, InIx, Label, PeerId};
use tallylink_sim::hostile::{Channel, Node, WIDE, at, hello, hello_packet};

const KEY: [u8; 16] = [7; 16];
const DEVICE: &str = "10.0.0.9:1000";
const EPOCH: Epoch = Epoch([3; 8]);
const RECORDS: usize = 40;
/// The most steps of one input.
const MOST: usize = 200;

struct Play {
    now: u64,
    gateway: Node<Inbox>,
    device: Channel,
    sent: Stream,
    /// Numbers of packets that were taken.
    taken: BTreeSet<u64>,
    /// Packets to be sent again as they are.
    old: Vec<Vec<u8>>,
}

/// Each byte is a step; a part of the stream takes three more, for where it begins and how long it is.
pub fn receiver_ops(data: &[u8]) {
    let mut bytes = Bytes(data);
    let mut play = Play::begin();
    for _ in 0..MOST {
        let Some(step) = bytes.byte() else { break };
        match step & 7 {
            0..=3 => {
                let (from, len) = (bytes.short().unwrap_or(0), bytes.byte().unwrap_or(0));
                play.part(usize::from(from), usize::from(len) << (step >> 3 & 3));
            }
            4 => play.room(step & 8 == 0),
            5 => play.pass(1 << (step >> 3 & 15)),
            6 => play.store(),
            _ => play.repeat(usize::from(step >> 3)),
        }
        play.check();
    }
    play.finish();
}

impl Play {
    fn begin() -> Self {
        let peers = [(PeerId([5; 8]), KEY), (PeerId([6; 8]), KEY)];
        let mut gateway = Node::new(&limits(), End::Gateway, "10.0.0.1:2000", peers, 8, Inbox::default());
        let hello = hello(peers[0].0, [1; 16], Boot([1; 8]), 1, WIDE);
        let mut packet = hello_packet(&hello, KEY);
        let from = DEVICE.parse().expect("an address");
        let Ok(Handled::Reply(len)) = gateway.take(0, from, &mut packet) else { panic!("no WELCOME") };
        let device = Channel::device(KEY, &hello, &packet[..len]).expect("a WELCOME");
        let mut sent = Stream::new();
        for number in 0..RECORDS {
            let record: Vec<u8> = (0..number * 37 % 300).map(|i| (number * 31 + i * 7) as u8).collect();
            sent.push(&record);
        }
        let mut play = Self { now: 0, gateway, device, sent, taken: BTreeSet::new(), old: vec![] };
        let open = Open { stream: 1, name: "s", epoch: EPOCH, first: 0, previous: None };
        play.give(&[Frame::Open(open)]).expect("the stream is opened");
        play
    }

    fn give(&mut self, frames: &[Frame<'_>]) -> Result<Handled, Discard> {
        let mut buffer = [0; 1400];
        let mut w = Writer::new(&mut buffer);
        frames.iter().for_each(|frame| frame.write(&mut w).expect("there is room"));
        let number = self.device.next;
        self.device.next += 1;
        let packet = self.device.seal(number, w.into_written());
        let handled = self.gateway.take(self.now, DEVICE.parse().expect("an address"), &mut packet.clone());
        if handled.is_ok() {
            self.taken.insert(number);
            self.old.push(packet);
        }
        handled
    }

    /// A part of the stream that begins at a place, or where the record there does if that is inside its size.
    fn part(&mut self, from: usize, len: usize) {
        let from = from % self.sent.bytes.len();
        let (number, offset) = self.sent.position(from);
        let (from, offset) = if offset < 2 { (from - offset as usize, 0) } else { (from, offset) };
        let mut end = (from + len.clamp(1, 1200)).min(self.sent.bytes.len());
        // Nor does it end there.
        if let (_, 1) = self.sent.position(end) {
            end += 1;
        }
        let bytes = self.sent.bytes[from..end.min(self.sent.bytes.len())].to_vec();
        let rest = self.sent.rest(from);
        let chunk = Chunk { stream: 1, number, offset, rest, bytes: &bytes };
        let handled = self.give(&[Frame::Chunk(chunk)]);
        let refused = matches!(handled, Err(Discard::HeldFull | Discard::DeliverFull));
        assert!(handled.is_ok() || refused, "{handled:?} to {number}+{offset}");
    }

    fn repeat(&mut self, back: usize) {
        let Some(packet) = self.old.iter().rev().nth(back).cloned() else { return };
        let handled = self.gateway.take(self.now, DEVICE.parse().expect("an address"), &mut packet.clone());
        let known = matches!(handled, Err(Discard::Duplicate | Discard::TooOld));
        assert!(known, "{handled:?} to a packet that was taken");
    }

    fn room(&mut self, there_is: bool) {
        self.gateway.driver.full = !there_is;
        if there_is {
            self.gateway.endpoint.room(at(self.now), &mut self.gateway.driver);
        }
    }

    fn pass(&mut self, us: u64) {
        self.now += us;
        while self.gateway.timeout() <= self.now {
            self.gateway.endpoint.handle_timeout(at(self.now));
        }
        for (_, packet) in self.gateway.transmit(self.now) {
            self.hear(&packet);
        }
    }

    fn hear(&mut self, packet: &[u8]) {
        let frames = self.device.open(packet).expect("a packet of the session");
        let mut r = Reader::new(&frames);
        while !r.is_empty() {
            match Frame::parse(&mut r).expect("a frame") {
                Frame::Label(Label(label)) => self.device.use_label(Label(label)),
                Frame::Ack { ranges, .. } => {
                    for range in ranges {
                        let came = (range.low..=range.high).all(|number| self.taken.contains(&number));
                        assert!(came, "{range:?} did not come");
                    }
                }
                Frame::Stored { below, .. } => assert!(below <= self.gateway.driver.next.number),
                _ => {}
            }
        }
    }

    fn store(&mut self) {
        let below = self.gateway.driver.next.number;
        self.gateway.endpoint.stored(at(self.now), InIx(0), EPOCH, below);
    }

    fn check(&self) {
        let driver = &self.gateway.driver;
        let mut delivered = driver.bytes.clone();
        if crate::planted::here() && self.gateway.endpoint.totals().chunks_held >= 3 && delivered.len() > 500 {
            // What was held is given out the wrong way round.
            delivered.rotate_left(1);
        }
        assert_eq!(delivered, self.sent.bytes[..driver.bytes.len()], "what is delivered is the beginning");
        let place = self.sent.place(driver.next.number, driver.next.offset);
        assert_eq!(place, Some(driver.bytes.len()), "where delivery stands");
    }

    /// With room, and the rest in order, everything is delivered.
    fn finish(&mut self) {
        self.room(true);
        while self.gateway.driver.bytes.len() < self.sent.bytes.len() {
            let before = self.gateway.driver.bytes.len();
            self.part(before, 200);
            assert!(self.gateway.driver.bytes.len() > before, "nothing is delivered from {before} on");
            self.check();
        }
    }
}
