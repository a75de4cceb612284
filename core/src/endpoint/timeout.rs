//! Time passes: delayed ACKs, losses, probes, HELLOs, questions. The sender owns every timer but the ACK's
//! (wire-format §8.4).

use super::Cx;
use crate::crypto::Crypto;
use crate::ids::{LinkIx, PeerIx};
use crate::peer::End;
use crate::stream::Opening;
use crate::time::{Duration, Instant};

/// The reason of a gap for a record above the receiver's limit (wire-format §6.5).
pub(super) const SKIP_TOO_LARGE: u8 = 2;
/// Back-off for silence ends here, or at one probe timeout if that is longer.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// The first question about a confirmation that does not come.
const QUERY_FIRST: Duration = Duration::from_millis(500);
/// Questions come at least this often.
const QUERY_MAX: Duration = Duration::from_secs(5);
/// After so many unanswered probes every probe is accompanied by a HELLO.
const PROBES_BEFORE_HELLO: u32 = 2;
/// A gateway that answers that HELLO and was not restarted has the session, most likely: what it lacks is time, and a session made
/// anew would cost it more of that. Where it has none, it says so (wire-format §5.3, §8.4).
const SAME_BOOT_PATIENCE: Duration = Duration::from_secs(3);
/// ... and packets are as small as every path carries.
pub(super) const PROBES_BEFORE_SMALL: u32 = 2;
/// ... and packets leave unmarked: the path may drop what is marked.
pub(super) const PROBES_BEFORE_UNMARKED: u32 = 2;
/// After so many unanswered probes a gateway waits until the device is heard.
const PROBES_BEFORE_PARKING: u32 = 5;

