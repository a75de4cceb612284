//! ACKs, and what they say was lost (wire-format §8.2; RFC 9002 §6).

use super::Cx;
use super::receive::Stop;
use crate::crypto::Crypto;
use crate::discard::Fault;
use crate::ids::{LinkIx, OutIx, PeerIx};
use crate::link::Link;
use crate::recovery::congestion::Acked;
use crate::recovery::rtt::MAX_ACK_DELAY;
use crate::recovery::sent::{Carried, Flight, Sent, Slot, State, stream_links};
use crate::storage::of_link;
use crate::time::{Duration, Instant};
use crate::wire::{AckRanges, EcnCounts, PacketRange};

/// The most ranges of one ACK that are looked at; the largest numbers come first.
const RANGES: usize = 64;
/// So many repeats of one chunk are followed when an ACK comes late.
const REPEATS: usize = 16;
/// The most numbers of one ACK that are looked up among packets that were declared lost.
const LATE: u64 = 128;

impl<C: Crypto> Cx<'_, C> {
    pub(super) fn on_ack(
        &mut self,
        ix: LinkIx,
        at: PeerIx,
        delay_us: u64,
        ranges: AckRanges<'_>,
        ecn: Option<EcnCounts>,
    ) -> Result<(), Stop> {
        let (next, marks) = self.p.peers.get(at.at()).map_or((0, false), |p| (p.session.tx_next, p.session.ecn));
        if ecn.is_some() && !self.st.config.ecn {
            // It was not announced.
            return Err(Stop::Fault(Fault::BadFrame));
        }
        let largest = ranges.largest();
        if largest >= next {
            return Err(Stop::Fault(Fault::AckOfUnsent));
        }
        let mut table = heapless::Vec::<PacketRange, RANGES>::new();
        ranges.into_iter().map_while(|r| table.push(r).ok()).for_each(drop);
        let skipped = self.p.links.get(ix.at()).and_then(|l| l.recovery.skipped);
        if skipped.is_some_and(|n| table.iter().any(|r| r.low <= n && n <= r.high)) {
            return Err(Stop::Fault(Fault::AckOfUnsent));
        }
        // Nothing comes late where nothing was lost.
        let remembers = self.p.links.get(ix.at()).is_some_and(|l| l.flight.remembers);
        let late = if remembers { self.find_late(ix, &table, next) } else { None };
        let flight = self.p.links.get(ix.at()).map_or(0, |l| l.flight.bytes);
        let newly = self.take_acknowledged(ix, &table, next);
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return Ok(());
        };
        let mut sample = None;
        // An ACK is news, too, when STORED has taken what it acknowledges out of flight already.
        let larger = link.recovery.largest_acked.is_none_or(|l| largest > l);
        if newly.any || larger {
            if larger {
                link.recovery.largest_acked = Some(largest);
            }
            link.recovery.oldest_unacked = largest.saturating_add(1).max(link.recovery.oldest_unacked);
            if let (Some(sent), true) = (newly.largest_sent_at.or(late), larger) {
                let delay = Duration::from_micros(delay_us).min(MAX_ACK_DELAY);
                link.rtt.sample(self.now.since(sent), delay);
                sample = Some(self.now.since(sent));
                if let Some(peer) = self.p.peers.get_mut(at.at()) {
                    peer.rtt_us = u32::try_from(link.rtt.memory().as_micros()).unwrap_or(u32::MAX);
                }
            }
            if newly.any || late.is_some() {
                (link.recovery.probes, link.recovery.unanswered) = (0, 0);
                link.recovery.probe_due = 0;
            }
            // The old session answers: there is no reason to leave it.
            if link.exchange.as_ref().is_some_and(|e| e.doubt) {
                link.exchange = None;
            }
            let acked = Acked { now: self.now, bytes: newly.bytes, largest, next, sample, rtt: link.rtt.smoothed() };
            link.cc.acknowledged(&acked, flight);
            if larger && marks && link.marks.acknowledged(newly.marked, ecn) {
                // RFC 9000 §13.4.2.2: as a loss of the newest packet would be.
                let sent = newly.largest_sent_at.or(late).unwrap_or(self.now);
                link.cc.marked(sent, self.now);
                self.st.totals.marks_heeded = self.st.totals.marks_heeded.saturating_add(1);
            }
            self.validated(ix, at, largest);
        }
        self.detect_losses(ix, newly.oldest_sent_at);
        if newly.black_hole {
            self.black_hole(ix);
        }
        self.wake(ix);
        Ok(())
    }

    /// Takes the packets that are acknowledged out of flight. The flight list has only what is out, in order, and the
    /// ranges are walked beside it: nothing else is looked at.
    fn take_acknowledged(&mut self, ix: LinkIx, ranges: &[PacketRange], next: u64) -> Newly {
        let mut newly = Newly {
            any: false,
            black_hole: false,
            bytes: 0,
            marked: 0,
            oldest_sent_at: Instant::NEVER,
            largest_sent_at: None,
        };
        let each = self.st.config.in_flight as usize;
        let Some(link) = self.p.links.get(ix.at()) else {
            return newly;
        };
        let largest = ranges.first().map_or(0, |r| r.high);
        let mut ascending = ranges.iter().rev().peekable();
        let mut slot = link.flight.out.front;
        let mut moved = OutIx::NONE;
        while let Some(here) = slot.some() {
            let table = of_link(self.p.sent, ix, each);
            let Some(sent) = table.get(here.0 as usize) else { break };
            slot = sent.in_list.next;
            let number = next.saturating_sub(u64::from((next as u32).wrapping_sub(sent.number)));
            while ascending.next_if(|r| r.high < number).is_some() {}
            let Some(range) = ascending.peek() else { break };
            if number < range.low {
                continue;
            }
            let Some(link) = self.p.links.get_mut(ix.at()) else { break };
            newly.any = true;
            newly.oldest_sent_at = newly.oldest_sent_at.min(sent.sent_at);
            if number == largest {
                newly.largest_sent_at = Some(sent.sent_at);
            }
            if !sent.carried.has(Carried::PROBE) && link.cc.counts(sent.sent_at) {
                newly.bytes = newly.bytes.saturating_add(u64::from(sent.size));
            }
            newly.marked = newly.marked.saturating_add(u64::from(sent.carried.has(Carried::MARKED)));
            if !sent.carried.has(Carried::SIZE) {
                newly.black_hole |= link.mtu.acknowledged(sent.size, sent.sent_at);
            }
            let (stream, carried) = (sent.stream, sent.carried);
            link.flight.free(table, here);
            let only_chunk = carried.has(Carried::CHUNK) && !carried.has(Carried::SKIP);
            match self.p.outbound.get_mut(stream.at()).filter(|_| only_chunk) {
                // The stream's next chunk most often: only the last of a run moves what is RECEIVED.
                Some(s) if s.unacked.front == here => {
                    s.unacked.remove(table, here, stream_links);
                    if moved != stream {
                        self.received_moved(ix, core::mem::replace(&mut moved, stream));
                    }
                }
                _ => {
                    let Some(sent) = table.get(here.0 as usize).copied() else { break };
                    if carried.has(Carried::SIZE) {
                        self.size_arrived(ix, &sent);
                    }
                    self.chunk_arrived(ix, here, &sent);
                }
            }
        }
        self.received_moved(ix, moved);
        newly
    }

    /// A packet with SKIP is lost: if it was the newest, SKIP leaves again.
    pub(super) fn skip_lost(&mut self, ix: LinkIx, stream: OutIx, number: u32) {
        if let Some(s) = self.p.outbound.get_mut(stream.at()).filter(|s| s.skip_packet == number) {
            s.skip_out = false;
            self.queue_stream(ix, stream);
        }
    }

    /// What a packet carried has arrived.
    fn chunk_arrived(&mut self, ix: LinkIx, slot: Slot, sent: &Sent) {
        let (stream, carried) = (sent.stream, sent.carried);
        if carried.has(Carried::SKIP)
            && let Some(s) = self.p.outbound.get_mut(stream.at())
            && s.skip_out
            && s.skip_packet == sent.number
        {
            (s.skip, s.skip_out) = (None, false);
            // Another epoch may begin now.
            self.tell_out(stream, |news| news.stored = true);
        }
        if !carried.has(Carried::CHUNK) {
            return;
        }
        let table = of_link(self.p.sent, ix, self.st.config.in_flight as usize);
        let Some(s) = self.p.outbound.get_mut(stream.at()) else {
            return;
        };
        let front = s.unacked.front;
        s.unacked.remove(table, slot, stream_links);
        if front == slot {
            self.received_moved(ix, stream);
        }
    }

    /// The oldest unacknowledged chunk of a stream is another one now.
    pub(super) fn received_moved(&mut self, ix: LinkIx, stream: OutIx) {
        let table = of_link(self.p.sent, ix, self.st.config.in_flight as usize);
        let Some(s) = self.p.outbound.get_mut(stream.at()) else {
            return;
        };
        let below = match s.unacked.front.some().and_then(|f| table.get(f.0 as usize)) {
            Some(front) => front.start.number,
            None => s.cursor.number,
        };
        let waits = s.waits_for_stored();
        if below > s.received {
            s.received = below;
            self.tell_out(stream, |news| news.received = true);
        }
        // Room ahead of the gap (Q) may have opened.
        self.queue_stream(ix, stream);
        if waits {
            self.await_stored(ix);
        }
    }

    /// Recognises ACKs that come after their packet was declared lost.
    /// Returns when the largest number was sent, if it was declared lost.
    fn find_late(&mut self, ix: LinkIx, ranges: &[PacketRange], next: u64) -> Option<Instant> {
        let each = self.st.config.in_flight as usize;
        let mut budget = LATE;
        let mut largest_sent_at = None;
        for (at, range) in ranges.iter().enumerate() {
            let mut number = range.low.max(next.saturating_sub(each as u64)).max(range.high.saturating_sub(budget));
            while number <= range.high && budget > 0 {
                budget = budget.saturating_sub(1);
                let sent_at = self.late(ix, number);
                if at == 0 && number == range.high {
                    largest_sent_at = sent_at;
                }
                number = number.saturating_add(1);
            }
        }
        largest_sent_at
    }

    fn late(&mut self, ix: LinkIx, number: u64) -> Option<Instant> {
        let table = of_link(self.p.sent, ix, self.st.config.in_flight as usize);
        let slot = Flight::find(table, number)?;
        let sent = table.get(slot.0 as usize).copied()?;
        let link = self.p.links.get_mut(ix.at())?;
        if !matches!(sent.state, State::Lost | State::Repeated) {
            return None;
        }
        link.flight.free(table, slot);
        self.st.totals.losses_spurious = self.st.totals.losses_spurious.saturating_add(1);
        if sent.carried.has(Carried::SIZE) {
            self.size_arrived(ix, &sent);
        } else {
            // What was declared lost is no sign of a black hole.
            let _ = link.mtu.acknowledged(sent.size, sent.sent_at);
        }
        let link = self.p.links.get_mut(ix.at())?;
        link.arrived_late(&sent, self.now, self.st.config.in_flight);
        match sent.state {
            State::Lost => self.chunk_arrived(ix, slot, &sent),
            _ => self.repeats_arrived(ix, &sent),
        }
        Some(sent.sent_at)
    }

    /// What a packet carried has arrived after all: whatever repeats it need not.
    fn repeats_arrived(&mut self, ix: LinkIx, sent: &Sent) {
        let mut slot = sent.in_list.next;
        for _ in 0..REPEATS {
            let table = of_link(self.p.sent, ix, self.st.config.in_flight as usize);
            let Some(repeat) = slot.some().and_then(|s| table.get(s.0 as usize)).copied() else { return };
            // The slot may be another packet's by now. What lies within the chunk has arrived, whichever packet has it.
            let within = repeat.start >= sent.start && repeat.end() == sent.end();
            if repeat.stream != sent.stream || !within || !repeat.carried.has(Carried::CHUNK) {
                return;
            }
            if repeat.outstanding() {
                if let Some(link) = self.p.links.get_mut(ix.at()) {
                    link.flight.free(table, slot);
                }
                // Its chunk has arrived, by another packet; a SKIP that left with it may not have.
                if repeat.carried.has(Carried::SKIP) {
                    self.skip_lost(ix, repeat.stream, repeat.number);
                }
                self.chunk_arrived(ix, slot, &Sent { carried: Carried::CHUNK, ..repeat });
                return;
            }
            slot = repeat.in_list.next;
        }
    }

    /// Declares packets lost that were overtaken by enough others or for long enough (RFC 9002 §6.1).
    /// The oldest packet that was acknowledged just before was sent at `acknowledged_from`.
    pub(super) fn detect_losses(&mut self, ix: LinkIx, acknowledged_from: Instant) {
        let each = self.st.config.in_flight as usize;
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        link.recovery.loss_at = Instant::NEVER;
        let Some(largest) = link.recovery.largest_acked else {
            return;
        };
        let (threshold, delay) = (link.recovery.reordering.packets(), link.recovery.reordering.delay(&link.rtt));
        let (mut first, mut last) = (None, self.now);
        loop {
            let table = of_link(self.p.sent, ix, each);
            let Some(link) = self.p.links.get_mut(ix.at()) else { return };
            let Some(slot) = link.flight.out.front.some() else { break };
            let Some(sent) = table.get(slot.0 as usize).copied() else {
                break;
            };
            let behind = (largest as u32).wrapping_sub(sent.number);
            if behind == 0 || behind > u32::MAX >> 1 {
                break;
            }
            let overdue = sent.sent_at + delay;
            if behind < threshold && overdue > self.now {
                link.recovery.loss_at = overdue;
                break;
            }
            link.flight.lose(table, slot);
            self.st.totals.packets_lost = self.st.totals.packets_lost.saturating_add(1);
            link.size_lost(&sent, self.now);
            let (stream, number) = (sent.stream, sent.number);
            first.get_or_insert(sent.sent_at);
            last = sent.sent_at;
            if !link.outbound.busy && !sent.carried.has(Carried::PROBE) {
                if link.cc.lost(sent.sent_at, self.now) {
                    link.recovery.reordering.recovery_begins();
                }
                if let Some(sent) = table.get_mut(slot.0 as usize) {
                    sent.carried = sent.carried.with(Carried::COUNTED);
                }
            }
            if sent.carried.has(Carried::SKIP) {
                self.skip_lost(ix, stream, number);
            }
        }
        // RFC 9002 §7.6: everything over three probe timeouts was lost, and nothing between was acknowledged.
        let Some(link) = self.p.links.get_mut(ix.at()) else { return };
        if let Some(first) = first {
            let span = link.rtt.probe_timeout().times(3);
            if last.since(first) > span && acknowledged_from > last && !link.outbound.busy {
                link.cc.persistent_congestion();
            }
            self.wake(ix);
        }
    }
}

impl<K> Link<K> {
    /// A packet that had been declared lost has arrived.
    pub(super) fn arrived_late(&mut self, sent: &Sent, now: Instant, in_flight: u32) {
        if sent.carried.has(Carried::COUNTED) {
            self.recovery.reordering.widen(now.since(sent.sent_at), &self.rtt, in_flight);
            self.cc.not_lost(sent.sent_at);
        }
    }
}

/// What an ACK newly acknowledged.
#[derive(Clone, Copy, Debug)]
struct Newly {
    any: bool,
    /// Only smaller datagrams arrive than those that leave.
    black_hole: bool,
    /// Bytes that let the congestion window grow.
    bytes: u64,
    /// How many had left marked.
    marked: u64,
    /// When the oldest of them was sent.
    oldest_sent_at: Instant,
    /// When the largest number of the ACK was sent, if it is among them.
    largest_sent_at: Option<Instant>,
}
