//! Frames that are said rather than delivered: composed into a small buffer, so that a packet's length is known before the
//! driver touches its socket, and ticked off only when the packet is sealed.

use super::Cx;
use super::state::State;
use crate::crypto::Crypto;
use crate::ids::{LinkIx, OutIx};
use crate::link::{ACK_RANGES, Say};
use crate::peer::End;
use crate::storage::Parts;
use crate::time::Instant;
use crate::wire::frame::{write_ack, write_ack_ecn};
use crate::wire::{EcnCounts, Frame, Open, PacketRange, QueryFor, Writer};

/// The most bytes of such frames in one packet.
pub(super) const CONTROL_MAX: usize = 288;
/// Kept free for OPEN and SKIP of the packet's stream.
const FOR_STREAM: usize = 130;
/// Ranges in one ACK besides those that changed.
const NEWEST: usize = 8;
/// Ranges in one ACK: those that changed, and the newest.
const RANGES: usize = ACK_RANGES + NEWEST;

/// Composed frames. There is one buffer, with the endpoint, and it is never copied.
#[derive(Debug)]
pub(super) struct Control {
    bytes: [u8; CONTROL_MAX],
    len: u16,
    pub(super) said: Said,
}

/// What is ticked off when the composed frames leave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said {
    acked: bool,
    say: Say,
    refused: bool,
    /// How many streams of the dirty list are told about.
    streams: u16,
    /// The packet asks for an ACK because of one of these frames.
    pub(super) elicits: bool,
}

/// A place to go back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    len: u16,
    elicits: bool,
}

impl Control {
    pub(super) const fn new() -> Self {
        let say = Say { label: false, credit: false, busy: false, ping: false, query: false };
        let said = Said { acked: false, say, refused: false, streams: 0, elicits: false };
        Self { bytes: [0; CONTROL_MAX], len: 0, said }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        (self.len, self.said) = (0, Said::default());
    }

    /// The frames.
    pub(super) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// Their length.
    pub(super) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Where it ends now, for [`Control::reset`].
    pub(super) const fn mark(&self) -> Mark {
        Mark { len: self.len, elicits: self.said.elicits }
    }

    /// Takes back what was added since the mark.
    pub(super) const fn reset(&mut self, mark: Mark) {
        (self.len, self.said.elicits) = (mark.len, mark.elicits);
    }

    /// Appends what `write` writes into at most `limit` bytes in all; nothing when it does not fit.
    pub(super) fn add(
        &mut self,
        limit: usize,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), crate::wire::NoRoom>,
    ) -> bool {
        let space = self.bytes.get_mut(usize::from(self.len)..limit.min(CONTROL_MAX)).unwrap_or_default();
        let mut w = Writer::new(space);
        if write(&mut w).is_err() {
            return false;
        }
        self.len = self.len.saturating_add(w.written() as u16);
        true
    }
}

/// What composing looks at; the buffer that it writes lies apart.
pub(super) struct Look<'a, 'p, K> {
    pub(super) st: &'a State,
    pub(super) p: &'a Parts<'p, K>,
    pub(super) now: Instant,
}

impl<K> Look<'_, '_, K> {
    /// Composes what a link has to say in at most `room` bytes. An ACK that is not due goes along only when `company` is
    /// true: something else leaves anyway. What asks for an ACK goes along only with `asks`.
    pub(super) fn compose(&self, ix: LinkIx, room: usize, company: bool, asks: bool, control: &mut Control) {
        control.clear();
        let limit = room.min(CONTROL_MAX.saturating_sub(FOR_STREAM));
        let Some(link) = self.p.links.get(ix.at()) else { return };
        let Some(peer) = self.p.peers.get(link.peer.at()) else { return };
        let due = link.ack.now || link.ack.due <= self.now;
        if due || (company && link.ack.asked > 0) {
            control.said.acked = self.compose_ack(ix, limit, control);
        }
        if !peer.session.confirmed && peer.end == Some(End::Gateway) && (control.len > 0 || company || link.say.label) {
            let label = Frame::Label(peer.session.ours);
            control.said.say.label = control.add(limit, |w| label.write(w));
        }
        if link.say.busy {
            control.said.say.busy = control.add(limit, |w| Frame::Busy.write(w));
        }
        if link.say.credit {
            let credit = Frame::Credit(peer.session.granted);
            control.said.say.credit = control.add(limit, |w| credit.write(w));
        }
        if link.inbound.say_refused {
            control.said.refused = link.inbound.refused.iter().all(|(stream, reason)| {
                let refused = Frame::Refused { stream: *stream, reason: *reason };
                control.add(limit, |w| refused.write(w))
            });
        }
        self.compose_streams(ix, limit, control);
        if link.say.query && asks {
            control.said.say.query = self.compose_query(ix, limit, control);
            control.said.elicits |= control.said.say.query;
        }
        if link.say.ping && asks && !control.said.elicits {
            control.said.say.ping = control.add(limit, |w| Frame::Ping.write(w));
            control.said.elicits |= control.said.say.ping;
        }
    }

