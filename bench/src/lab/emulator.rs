//! A bad network as a state machine: packets go in with the time, packets come out with the time.
//!
//! It stands between two ends where a router and its cables would stand, and has no clock, no device and no thread of its own:
//! the same packets at the same times with the same seed leave in the same way. What it does to a packet, in this order:
//!
//! 1. a router: too large for the next link → "fragmentation needed", fragments, or silence ([`Profile::mtu`]);
//! 2. an address translator, whose outer address may change ([`Script::moves`]), and someone elsewhere who keeps copies;
//! 3. a queue in front of the slowest link, bounded in bytes;
//! 4. a link that loses, alters and repeats packets;
//! 5. the way: delay, jitter, and packets that overtake.
//!
//! Both directions are alike, each with chances of its own.

pub(crate) mod addresses;
mod chance;
mod counters;
mod elsewhere;
mod fragment;
mod icmp;
mod ip;
mod link;
mod profile;
mod script;
#[cfg(test)]
mod tests;
mod translator;

use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};

pub(crate) use counters::{Counters, Queue};
pub(crate) use profile::{Jitter, Profile};
pub(crate) use script::{Forgery, Script};

use self::{elsewhere::Elsewhere, ip::Header, link::Link, translator::Translator};
use crate::transport::side::End;

/// The network between two ends.
pub(crate) struct Emulator {
    profile: Profile,
    script: Script,
    /// What leaves the sender, then what leaves the receiver.
    links: [Link; 2],
    translator: Translator,
    elsewhere: Elsewhere,
    counters: Counters,
    /// By the time of departure, then in the order of arrival.
    under_way: BinaryHeap<Reverse<Scheduled>>,
    order: u64,
    /// Buffers of packets that are gone.
    spare: Vec<Vec<u8>>,
}

/// A packet that will leave towards `to`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Scheduled {
    at: Duration,
    order: u64,
    to_receiver: bool,
    packet: Vec<u8>,
}

/// No more buffers are kept for later.
const SPARE_MOST: usize = 4096;

impl Emulator {
    pub(crate) fn new(profile: Profile, script: Script, seed: u64) -> Self {
        Self {
            links: [Link::new(&profile, seed), Link::new(&profile, !seed)],
            translator: Translator::default(),
            elsewhere: Elsewhere::new(&script),
            profile,
            script,
            counters: Counters::default(),
            under_way: BinaryHeap::new(),
            order: 0,
            spare: Vec::new(),
        }
    }

    /// Takes what `from` sent. `now` never goes back.
    pub(crate) fn arrive(&mut self, now: Duration, from: End, bytes: &[u8]) {
        self.play(now);
        let Some(header) = Header::parse(bytes).filter(|header| !header.destination.is_multicast()) else {
            // Neighbour and listener discovery, which a router keeps to itself.
            self.counters.not_forwarded += 1;
            return;
        };
        self.counters.arrived += 1;
        self.counters.arrived_bytes += bytes.len() as u64;
        let mtu = self.script.mtu_at(now).unwrap_or(self.profile.mtu);
        if bytes.len() <= usize::from(mtu) {
            let mut packet = self.buffer();
            packet.extend_from_slice(bytes);
            self.forward(now, from, packet);
        } else {
            self.too_big(now, from, bytes, &header, mtu);
        }
    }

    /// When something leaves next, if nothing arrives before.
    pub(crate) fn next(&self) -> Option<Duration> {
        let departure = self.under_way.peek().map(|Reverse(next)| next.at);
        departure.into_iter().chain(self.elsewhere.next()).min()
    }

    /// The next packet that has left by `now`, handed to `take` with the end it goes to.
    pub(crate) fn depart(&mut self, now: Duration, take: impl FnOnce(End, &[u8])) -> bool {
        self.play(now);
        let due = self.under_way.peek().is_some_and(|Reverse(next)| next.at <= now);
        let Some(Reverse(next)) = due.then(|| self.under_way.pop()).flatten() else {
            return false;
        };
        self.counters.departed += 1;
        take(if next.to_receiver { End::Receiver } else { End::Sender }, &next.packet);
        if self.spare.len() < SPARE_MOST {
            self.spare.push(next.packet);
        }
        true
    }

    /// What became of all packets so far.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What went through the queue of what `from` sends.
    pub(crate) fn queue(&self, from: End) -> &Queue {
        self.links[usize::from(from == End::Receiver)].queue()
    }

    /// Does what the script has for the time until `now`.
    fn play(&mut self, now: Duration) {
        while self.script.move_due(now) {
            self.translator.move_on();
            self.counters.moves += 1;
        }
        while let Some(injected) = self.elsewhere.inject(now, &mut self.counters) {
            self.schedule(now, injected.to, injected.packet);
        }
    }

    fn too_big(&mut self, now: Duration, from: End, bytes: &[u8], header: &Header, mtu: u16) {
        if !self.profile.icmp {
            self.counters.too_big_silently += 1;
        } else if header.may_fragment {
            self.counters.fragmented += 1;
            for fragment in fragment::split(bytes, header, usize::from(mtu)) {
                self.forward(now, from, fragment);
            }
        } else {
            self.counters.too_big_told += 1;
            let router = addresses::router(header.source);
            if let Some(answer) = icmp::too_big(bytes, mtu, router, header.source) {
                // It has the way back before it, and no queue.
                self.schedule(now + self.profile.delay, from, answer);
            }
        }
    }

    /// Everything behind the first router.
    fn forward(&mut self, now: Duration, from: End, mut packet: Vec<u8>) {
        if !self.translator.translate(from, &mut packet) {
            self.counters.to_old_address += 1;
            return;
        }
        if from == End::Sender {
            self.elsewhere.see(now, &packet);
        }
        let link = &mut self.links[usize::from(from == End::Receiver)];
        let Some(passage) = link.pass(now, &mut packet, &mut self.counters) else {
            return;
        };
        let to = if from == End::Sender { End::Receiver } else { End::Sender };
        if let Some(again) = passage.again {
            let copy = packet.clone();
            self.schedule(again, to, copy);
        }
        self.schedule(passage.at, to, packet);
    }

    fn schedule(&mut self, at: Duration, to: End, packet: Vec<u8>) {
        self.order += 1;
        let to_receiver = to == End::Receiver;
        self.under_way.push(Reverse(Scheduled { at, order: self.order, to_receiver, packet }));
    }

    fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }
}
