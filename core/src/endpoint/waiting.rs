//! More peers have something to say than there are links: who finds none is told, from the compact session alone, and its
//! next packet is as welcome as any (wire-format §7.4).

use super::Cx;
use super::links::expand;
use super::receive::Handled;
use crate::crypto::{Crypto, TAG_LEN};
use crate::discard::Discard;
use crate::ids::{InIx, PeerIx};
use crate::peer::End;
use crate::window::{Seen, Window};
use crate::wire::{DataHeader, Frame, Writer};

/// The longest packet that says BUSY: its header, LABEL, BUSY, and the tag.
const ANSWER_MAX: usize = 9 + 5 + 1 + TAG_LEN;

impl<C: Crypto> Cx<'_, C> {
    /// An authentic packet of a peer for which no link is free: it is left unacknowledged and answered in place by BUSY.
    pub(super) fn without_link(&mut self, at: PeerIx, number: u64, datagram: &mut [u8]) -> Result<Handled, Discard> {
        let peer = self.p.peers.get(at.at()).ok_or(Discard::UnknownPeer)?;
        match Window::look_at_newest(peer.session.rx_next, peer.session.rx_bits, number) {
            Seen::New => {}
            // Somebody repeats what was received: that is no reason to answer.
            Seen::Duplicate => return Err(Discard::Duplicate),
            Seen::TooOld => return Err(Discard::TooOld),
        }
        if !self.st.may_answer(self.now) {
            return Err(Discard::ReplyLimit);
        }
        let len = self.busy(at, datagram).ok_or(Discard::NoLink)?;
        self.st.counters.count_discard(Discard::NoLink);
        Ok(Handled::Reply(len))
    }

    /// STORED of a stream is to be said, and no link is free.
    pub(super) fn wait_for_link(&mut self, stream: InIx) {
        let Some(s) = self.p.inbound.get_mut(stream.at()).filter(|s| !s.waits) else { return };
        (s.waits, s.next_waiting) = (true, InIx::NONE);
        let back = core::mem::replace(&mut self.st.waiting_back, stream);
        match self.p.inbound.get_mut(back.at()) {
            Some(back) => back.next_waiting = stream,
            None => self.st.waiting_front = stream,
        }
    }

    /// Lends a link to the stream that has waited longest. False when none waits, or no link is free.
    pub(super) fn end_a_wait(&mut self) -> bool {
        let front = self.st.waiting_front;
        if front == InIx::NONE || !self.link_available() {
            return false;
        }
        let Some(s) = self.p.inbound.get_mut(front.at()) else { return false };
        s.waits = false;
        let at = s.peer;
        self.st.waiting_front = core::mem::take(&mut s.next_waiting);
        if self.st.waiting_front == InIx::NONE {
            self.st.waiting_back = InIx::NONE;
        }
        // Whatever waits to be said is listed with the link. Its peer may have found one since, and have said it, or be gone.
        self.acquire(at);
        true
    }

    /// Writes the packet that says BUSY over the datagram that it answers, and returns its length: never more than that.
    fn busy(&mut self, at: PeerIx, out: &mut [u8]) -> Option<usize> {
        let peer = self.p.peers.get_mut(at.at())?;
        let session = &mut peer.session;
        let number = session.tx_next;
        if number >= session.packet_limit(&self.st.config) {
            return None;
        }
        let (tx, _) = expand(self.crypto, peer.end, session);
        let mut packet = [0; ANSWER_MAX];
        let mut w = Writer::new(&mut packet);
        // How much of a number the other end needs is not known here: the longest form is enough always.
        let header = DataHeader { label: session.theirs, truncated: number as u32, number_len: 4 };
        header.write(&mut w).ok()?;
        if !session.confirmed && peer.end == Some(End::Gateway) {
            Frame::Label(session.ours).write(&mut w).ok()?;
        }
        Frame::Busy.write(&mut w).ok()?;
        let written = w.written();
        let answer = out.get_mut(..written.saturating_add(TAG_LEN))?;
        let (sealed, tag) = answer.split_last_chunk_mut::<TAG_LEN>()?;
        sealed.iter_mut().zip(packet).for_each(|(to, from)| *to = from);
        let (head, body) = sealed.split_at_mut_checked(header.len())?;
        *tag = *self.crypto.seal(&tx?, number, head, body).as_bytes();
        (session.tx_next, session.was_busy) = (number.saturating_add(1), true);
        self.st.totals.packets_sent = self.st.totals.packets_sent.saturating_add(1);
        Some(written.saturating_add(TAG_LEN))
    }
}
