//! An endpoint with two peers: one is played by an attack, the other is a real one that wants its records delivered.

use super::channel::{Channel, Key, WIDE, hello, hello_packet};
use super::node::{Driver, Node, at};
use super::report::Report;
use std::collections::VecDeque;
use std::net::SocketAddr;
use tallylink_core::wire::{Frame, Limits, Reader};
use tallylink_core::{
    Boot, Config, Discard, End, EpochSource, Fault, Handled, Label, Name, OutIx, Path, PeerId, PeerIx, Totals,
};

/// The peer that misbehaves, and the real one, as the attacked end numbers them.
const RAW: PeerIx = PeerIx(0);
const REAL: PeerIx = PeerIx(1);
const KEYS: [(PeerId, Key); 2] = [(PeerId([1; 8]), [0x11; 16]), (PeerId([2; 8]), [0x22; 16])];
/// One way, between the attacked end and the real peer.
const DELAY_US: u64 = 100;
/// Datagrams of the attack come so fast.
const GAP_US: u64 = 50;
/// So many HELLOs in a second are answered whoever asks.
const BETWEEN_HELLOS_US: u64 = 100_000;
/// The real peer pushes a record after so many of them.
const TURN: u64 = 64;
/// A record of the real peer may take so long.
const PATIENCE_US: u64 = 20_000_000;

/// A device repeats its HELLO sooner than this.
const LONGEST_SILENCE_US: u64 = 120_000_000;

/// Tells nanoseconds from any point in time on.
pub type Clock = fn() -> u64;

/// What an attack plays on.
pub struct Stage {
    /// Virtual time, in microseconds.
    pub now: u64,
    /// The session of the peer that misbehaves.
    pub channel: Channel,
    /// Frames that the attacked end sent it, packet by packet, since they were last taken out.
    pub heard: Vec<Vec<u8>>,
    on: End,
    victim: Node,
    real: Node,
    raw: SocketAddr,
    nonce: u64,
    pushed: u64,
    begun: u64,
    wire: VecDeque<(u64, bool, Vec<u8>)>,
    /// Datagrams for the raw peer that are not of its session.
    strange: Vec<Vec<u8>>,
    clock: Clock,
    pub(super) report: Report,
}

impl Stage {
    /// Both sessions live, and the real peer's first record is delivered. `on` is the end that is attacked; its streams have
    /// rings of 2^`ring_bits` bytes.
    #[must_use]
    pub fn new(on: End, config: &Config, ring_bits: u32, clock: Clock) -> Self {
        let (victim, other) = match on {
            End::Gateway => ("10.0.0.1:2000", End::Device),
            End::Device => ("10.0.0.1:1000", End::Gateway),
        };
        let raw: SocketAddr = "10.0.0.66:6666".parse().expect("an address");
        let victim = Node::new(config, on, victim, KEYS, ring_bits, Driver::default());
        // To the real peer the attacked end is its second peer, too; its first never shows up.
        let real = Node::new(config, other, "10.0.0.2:3000", KEYS, ring_bits, Driver::default());
        let mut stage = Self {
            now: 0,
            channel: unlinked(),
            heard: vec![],
            on,
            victim,
            real,
            raw,
            nonce: 0,
            pushed: 0,
            begun: 0,
            wire: VecDeque::new(),
            strange: vec![],
            clock,
            report: Report::default(),
        };
        stage.begin(ring_bits);
        stage.renew();
        stage.report = Report::default();
        stage
    }

    fn begin(&mut self, ring_bits: u32) {
        let (name, source) = (Name::new("s").expect("a name"), EpochSource::FirstSession);
        let ring = |of: u32| of << ring_bits..(of + 1) << ring_bits;
        let (to_raw, to_real) = (Path::to(self.raw), Path::to(self.real.address));
        let victim = &mut self.victim.endpoint;
        match self.on {
            End::Gateway => {
                let real = &mut self.real.endpoint;
                real.open(at(0), OutIx(1), REAL, name, source, 0, ring(1)).expect("a free stream");
                real.connect(at(0), REAL, Path::to(self.victim.address)).expect("a peer");
            }
            End::Device => {
                victim.open(at(0), OutIx(0), RAW, name.clone(), source, 0, ring(0)).expect("a free stream");
                victim.open(at(0), OutIx(1), REAL, name, source, 0, ring(1)).expect("a free stream");
                victim.connect(at(0), RAW, to_raw).expect("a peer");
                victim.connect(at(0), REAL, to_real).expect("a peer");
                self.push(1, 61);
            }
        }
        self.serve();
    }

    /// Ends what the raw peer has, and begins a session.
    ///
    /// # Panics
    /// The attacked end does not let it.
    pub fn renew(&mut self) {
        assert!(self.try_renew(), "the device asks for no session");
    }

    /// ... unless a device that is attacked needs none.
    pub fn try_renew(&mut self) -> bool {
        self.nonce += 1;
        self.pass(BETWEEN_HELLOS_US);
        match self.on {
            End::Gateway => {
                self.ask();
                true
            }
            End::Device => self.answer(),
        }
    }

