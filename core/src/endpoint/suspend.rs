//! A device falls asleep: what it must know afterwards goes into an image, and it knows nothing more (wire-format §9).

use super::Cx;
use crate::crypto::{Crypto, TAG_LEN};
use crate::ids::{InIx, OutIx, PeerIx, Position};
use crate::peer::{End, Session};
use crate::ring;
use crate::sleep::{
    HEAD_LEN, Head, LEAST, MARK, RECEIVED_LEN, ReceivedStream, Retained, SENT_LEN, SESSION_LEN, SentStream,
    SuspendError, tag_of, terms,
};
use crate::storage::of_link;
use crate::stream::{InStream, Opening, OutStream};
use crate::wire::{NoRoom, Writer};

impl<C: Crypto> Cx<'_, C> {
    pub(super) fn suspend(&mut self, at: PeerIx, image: &mut [u8]) -> Result<usize, SuspendError> {
        let peer = self.p.peers.get(at.at()).filter(|p| p.end == Some(End::Device));
        let suite = peer.ok_or(SuspendError::NotDevice)?.session.suite;
        if let Some(suite) = suite.filter(|s| !s.survives_nonce_reuse()) {
            return Err(SuspendError::Suite(suite));
        }
        if self.is_receiving(at) {
            return Err(SuspendError::Receiving);
        }
        if self.sent_streams(at).any(|(_, s)| s.previous.is_some()) {
            return Err(SuspendError::Outbox);
        }
        let len = self.image_len(at);
        let out = image.get_mut(..len).ok_or(SuspendError::TooSmall(len))?;
        self.write_image(at, out).map_err(|_| SuspendError::TooSmall(len))?;
        // What the image says is true only as long as nothing more is sealed or pushed.
        self.remove_peer(at);
        Ok(len)
    }

    pub(super) fn image_len(&mut self, at: PeerIx) -> usize {
        let session = if self.retained(at).is_some() { SESSION_LEN } else { 0 };
        let of_sent = |s: &OutStream| SENT_LEN.saturating_add(name_of(s).len()).saturating_add(s.used as usize);
        let sent = self.sent_streams(at).map(|(_, s)| of_sent(s)).fold(0, usize::saturating_add);
        let received = self.received_streams(at).count().saturating_mul(RECEIVED_LEN);
        LEAST.saturating_add(session).saturating_add(sent).saturating_add(received)
    }

    /// True while the application has not stored all that it was given, or something is held that the other end takes for
    /// received.
    fn is_receiving(&self, at: PeerIx) -> bool {
        let link = self.p.peers.get(at.at()).and_then(|p| self.p.links.get(p.link.at()));
        let held = link.is_some_and(|l| l.inbound.held > 0 || l.inbound.unreleased);
        held || self.received_streams(at).any(|(_, s)| s.next != Position::start_of(s.stored_below))
    }

    /// The session as an image has it. One in which the gateway was never heard is left out: its packets are long, and a new one
    /// costs no more.
    fn retained(&mut self, at: PeerIx) -> Option<Retained> {
        let peer = self.p.peers.get(at.at()).filter(|p| p.has_session())?;
        let s = &peer.session;
        let mut retained = Retained {
            session: Session {
                key: s.key.clone(),
                suite: s.suite,
                tx_next: s.tx_next,
                rx_next: s.rx_next,
                rx_bits: s.rx_bits,
                limits: s.limits,
                window: s.window,
                granted: s.granted,
                ours: s.ours,
                theirs: s.theirs,
                next_stream: s.next_stream,
                confirmed: s.confirmed,
                ecn: s.ecn,
                was_busy: s.was_busy,
            },
            oldest_unacked: s.tx_next,
            gateway: peer.boots[0],
            rtt_us: peer.rtt_us,
            datagram: peer.datagram,
        };
        let ix = peer.link;
        let words = of_link(self.p.windows, ix, self.st.config.window_words());
        if let Some(link) = ix.some().and_then(|ix| self.p.links.get(ix.at())) {
            if link.long.is_some() {
                return None;
            }
            let session = &mut retained.session;
            (session.rx_next, session.rx_bits) = (link.window.next(), link.window.newest(words));
            session.was_busy |= link.inbound.was_busy || link.inbound.held_full;
            retained.oldest_unacked = link.recovery.oldest_unacked;
            retained.rtt_us = u32::try_from(link.rtt.memory().as_micros()).unwrap_or(u32::MAX);
            retained.datagram = link.path.datagram;
        }
        Some(retained)
    }

    /// Writes the whole image, its mark last: one that is cut off is none.
    fn write_image(&mut self, at: PeerIx, out: &mut [u8]) -> Result<(), NoRoom> {
        let retained = self.retained(at);
        let peer = self.p.peers.get(at.at()).ok_or(NoRoom)?;
        let (key, psk) = peer.newest_key().ok_or(NoRoom)?;
        let len = u32::try_from(out.len()).map_err(|_| NoRoom)?;
        let (whole, tag) = out.split_last_chunk_mut::<TAG_LEN>().ok_or(NoRoom)?;
        let mut w = Writer::new(whole);
        Head { key: *key, peer: peer.id, len, terms: terms(&self.st.config) }.write(&mut w)?;
        debug_assert_eq!(w.written(), HEAD_LEN);
        w.u8(u8::from(retained.is_some()))?;
        if let Some(retained) = &retained {
            retained.write(&mut w)?;
        }
        w.u16(u16::try_from(self.sent_streams(at).count()).map_err(|_| NoRoom)?)?;
        for (_, s) in self.sent_streams(at) {
            self.asleep(s).write(&mut w)?;
            let (front, back) = ring::pieces(s.of_ring(self.p.ring), s.head_at, s.used);
            w.bytes(front)?;
            w.bytes(back)?;
        }
        w.u16(u16::try_from(self.received_streams(at).count()).map_err(|_| NoRoom)?)?;
        for (at, s) in self.received_streams(at) {
            ReceivedStream { at, wire: s.wire, epoch: s.epoch, first: s.first, next: s.next.number }.write(&mut w)?;
        }
        debug_assert_eq!(w.room(), 0, "an image is as long as it was said to be");
        let (mark, body) = whole.split_first_chunk_mut::<{ MARK.len() }>().ok_or(NoRoom)?;
        *tag = *tag_of(psk, *key, peer.id, body).as_bytes();
        *mark = MARK;
        Ok(())
    }

    /// A stream as an image has it: what is in flight counts as not sent, and leaves again after the sleep.
    fn asleep<'s>(&self, s: &'s OutStream) -> SentStream<'s> {
        let each = self.st.config.in_flight as usize;
        let link = self.p.peers.get(s.peer.at()).and_then(|p| p.link.some());
        let first = link.map_or(0, |ix| ix.at().saturating_mul(each));
        let oldest = s.unacked.front.some().and_then(|f| self.p.sent.get(first.saturating_add(f.0 as usize)));
        let head = Position::start_of(s.head);
        let (cursor, sent) = match oldest {
            None => (s.cursor, s.sent),
            Some(oldest) if oldest.start < head => (head, 0),
            Some(oldest) => (oldest.start, s.distance(s.head_at, oldest.ring_at)),
        };
        SentStream {
            name: name_of(s),
            epoch: s.epoch,
            opened: s.opening == Opening::Open,
            skip: s.skip,
            wire: s.wire,
            open_first: s.open_first,
            head: s.head,
            next: s.next,
            received: s.received,
            cursor,
            sent,
            used: s.used,
        }
    }

    fn sent_streams(&self, at: PeerIx) -> impl Iterator<Item = (OutIx, &OutStream)> {
        let mut each = self.p.peers.get(at.at()).map(|p| p.first_out).unwrap_or_default();
        core::iter::from_fn(move || {
            let ix = each.some()?;
            let stream = self.p.outbound.get(ix.at())?;
            each = stream.next_of_peer;
            Some((ix, stream))
        })
    }

    fn received_streams(&self, at: PeerIx) -> impl Iterator<Item = (InIx, &InStream)> {
        let mut each = self.p.peers.get(at.at()).map(|p| p.first_in).unwrap_or_default();
        core::iter::from_fn(move || {
            let ix = each.some()?;
            let stream = self.p.inbound.get(ix.at())?;
            each = stream.next_of_peer;
            Some((ix, stream))
        })
    }
}

fn name_of(s: &OutStream) -> &str {
    s.name.as_ref().map_or("", |name| name.as_str())
}
