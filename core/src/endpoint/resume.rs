//! A device wakes up: its image is verified, destroyed, and only then followed (wire-format §9).

use super::Cx;
use crate::crypto::{Crypto, TAG_LEN, Tag};
use crate::deliver::Deliver;
use crate::ids::{InIx, LARGEST_NUMBER, LinkIx, OutIx, PeerIx, Position};
use crate::path::Path;
use crate::peer::End;
use crate::ring;
use crate::sleep::{Body, HEAD_LEN, Head, MARK, ReceivedStream, ResumeError, Retained, SentStream, tag_of, terms};
use crate::stream::{InStream, Opening};
use crate::wire::frame::LARGEST_WINDOW;
use crate::wire::{Limits, number};
use zeroize::Zeroize;

impl<C: Crypto> Cx<'_, C> {
    pub(super) fn resume(
        &mut self,
        at: PeerIx,
        path: Path,
        image: &mut [u8],
        to: &mut dyn Deliver,
    ) -> Result<(), ResumeError> {
        self.p.peers.get(at.at()).filter(|p| p.end == Some(End::Device)).ok_or(ResumeError::NotDevice)?;
        let restored = self.restore(at, path, image, to);
        // With a session this takes a link for it; without, it asks for one.
        let connected = self.connect(at, path);
        debug_assert!(connected.is_ok(), "it is a device");
        let oldest_unacked = restored?;
        if let Some(oldest) = oldest_unacked
            && let Some(link) = self.p.peers.get(at.at()).and_then(|p| self.p.links.get_mut(p.link.at()))
        {
            link.recovery.oldest_unacked = oldest;
        }
        Ok(())
    }

    /// Follows the image, all of it or nothing. With a session, returns its oldest packet number that is not acknowledged.
    fn restore(
        &mut self,
        at: PeerIx,
        path: Path,
        image: &mut [u8],
        to: &mut dyn Deliver,
    ) -> Result<Option<u64>, ResumeError> {
        let len = self.verify(at, image)?;
        let (mark, rest) = image.split_first_chunk_mut::<{ MARK.len() }>().ok_or(ResumeError::NoImage)?;
        mark.zeroize();
        let end = len.saturating_sub(TAG_LEN).saturating_sub(MARK.len());
        let body = rest.get(HEAD_LEN.saturating_sub(MARK.len())..end).ok_or(ResumeError::Damaged)?;
        let body = Body::parse(body)?;
        self.check(at, &body)?;
        for (stream, bytes) in body.sent() {
            if let Some(ix) = self.fresh_stream(at, stream.name) {
                self.restore_sent(ix, &stream, bytes, body.retained.is_some());
            }
        }
        let received = body.received();
        let Some(retained) = body.retained else { return Ok(None) };
        let oldest_unacked = retained.oldest_unacked;
        self.restore_session(at, path, retained);
        for stream in received {
            self.restore_received(at, &stream);
            to.resumed(at, stream.at, stream.epoch, stream.next);
        }
        // A stream that is new since then begins an epoch of its own.
        let draw = self.st.draw();
        self.name_epochs(at, &draw, &draw);
        Ok(Some(oldest_unacked))
    }

    /// Whether the image is whole, of this version, this peer, its key, and made under the same limits. Returns its length.
    fn verify(&self, at: PeerIx, image: &[u8]) -> Result<usize, ResumeError> {
        let head = Head::parse(image)?;
        let peer = self.p.peers.get(at.at()).ok_or(ResumeError::NotDevice)?;
        let psk = peer.key(head.key).filter(|_| peer.id == head.peer).ok_or(ResumeError::Foreign)?;
        let whole = image.get(..head.len as usize).ok_or(ResumeError::Damaged)?;
        let (whole, tag) = whole.split_last_chunk::<TAG_LEN>().ok_or(ResumeError::Damaged)?;
        let body = whole.get(MARK.len()..).ok_or(ResumeError::Damaged)?;
        let computed = tag_of(psk, head.key, head.peer, body);
        computed.verify(&Tag::from_bytes(*tag)).map_err(|_| ResumeError::Damaged)?;
        if head.terms != terms(&self.st.config) {
            return Err(ResumeError::Limits);
        }
        Ok(head.len as usize)
    }

    /// Whether everything in the image can be followed here.
    fn check(&self, at: PeerIx, body: &Body<'_>) -> Result<(), ResumeError> {
        let peer = self.p.peers.get(at.at()).ok_or(ResumeError::NotDevice)?;
        if peer.has_session() || peer.link != LinkIx::NONE || !self.is_fresh(peer.first_out) {
            return Err(ResumeError::Begun);
        }
        if let Some(retained) = &body.retained {
            self.check_session(at, retained)?;
        }
        for (i, (stream, bytes)) in body.sent().enumerate() {
            let s = self.fresh_stream(at, stream.name).and_then(|ix| self.p.outbound.get(ix.at()));
            if s.is_none_or(|s| s.ring_len < stream.used) {
                return Err(ResumeError::Stream);
            }
            let twice = body.sent().take(i).any(|(other, _)| other.name == stream.name);
            if twice || !adds_up(&stream, bytes, self.st.config.max_record, body.retained.as_ref()) {
                return Err(ResumeError::Damaged);
            }
        }
        if body.received.0 > self.st.config.streams {
            return Err(ResumeError::Damaged);
        }
        for (i, stream) in body.received().enumerate() {
            let slot = self.p.inbound.get(stream.at.at()).ok_or(ResumeError::Stream)?;
            let twice = body.received().take(i).any(|other| other.at == stream.at || other.wire == stream.wire);
            if twice || slot.peer != PeerIx::NONE || stream.wire == 0 || stream.next > LARGEST_NUMBER {
                return Err(ResumeError::Damaged);
            }
        }
        Ok(())
    }

    fn check_session(&self, at: PeerIx, retained: &Retained) -> Result<(), ResumeError> {
        let s = &retained.session;
        let offered = s.suite.is_some_and(|s| s.survives_nonce_reuse() && self.st.suites.contains(s));
        let mask = 1u32.checked_shl(self.st.config.label_bits()).map_or(u32::MAX, |v| v.wrapping_sub(1));
        let sane = s.ours.0 & mask == at.0
            && retained.oldest_unacked <= s.tx_next
            && s.tx_next <= number::LARGEST
            && s.rx_next <= number::LARGEST
            && s.next_stream >= 1
            && s.window <= LARGEST_WINDOW
            && s.granted <= LARGEST_WINDOW
            && (retained.datagram == 0 || retained.datagram >= Limits::MIN_DATAGRAM);
        match (offered, sane) {
            (false, _) => Err(ResumeError::Limits),
            (_, false) => Err(ResumeError::Damaged),
            _ => Ok(()),
        }
    }

    /// True when nothing was pushed to this stream or one behind it in its peer's list.
    fn is_fresh(&self, first: OutIx) -> bool {
        let mut each = first;
        while let Some(s) = each.some().and_then(|o| self.p.outbound.get(o.at())) {
            if s.used > 0 || s.epoch.is_some() || s.head != s.next || s.skip.is_some() {
                return false;
            }
            each = s.next_of_peer;
        }
        true
    }

    /// The stream of this name, which was opened and not used yet.
    fn fresh_stream(&self, at: PeerIx, name: &str) -> Option<OutIx> {
        let mut each = self.p.peers.get(at.at())?.first_out;
        while let Some(s) = each.some().and_then(|o| self.p.outbound.get(o.at())) {
            if s.name.as_ref().is_some_and(|n| n.as_str() == name) {
                return Some(each);
            }
            each = s.next_of_peer;
        }
        None
    }

    fn restore_sent(&mut self, ix: OutIx, stream: &SentStream<'_>, bytes: &[u8], session: bool) {
        ring::copy_in(self.ring_mut(ix).unwrap_or_default(), 0, bytes);
        let Some(s) = self.p.outbound.get_mut(ix.at()) else { return };
        s.epoch = stream.epoch;
        (s.head, s.next, s.head_at, s.used) = (stream.head, stream.next, 0, stream.used);
        s.rewind();
        s.skip = stream.skip;
        if !session {
            return;
        }
        s.opening = if stream.opened { Opening::Open } else { Opening::Asked };
        (s.wire, s.open_first, s.received) = (stream.wire, stream.open_first, stream.received);
        (s.cursor, s.sent, s.cursor_at) = (stream.cursor, stream.sent, s.advance(0, stream.sent));
        s.rest = rest_at(stream, bytes);
    }

    fn restore_session(&mut self, at: PeerIx, path: Path, retained: Retained) {
        let now = self.now;
        let Some(peer) = self.p.peers.get_mut(at.at()) else { return };
        peer.session = retained.session;
        peer.boots[0] = retained.gateway;
        (peer.rtt_us, peer.datagram) = (retained.rtt_us, retained.datagram);
        (peer.path, peer.path_validated, peer.heard) = (path, true, now);
        self.tell_peer(at, |news| news.connected = true);
    }

    fn restore_received(&mut self, at: PeerIx, stream: &ReceivedStream) {
        let Some(peer) = self.p.peers.get_mut(at.at()) else { return };
        let Some(s) = self.p.inbound.get_mut(stream.at.at()).filter(|s| s.peer == PeerIx::NONE) else { return };
        let next_of_peer: InIx = core::mem::replace(&mut peer.first_in, stream.at);
        *s = InStream {
            peer: at,
            next_of_peer,
            wire: stream.wire,
            epoch: stream.epoch,
            first: stream.first,
            next: Position::start_of(stream.next),
            stored_below: stream.next,
            waits: s.waits,
            next_waiting: s.next_waiting,
            ..InStream::default()
        };
    }
}