    /// The HELLO of an exchange of its own.
    #[must_use]
    pub fn hello(&mut self) -> Vec<u8> {
        self.nonce += 1;
        hello_packet(&self.hello_of(self.nonce), KEYS[0].1)
    }

    /// A WELCOME that answers a HELLO of the raw peer itself.
    #[must_use]
    pub fn welcome(&mut self) -> Vec<u8> {
        let hello = self.hello();
        Channel::gateway(KEYS[0].1, &hello, WIDE).expect("a HELLO").1
    }

    /// Begins a session whose first packet has this number; it is not sent yet.
    pub fn begin_at(&mut self, number: u64) {
        self.nonce += 1;
        self.pass(BETWEEN_HELLOS_US);
        self.channel = self.asked();
        self.channel.next = number;
    }

    fn hello_of(&self, nonce: u64) -> tallylink_core::wire::Hello<'static> {
        let nonce = (u128::from(nonce) << 64 | 0x99).to_be_bytes();
        hello(KEYS[0].0, nonce, Boot([1; 8]), 3, WIDE)
    }

    /// The device end of a session that is not live yet.
    fn asked(&mut self) -> Channel {
        let hello = self.hello_of(self.nonce);
        let mut packet = hello_packet(&hello, KEYS[0].1);
        let answer = self.victim.take(self.now, self.raw, &mut packet);
        let Ok(Handled::Reply(len)) = answer else { panic!("{answer:?}") };
        Channel::device(KEYS[0].1, &hello, &packet[..len]).expect("a WELCOME")
    }

    fn ask(&mut self) {
        self.channel = self.asked();
        let ping = self.channel.seal(0, &[1]);
        self.channel.next = 1;
        self.heard.clear();
        let handled = self.victim.take(self.now, self.raw, &mut ping.clone());
        assert_eq!(handled, Ok(Handled::Data(RAW)), "the session goes live");
        self.flush();
        let label = self.frames().iter().find_map(|frames| label_in(frames));
        self.channel.use_label(label.expect("the gateway names its label"));
    }

    fn answer(&mut self) -> bool {
        let until = self.now + LONGEST_SILENCE_US;
        // Nothing of what it states holds the attacked end back.
        let limits = Limits { held: u16::MAX, ack_window: 1 << 20, ..WIDE };
        while self.now < until {
            let hellos = std::mem::take(&mut self.strange);
            if let Some(hello) = hellos.iter().rfind(|packet| packet.starts_with(&[0, 1])) {
                let (channel, mut welcome) = Channel::gateway(KEYS[0].1, hello, limits).expect("a HELLO");
                self.heard.clear();
                // It may have given that exchange up.
                if self.victim.take(self.now, self.raw, &mut welcome) == Ok(Handled::Session) {
                    self.channel = channel;
                    self.flush();
                    return true;
                }
            }
            let next = self.victim.timeout().min(self.now + 100_000);
            self.run(next.max(self.now + 1));
        }
        false
    }

    /// Whether the raw peer's session lives.
    #[must_use]
    pub fn lives(&mut self) -> bool {
        self.victim.endpoint.storage().peer(RAW).has_session()
    }

    /// Device attacked: pushes records of this size into the stream to the raw peer, as many as fit; says how many.
    pub fn push(&mut self, records: usize, size: usize) -> usize {
        let record = vec![7; size];
        let pushed = |_: &usize| self.victim.endpoint.push(at(self.now), OutIx(0), &record).is_ok();
        (0..records).take_while(pushed).count()
    }

    /// Device attacked: the newest record that a chunk to the raw peer began with.
    pub fn begun(&mut self) -> u64 {
        let begun = self.frames().iter().filter_map(|frames| chunk_in(frames)).max();
        self.begun = self.begun.max(begun.unwrap_or(0));
        self.begun
    }

    /// Seals these frames under the next number and hands the packet over; says what came of it.
    pub fn give(&mut self, frames: &[u8]) -> &'static str {
        let packet = self.channel.seal(self.channel.next, frames);
        self.channel.next += 1;
        self.give_packet(packet)
    }

    /// ... this datagram.
    pub fn give_packet(&mut self, mut packet: Vec<u8>) -> &'static str {
        self.now += GAP_US;
        let faults = self.faults();
        let calls = self.victim.driver.calls;
        let began = (self.clock)();
        let handled = self.victim.take(self.now, self.raw, &mut packet);
        let cost = (self.clock)().saturating_sub(began);
        self.victim.store(self.now);
        let outcome = match handled {
            Ok(Handled::Reply(_)) => "answered",
            Ok(_) => "accepted",
            Err(Discard::EndedByFault) => {
                let now = self.faults();
                let grown = Fault::ALL.iter().zip(faults.iter().zip(&now)).find(|(_, (before, now))| now > before);
                grown.map_or("ended", |(fault, _)| fault.name())
            }
            Err(why) => why.name(),
        };
        self.report.note(outcome, cost, self.victim.driver.calls - calls);
        self.flush();
        if self.report.datagrams.is_multiple_of(TURN) {
            self.serve();
        }
        outcome
    }

    fn faults(&self) -> Vec<u64> {
        Fault::ALL.iter().map(|fault| self.victim.endpoint.counters().faults(*fault)).collect()
    }

    /// Takes out what the attacked end said in the raw peer's session.
    pub fn frames(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.heard)
    }

    /// What the attacked end has sent and received.
    #[must_use]
    pub fn totals(&self) -> Totals {
        *self.victim.endpoint.totals()
    }

    /// What came of the datagrams so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Lets time pass for everybody.
    pub fn pass(&mut self, us: u64) {
        self.run(self.now + us);
    }

    /// The real peer sends a record and gets it stored, in the session that it has had from the beginning.
    ///
    /// # Panics
    /// It does not.
    pub fn serve(&mut self) {
        self.pushed += 1;
        let (sender, receiver) = match self.on {
            End::Gateway => (&mut self.real, &self.victim),
            End::Device => (&mut self.victim, &self.real),
        };
        let (before, number) = (receiver.driver.records[REAL.at()], self.pushed - 1);
        sender.endpoint.push(at(self.now), OutIx(1), b"a record of the real peer").expect("there is room");
        let until = self.now + PATIENCE_US;
        self.flush();
        while self.stored() <= number {
            assert!(self.now < until, "record {number} of the real peer is not stored");
            let next = self.next().min(until);
            self.run(next.max(self.now + 1));
        }
        let receiver = if self.on == End::Gateway { &self.victim } else { &self.real };
        assert_eq!(receiver.driver.records[REAL.at()], before + 1, "it is delivered once");
        assert_eq!(self.real.endpoint.totals().sessions, 1, "its session is the first");
        self.report.served += 1;
    }

    fn stored(&self) -> u64 {
        let sender = if self.on == End::Gateway { &self.real } else { &self.victim };
        sender.outbound(1).stored_below()
    }

    fn next(&self) -> u64 {
        let arrival = self.wire.iter().map(|w| w.0).min().unwrap_or(u64::MAX);
        arrival.min(self.victim.timeout()).min(self.real.timeout())
    }

    fn run(&mut self, until: u64) {
        loop {
            self.flush();
            let next = self.next();
            if next > until {
                self.now = self.now.max(until);
                return;
            }
            self.now = self.now.max(next);
            for node in [&mut self.victim, &mut self.real] {
                if node.timeout() <= self.now {
                    node.endpoint.handle_timeout(at(self.now));
                }
            }
            self.report.turns += 1;
            self.arrive();
        }
    }

    fn arrive(&mut self) {
        let (now, arrived): (_, Vec<_>) = (self.now, self.wire.iter().filter(|w| w.0 <= self.now).cloned().collect());
        self.wire.retain(|w| w.0 > now);
        for (_, to_victim, mut bytes) in arrived {
            let (node, from) = match to_victim {
                true => (&mut self.victim, self.real.address),
                false => (&mut self.real, self.victim.address),
            };
            if let Ok(Handled::Reply(len)) = node.take(now, from, &mut bytes) {
                bytes.truncate(len);
                self.wire.push_back((now + DELAY_US, !to_victim, bytes));
            }
            node.store(now);
        }
    }

    fn flush(&mut self) {
        for (_, bytes) in self.real.transmit(self.now) {
            self.wire.push_back((self.now + DELAY_US, true, bytes));
        }
        for (to, bytes) in self.victim.transmit(self.now) {
            if to == self.real.address {
                self.wire.push_back((self.now + DELAY_US, false, bytes));
                continue;
            }
            self.report.sent += 1;
            self.report.bytes_sent += bytes.len() as u64;
            match self.channel.open(&bytes) {
                Some(frames) => self.heard.push(frames),
                None => self.strange.push(bytes),
            }
        }
    }
}

/// Before there is a session: what it seals nobody opens.
fn unlinked() -> Channel {
    let hello = hello(PeerId([0; 8]), [0; 16], Boot([0; 8]), 1, WIDE);
    let (channel, _) = Channel::gateway([0; 16], &hello_packet(&hello, [0; 16]), WIDE).expect("a HELLO");
    channel
}

fn label_in(frames: &[u8]) -> Option<Label> {
    frames_in(frames).find_map(|frame| match frame {
        Frame::Label(label) => Some(label),
        _ => None,
    })
}

fn chunk_in(frames: &[u8]) -> Option<u64> {
    frames_in(frames).find_map(|frame| match frame {
        Frame::Chunk(chunk) => Some(chunk.number),
        _ => None,
    })
}

fn frames_in(frames: &[u8]) -> impl Iterator<Item = Frame<'_>> {
    let mut r = Reader::new(frames);
    std::iter::from_fn(move || if r.is_empty() { None } else { Frame::parse(&mut r).ok() })
}