    /// ACK: the run of the largest number, what changed since the last ACK, then the newest (wire-format §6.7).
    fn compose_ack(&self, ix: LinkIx, limit: usize, control: &mut Control) -> bool {
        let Some(link) = self.p.links.get(ix.at()) else {
            return false;
        };
        let each = self.st.config.window_words();
        let start = ix.at().saturating_mul(each);
        let words = self.p.windows.get(start..start.saturating_add(each)).unwrap_or(&[]);
        let Some(largest) = link.window.next().checked_sub(1) else {
            return false;
        };
        let mut ranges = heapless::Vec::<PacketRange, RANGES>::new();
        let newest = link.window.run_around(words, largest);
        let _ = ranges.push(newest);
        for changed in link.ack.changed.iter().rev() {
            let low = link.window.run_around(words, changed.low);
            let high = link.window.run_around(words, changed.high);
            let _ = ranges.push(PacketRange { low: low.low, high: high.high });
        }
        let mut below = newest.low;
        for _ in 1..NEWEST {
            let Some(high) = link.window.received_below(words, below) else { break };
            let run = link.window.run_around(words, high);
            // A run that goes on has been acknowledged often enough.
            if high.saturating_add(1) == below || ranges.push(run).is_err() {
                break;
            }
            below = run.low;
        }
        merge(&mut ranges);
        let delay = self.now.since(link.ack.largest_at).as_micros();
        let counts = link.marks.received;
        let marks = counts != EcnCounts::NONE && self.p.peers.get(link.peer.at()).is_some_and(|p| p.session.ecn);
        control.add(limit, |w| {
            match marks {
                true => write_ack_ecn(w, delay, &ranges, &counts),
                false => write_ack(w, delay, &ranges),
            }
            .map(|_| ())
        })
    }

    fn compose_streams(&self, ix: LinkIx, limit: usize, control: &mut Control) {
        let mut each = self.p.links.get(ix.at()).map(|l| l.inbound.dirty).unwrap_or_default();
        while let Some(s) = each.some().and_then(|i| self.p.inbound.get(i.at())) {
            let frame = if s.say_opened {
                Frame::Opened { stream: s.wire, stored_below: s.stored_below }
            } else {
                Frame::Stored { stream: s.wire, below: s.stored_below }
            };
            if !control.add(limit, |w| frame.write(w)) {
                return;
            }
            control.said.streams = control.said.streams.saturating_add(1);
            each = s.next_dirty;
        }
    }

    fn compose_query(&self, ix: LinkIx, limit: usize, control: &mut Control) -> bool {
        let Some(link) = self.p.links.get(ix.at()) else {
            return false;
        };
        let Some(peer) = self.p.peers.get(link.peer.at()) else {
            return false;
        };
        let mut any = false;
        if link.outbound.busy || link.outbound.passed_by.is_some() {
            let wanted = link.outbound.passed_by.unwrap_or(peer.session.window);
            any |= control.add(limit, |w| Frame::Query(QueryFor::Credit(wanted)).write(w));
        }
        let mut each = peer.first_out;
        while let Some(s) = each.some().and_then(|o| self.p.outbound.get(o.at())) {
            if s.sent > 0 && s.wire != 0 {
                any |= control.add(limit, |w| Frame::Query(QueryFor::Stored(s.wire)).write(w));
            }
            each = s.next_of_peer;
        }
        any
    }

    /// OPEN and SKIP of the stream whose chunk is in the packet. False when they do not fit.
    pub(super) fn compose_stream_head(
        &self,
        stream: OutIx,
        open: bool,
        skip: bool,
        limit: usize,
        control: &mut Control,
    ) -> bool {
        let Some(s) = self.p.outbound.get(stream.at()) else {
            return false;
        };
        let (Some(name), Some(epoch)) = (&s.name, s.epoch) else {
            return false;
        };
        let fits = !open
            || control.add(limit, |w| {
                let open =
                    Open { stream: s.wire, name: name.as_str(), epoch, first: s.open_first, previous: s.previous };
                Frame::Open(open).write(w)
            });
        let fits = fits
            && (!skip
                || control.add(limit, |w| {
                    Frame::Skip { stream: s.wire, below: s.head, reason: s.skip.unwrap_or(0) }.write(w)
                }));
        control.said.elicits |= fits && (open || skip);
        fits
    }
}

impl<C: Crypto> Cx<'_, C> {
    /// The composed frames have left.
    pub(super) fn said(&mut self, ix: LinkIx, said: Said) {
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        if said.acked {
            link.ack.changed.clear();
            (link.ack.asked, link.ack.now, link.ack.due) = (0, false, Instant::NEVER);
        }
        let say = &mut link.say;
        say.label &= !said.say.label;
        say.busy &= !said.say.busy;
        say.credit &= !said.say.credit;
        say.query &= !said.say.query;
        // Whatever asks for an ACK is as good as a PING.
        say.ping &= !(said.say.ping || said.elicits);
        link.inbound.say_refused &= !said.refused;
        for _ in 0..said.streams {
            let Some(s) = link.inbound.dirty.some().and_then(|i| self.p.inbound.get_mut(i.at())) else {
                return;
            };
            (s.say_opened, s.say_stored, s.dirty) = (false, false, false);
            link.inbound.dirty = core::mem::take(&mut s.next_dirty);
        }
    }
}

/// Sorts ranges, the largest first, and joins those that touch.
///
/// The few there are get picked one by one, since the library's sort holds a panic for an order that is none.
fn merge(ranges: &mut heapless::Vec<PacketRange, RANGES>) {
    let mut merged = heapless::Vec::<PacketRange, RANGES>::new();
    let mut below = u64::MAX;
    let next = |below| {
        let left = ranges.iter().filter(|r| r.high < below);
        left.max_by_key(|r| (r.high, core::cmp::Reverse(r.low)))
    };
    while let Some(range) = next(below) {
        below = range.high;
        match merged.last_mut() {
            Some(last) if range.high.saturating_add(1) >= last.low => last.low = last.low.min(range.low),
            _ => {
                let _ = merged.push(*range);
            }
        }
    }
    *ranges = merged;
}