/// What is left of the record that is sent next; 0 at its start.
fn rest_at(stream: &SentStream<'_>, bytes: &[u8]) -> u32 {
    match stream.cursor.offset {
        0 => 0,
        offset => ring::stored_size(bytes, stream.sent.saturating_sub(offset)).saturating_sub(offset),
    }
}

/// Whether a stream's numbers, its positions and the records in its ring belong together.
fn adds_up(stream: &SentStream<'_>, bytes: &[u8], max_record: u32, retained: Option<&Retained>) -> bool {
    let SentStream { cursor, sent, used, head, next, wire, .. } = *stream;
    let Some(records) = next.checked_sub(head).filter(|_| next <= LARGEST_NUMBER) else { return false };
    if ring::measure(bytes, used, max_record) != Some(ring::Run { records, bytes: used }) {
        return false;
    }
    let Some(retained) = retained else { return true };
    let before = cursor.number.checked_sub(head).filter(|before| *before <= records);
    let starts_at = before.map(|before| ring::span(bytes, 0, before));
    if starts_at.and_then(|at| at.checked_add(cursor.offset)) != Some(sent) || sent > used {
        return false;
    }
    let inside = cursor.offset == 0 || (cursor.number < next && rest_at(stream, bytes) > 0);
    let known = wire != 0 && wire < retained.session.next_stream;
    inside
        && stream.epoch.is_some()
        && stream.open_first <= head
        && (head..=next).contains(&stream.received)
        && (known || (wire == 0 && !stream.opened && sent == 0))
}