impl<C: Crypto> Cx<'_, C> {
    pub(super) fn handle_timeout(&mut self) {
        // Each link is looked at once a call: its timer is taken out, and set again when it has been heard out.
        for _ in 0..self.p.links.len() {
            match self.first_timer() {
                Some((ix, at)) if at <= self.now => {
                    self.set_deadline(ix, Instant::NEVER);
                    self.timed_out(ix);
                    self.wake(ix);
                }
                _ => return,
            }
        }
    }

    fn timed_out(&mut self, ix: LinkIx) {
        let now = self.now;
        let probe_at = self.probe_at(ix);
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        let at = link.peer;
        if link.ack.due <= now {
            link.ack.now = true;
        }
        if link.outbound.query_at <= now {
            link.outbound.query_at = Instant::NEVER;
            link.outbound.queries = link.outbound.queries.saturating_add(1);
            link.say.query = true;
        }
        if link.outbound.waiting_at <= now {
            self.ask_for_stored(ix, at);
        }
        let Some(link) = self.p.links.get_mut(ix.at()) else { return };
        let (loss, fallback) = (link.recovery.loss_at <= now, link.path.fallback_at <= now);
        if fallback {
            self.fall_back(ix);
        }
        if loss {
            self.detect_losses(ix, Instant::NEVER);
        } else if probe_at <= now {
            self.probe(ix, at);
        }
        if self.poll_at(ix) <= now {
            // Without a session there is nobody to PING.
            if !self.has_session(at) {
                self.start_exchange(ix);
            } else if let Some(link) = self.p.links.get_mut(ix.at()) {
                link.say.ping = true;
            }
        }
        self.numbers_used_up(at);
        debug_assert!(self.flight_adds_up(ix), "in flight is the sum of what is out");
    }

    /// F35: bytes in flight are the sum of the packets that are out.
    fn flight_adds_up(&self, ix: LinkIx) -> bool {
        let each = self.st.config.in_flight as usize;
        let start = ix.at().saturating_mul(each);
        let table = self.p.sent.get(start..start.saturating_add(each)).unwrap_or(&[]);
        self.p.links.get(ix.at()).is_none_or(|l| l.flight.adds_up(table))
    }

    /// A probe timeout.
    fn probe(&mut self, ix: LinkIx, at: PeerIx) {
        let device = self.p.peers.get(at.at()).is_some_and(|p| p.end == Some(End::Device));
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        link.recovery.probes = link.recovery.probes.saturating_add(1);
        link.recovery.unanswered = link.recovery.unanswered.saturating_add(1);
        let unanswered = link.recovery.unanswered;
        self.st.totals.probes = self.st.totals.probes.saturating_add(1);
        if unanswered == PROBES_BEFORE_UNMARKED {
            link.marks.silence();
        }
        if !device && unanswered > PROBES_BEFORE_PARKING {
            link.recovery.parked = true;
            self.unsend_all(ix);
            return;
        }
        self.send_probe(ix);
        if device && unanswered >= PROBES_BEFORE_HELLO {
            let patience = self.probe_timeout(ix).max(SAME_BOOT_PATIENCE);
            self.doubt_session(ix, patience);
        }
    }

    /// Takes the oldest packet out of flight as lost, without a congestion cut, and lets one packet leave whatever else holds.
    pub(super) fn send_probe(&mut self, ix: LinkIx) {
        let table = crate::storage::of_link(self.p.sent, ix, self.st.config.in_flight as usize);
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        if let Some(slot) = link.flight.out.front.some() {
            let sent = table.get(slot.0 as usize).copied().unwrap_or_default();
            link.flight.lose(table, slot);
            link.size_lost(&sent, self.now);
            if sent.carried.has(crate::recovery::sent::Carried::SKIP) {
                self.skip_lost(ix, sent.stream, sent.number);
            }
        }
        self.make_room_for_probe(ix);
        let Some(link) = self.p.links.get_mut(ix.at()) else { return };
        link.recovery.probe_due = 1;
        // A probe that leaves nothing behind still counts from now.
        link.recovery.last_asked = self.now;
    }

    /// Lost chunks hold their slots until they leave again. When all of them are lost and the path has become too small for
    /// them, there are no slots to cut them up into: what is not acknowledged counts as unsent then.
    fn make_room_for_probe(&mut self, ix: LinkIx) {
        let Some(link) = self.p.links.get(ix.at()) else { return };
        if link.flight.out.is_empty() && link.flight.slots.saturating_add(1) >= self.st.config.in_flight {
            self.unsend_all(ix);
        }
    }

    /// Takes everything out of flight: what is not acknowledged counts as unsent.
    fn unsend_all(&mut self, ix: LinkIx) {
        let table = crate::storage::of_link(self.p.sent, ix, self.st.config.in_flight as usize);
        let Some(link) = self.p.links.get_mut(ix.at()) else { return };
        while let Some(slot) = link.flight.out.front.some() {
            let sent = table.get(slot.0 as usize).copied().unwrap_or_default();
            link.flight.lose(table, slot);
            link.size_lost(&sent, self.now);
        }
        let at = link.peer;
        let mut each = self.p.peers.get(at.at()).map(|p| p.first_out).unwrap_or_default();
        while let Some(stream) = each.some() {
            self.unsend(ix, stream);
            each = self.p.outbound.get(stream.at()).map(|s| s.next_of_peer).unwrap_or_default();
        }
    }

    pub(super) fn probe_timeout(&self, ix: LinkIx) -> Duration {
        self.p.links.get(ix.at()).map_or(SILENCE_MAX, |l| l.rtt.probe_timeout())
    }

    /// When a probe is due: while anything is out, or lost and not sent again.
    fn probe_at(&self, ix: LinkIx) -> Instant {
        let Some(link) = self.p.links.get(ix.at()) else {
            return Instant::NEVER;
        };
        if link.flight.is_empty() || link.recovery.parked || !self.has_session(link.peer) {
            return Instant::NEVER;
        }
        let timeout = self.probe_timeout(ix);
        // One that answers BUSY is there: it is asked as often as for any other confirmation. One that has fallen silent since
        // may have moved far away: probes that leave faster than a small table remembers them are never known to be answered.
        let answers = link.outbound.busy && link.recovery.unanswered < PROBES_BEFORE_PARKING;
        let most = if answers { QUERY_MAX } else { SILENCE_MAX };
        let backed_off = timeout.doubled(link.recovery.probes.min(32)).min(most.max(timeout));
        let spread = if link.outbound.busy { u64::from(link.outbound.busy_spread) } else { 0 };
        link.recovery.last_asked + backed_off + backed_off.times(spread).shifted_down(8)
    }

    fn has_session(&self, at: PeerIx) -> bool {
        self.p.peers.get(at.at()).is_some_and(|p| p.session.lives())
    }

    /// When a device that expects records asks whether the gateway is there.
    fn poll_at(&self, ix: LinkIx) -> Instant {
        let Some(poll) = self.st.config.poll else {
            return Instant::NEVER;
        };
        let Some(link) = self.p.links.get(ix.at()) else {
            return Instant::NEVER;
        };
        let Some(peer) = self.p.peers.get(link.peer.at()) else {
            return Instant::NEVER;
        };
        // A question is answered as well, and a PING before it would put it off again and again.
        let asks = link.outbound.query_at != Instant::NEVER;
        if peer.end != Some(End::Device) || link.exchange.is_some() || !link.flight.is_empty() || asks {
            return Instant::NEVER;
        }
        peer.heard + poll
    }

    pub(super) fn poll(&mut self, at: PeerIx) {
        if let Some(ix) = self.acquire(at) {
            if let Some(link) = self.p.links.get_mut(ix.at()) {
                link.say.ping = true;
            }
            self.ask_for_session(ix, at);
            self.wake(ix);
        }
    }

    /// True when something was sent whose confirmation is still to come, and nothing else will bring it.
    fn waits_for_confirmation(&self, ix: LinkIx) -> bool {
        let Some(link) = self.p.links.get(ix.at()) else {
            return false;
        };
        let o = &link.outbound;
        self.has_session(link.peer)
            && link.flight.is_empty()
            && !link.recovery.parked
            && (o.used > 0 || o.wanted.is_some() || o.busy)
    }

    /// True when a record waits that the window would not cover if nothing else were under way.
    fn window_is_short(&self, ix: LinkIx) -> bool {
        let Some(link) = self.p.links.get(ix.at()) else { return false };
        let Some(peer) = self.p.peers.get(link.peer.at()) else { return false };
        let alone = link.outbound.passed_by.map(|w| w.saturating_sub(link.outbound.used));
        peer.session.lives() && !link.recovery.parked && alone.is_some_and(|w| w > peer.session.window)
    }

    /// Starts or stops the timer of questions, before the link's deadline is computed.
    pub(super) fn set_query_timer(&mut self, ix: LinkIx) {
        let short = self.window_is_short(ix);
        let waits = short || self.waits_for_confirmation(ix);
        let timeout = self.probe_timeout(ix);
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        let o = &mut link.outbound;
        if !waits {
            o.query_at = Instant::NEVER;
        } else if o.query_at == Instant::NEVER {
            // A record larger than the whole window waits for nothing but the answer.
            let at_once = short && o.queries == 0;
            let first = QUERY_FIRST.max(timeout.times(2));
            let wait = first.doubled(u32::from(o.queries).min(16)).min(QUERY_MAX.max(timeout));
            o.query_at = if at_once { self.now } else { self.now + wait };
        }
    }

    /// A stream has nothing but STORED to wait for. While another keeps packets in flight no probe and no question of the whole
    /// link would bring it, so a timer of its own runs until no stream waits so.
    pub(super) fn await_stored(&mut self, ix: LinkIx) {
        let timeout = self.probe_timeout(ix);
        let Some(link) = self.p.links.get_mut(ix.at()) else { return };
        let o = &mut link.outbound;
        if o.waiting_at == Instant::NEVER {
            let first = QUERY_FIRST.max(timeout.times(2));
            o.waiting_at = self.now + first.doubled(u32::from(o.waited).min(16)).min(QUERY_MAX.max(timeout));
        }
    }

    fn ask_for_stored(&mut self, ix: LinkIx, at: PeerIx) {
        let (mut waits, mut busy) = (false, false);
        let mut each = self.p.peers.get(at.at()).map(|p| p.first_out).unwrap_or_default();
        while let Some(s) = each.some().and_then(|o| self.p.outbound.get(o.at())) {
            waits |= s.waits_for_stored();
            busy |= !s.unacked.is_empty();
            each = s.next_of_peer;
        }
        let lives = self.has_session(at);
        let Some(link) = self.p.links.get_mut(ix.at()) else { return };
        waits &= lives && !link.recovery.parked;
        link.outbound.waiting_at = Instant::NEVER;
        link.outbound.waited = if waits { link.outbound.waited.saturating_add(1) } else { 0 };
        // When all wait, the link's own timer asks.
        link.say.query |= waits && busy;
        if waits {
            self.await_stored(ix);
        }
    }

    /// When `handle_timeout` must look at a link that has nothing to send now.
    pub(super) fn deadline(&self, ix: LinkIx) -> Instant {
        let Some(link) = self.p.links.get(ix.at()) else {
            return Instant::NEVER;
        };
        if link.path.budget < super::roam::LEAST_BUDGET {
            // Nothing may leave until the other end is heard, or the path falls back.
            return link.path.fallback_at;
        }
        let ack = if link.ack.asked > 0 { link.ack.due } else { Instant::NEVER };
        let deadline = ack
            .min(link.recovery.loss_at)
            .min(self.probe_at(ix))
            .min(self.exchange_at(ix))
            .min(link.outbound.query_at)
            .min(link.outbound.waiting_at)
            .min(link.path.fallback_at)
            .min(self.poll_at(ix))
            .min(self.pacing_at(ix))
            .min(self.refused_at(ix));
        // F33: what is outstanding has a deadline.
        debug_assert!(
            deadline != Instant::NEVER
                || link.flight.is_empty()
                || link.recovery.parked
                || !self.has_session(link.peer)
        );
        deadline
    }

    /// When pacing lets the next packet go, if it is pacing that it waits for.
    fn pacing_at(&self, ix: LinkIx) -> Instant {
        let Some(link) = self.p.links.get(ix.at()) else {
            return Instant::NEVER;
        };
        let datagram = u64::from(link.datagram()).min(link.path.budget);
        let has_data = !link.flight.lost.is_empty() || link.outbound.front != crate::ids::OutIx::NONE;
        let held = link.outbound.busy || link.outbound.wanted.is_some() || link.recovery.parked;
        let fits = link.flight.bytes.saturating_add(datagram) <= link.cc.window();
        if !has_data || held || !fits || link.pacer.ready(datagram) || !self.has_session(link.peer) {
            return Instant::NEVER;
        }
        let release = link.pacer.release(datagram, &link.rate(&self.st.config));
        // When that moment is here, it is something else that the packet waits for.
        if release > self.now { release } else { Instant::NEVER }
    }

    /// When the first refused stream of the queue is asked for again.
    fn refused_at(&self, ix: LinkIx) -> Instant {
        let mut first = Instant::NEVER;
        let mut each = self.p.links.get(ix.at()).map(|l| l.outbound.front).unwrap_or_default();
        while let Some(s) = each.some().and_then(|o| self.p.outbound.get(o.at())) {
            if let Opening::Refused(at) = s.opening
                && at > self.now
            {
                first = first.min(at);
            }
            each = s.next_queued;
        }
        first
    }
}
