//! A datagram arrives: what it is, whose it is, whether it opens, and what its frames say.

use super::Cx;
use crate::crypto::{Crypto, Suite, TAG_LEN, Tag};
use crate::deliver::Deliver;
use crate::discard::{Discard, Fault};
use crate::ids::{LinkIx, PeerId, PeerIx};
use crate::link::ACK_RANGES;
use crate::path::{Ecn, Path};
use crate::peer::End;
use crate::storage::of_link;
use crate::time::Instant;
use crate::window::Seen;
use crate::wire::{DataHeader, Frame, Packet, PacketRange, QueryFor, Reader, number};

/// No suite's session is renewed before this many packets.
pub(super) const LEAST_SOFT_LIMIT: u64 = 1 << 22;
const _: () = assert!(Suite::Aes128GcmSiv.soft_packet_limit(u16::MAX) >= LEAST_SOFT_LIMIT);
const _: () = assert!(Suite::Aes128Gcm.soft_packet_limit(u16::MAX) >= LEAST_SOFT_LIMIT);

/// What came of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// An authentic packet of this peer's session.
    Data(PeerIx),
    /// A step of session set-up.
    Session,
    /// The first so many bytes of the datagram have become an answer; send them back where it came from.
    Reply(usize),
}

/// Opening packets in place.
pub(super) struct Opened;

impl Opened {
    /// Decrypts everything between the header and the tag.
    #[inline]
    pub(super) fn open<C: Crypto>(
        crypto: &C,
        key: &C::Key,
        number: u64,
        header_len: usize,
        datagram: &mut [u8],
    ) -> Result<(), Discard> {
        let (header, sealed) = datagram.split_at_mut_checked(header_len).ok_or(Discard::Malformed)?;
        let (body, tag) = sealed.split_last_chunk_mut::<TAG_LEN>().ok_or(Discard::Malformed)?;
        crypto.open(key, number, header, body, &Tag::from_bytes(*tag)).map_err(|_| Discard::Forged)
    }
}

/// The peer id that a long packet names, for the driver's table.
pub(super) fn peer_named(datagram: &[u8]) -> Option<PeerId> {
    let at = match datagram {
        [0, 1 | 3 | 4, ..] => 5,
        [0, 2, ..] => 4,
        _ => return None,
    };
    datagram.get(at..)?.first_chunk::<8>().map(|id| PeerId(*id))
}

/// The most chunks of a packet (wire-format §6).
const CHUNKS: u8 = 8;

/// How many more of the frames that take the most work a packet may have.
struct Left {
    acks: u8,
    chunks: u8,
}

impl Left {
    fn takes(&mut self, frame: &Frame<'_>) -> bool {
        let left = match frame {
            Frame::Ack { .. } => &mut self.acks,
            Frame::Chunk(_) => &mut self.chunks,
            _ => return true,
        };
        let taken = left.checked_sub(1);
        *left = taken.unwrap_or(0);
        taken.is_some()
    }
}

/// Why a packet is not accepted after it has been opened.
pub(super) enum Stop {
    /// It is left unacknowledged.
    Discard(Discard),
    /// The session ends.
    Fault(Fault),
}

impl<C: Crypto> Cx<'_, C> {
    pub(super) fn datagram(
        &mut self,
        path: &Path,
        datagram: &mut [u8],
        named: Option<PeerIx>,
        to: &mut dyn Deliver,
    ) -> Result<Handled, Discard> {
        // DATA is nearly all there is.
        if let [0x40..=0x7f, ..] = datagram {
            let header = DataHeader::parse(datagram).map_err(|_| Discard::Malformed)?;
            return self.on_data(path, header, datagram, to);
        }
        match Packet::parse(datagram).map_err(|_| Discard::Malformed)? {
            Packet::Data(header) => self.on_data(path, header, datagram, to),
            Packet::LongData(_) => self.on_long_data(path, datagram, named, to),
            Packet::Hello(_) => self.on_hello(datagram, named),
            Packet::Welcome(_) => self.on_welcome(datagram, named),
            Packet::Reject(_) => self.on_reject(datagram, named),
            Packet::UnknownLabel(hint) => self.on_hint(hint),
        }
    }

    fn on_data(
        &mut self,
        path: &Path,
        header: DataHeader,
        datagram: &mut [u8],
        to: &mut dyn Deliver,
    ) -> Result<Handled, Discard> {
        let mask = 1u32.checked_shl(self.st.config.label_bits()).map_or(u32::MAX, |v| v.wrapping_sub(1));
        let at = PeerIx(header.label.0 & mask);
        let known = self.p.peers.get(at.at()).filter(|p| p.session.lives() && p.session.ours == header.label);
        let Some(peer) = known else {
            return self.hint(header.label, PeerId::default(), datagram, Discard::UnknownLabel);
        };
        let link = peer.link.some();
        let received = match link.and_then(|l| self.p.links.get(l.at())) {
            Some(link) => link.window.next(),
            None => peer.session.rx_next,
        };
        let number = number::expand(received, header.truncated, header.number_len).ok_or(Discard::BadNumber)?;
        let handled = self.opened_by_session(at, number, header.len(), path, datagram, to);
        if handled.is_ok()
            && let Some(peer) = self.p.peers.get_mut(at.at())
        {
            // The device uses the label that it was told: it need not be told again.
            peer.session.confirmed = true;
        }
        handled
    }

    fn look(&self, ix: LinkIx, number: u64) -> Result<(), Discard> {
        let words = self.st.config.window_words();
        let start = ix.at().saturating_mul(words);
        let words = self.p.windows.get(start..start.saturating_add(words)).unwrap_or(&[]);
        match self.p.links.get(ix.at()).map(|l| l.window.look(words, number)) {
            Some(Seen::New) => Ok(()),
            Some(Seen::Duplicate) => Err(Discard::Duplicate),
            _ => Err(Discard::TooOld),
        }
    }

    /// Opens a packet of a session that lives, whether its peer has a link or not.
    #[inline]
    pub(super) fn opened_by_session(
        &mut self,
        at: PeerIx,
        number: u64,
        header_len: usize,
        path: &Path,
        datagram: &mut [u8],
        to: &mut dyn Deliver,
    ) -> Result<Handled, Discard> {
        let peer = self.p.peers.get(at.at()).ok_or(Discard::UnknownPeer)?;
        match peer.link.some() {
            Some(link) => self.opened_by_link(link, number, header_len, path, datagram, to),
            None => self.opened_without_link(at, number, header_len, path, datagram, to),
        }
    }

    #[inline(never)]
    fn opened_without_link(
        &mut self,
        at: PeerIx,
        number: u64,
        header_len: usize,
        path: &Path,
        datagram: &mut [u8],
        to: &mut dyn Deliver,
    ) -> Result<Handled, Discard> {
        let peer = self.p.peers.get(at.at()).ok_or(Discard::UnknownPeer)?;
        // No link is taken for a packet that may be anybody's.
        let (_, rx) = super::links::expand(self.crypto, peer.end, &peer.session);
        let key = rx.ok_or(Discard::UnknownLabel)?;
        Opened::open(self.crypto, &key, number, header_len, datagram)?;
        let Some(link) = self.acquire(at) else {
            return self.without_link(at, number, datagram);
        };
        self.look(link, number)?;
        self.accept_opened(link, number, header_len, path, datagram, to)
    }

    /// Opens a packet with its link's key.
    #[inline]
    pub(super) fn opened_by_link(
        &mut self,
        ix: LinkIx,
        number: u64,
        header_len: usize,
        path: &Path,
        datagram: &mut [u8],
        to: &mut dyn Deliver,
    ) -> Result<Handled, Discard> {
        self.look(ix, number)?;
        let key = self.p.links.get(ix.at()).and_then(|l| l.rx.as_ref()).ok_or(Discard::UnknownLabel)?;
        Opened::open(self.crypto, key, number, header_len, datagram)?;
        self.accept_opened(ix, number, header_len, path, datagram, to)
    }

    /// An authentic packet: takes its frames, and marks it as received if all of them were.
    pub(super) fn accept_opened(
        &mut self,
        ix: LinkIx,
        number: u64,
        header_len: usize,
        path: &Path,
        datagram: &[u8],
        to: &mut dyn Deliver,
    ) -> Result<Handled, Discard> {
        let size = datagram.len();
        let body_len = size.saturating_sub(header_len).saturating_sub(TAG_LEN);
        let body = datagram.get(header_len..header_len.saturating_add(body_len)).ok_or(Discard::Malformed)?;
        let (at, unreleased) =
            self.p.links.get(ix.at()).map(|l| (l.peer, l.inbound.unreleased)).ok_or(Discard::NoLink)?;
        self.heard(ix, at, number, path, size);
        let mut elicits = false;
        let released = if unreleased { self.release_all(ix, at, to).map_err(Stop::Fault) } else { Ok(()) };
        let taken = released.and_then(|()| self.frames(ix, at, number, body, &mut elicits, to));
        let stop = taken.err();
        match stop {
            None => {
                self.received(ix, number, elicits);
                Ok(Handled::Data(at))
            }
            Some(Stop::Fault(why)) => Err(self.fault(at, why)),
            Some(Stop::Discard(why)) => {
                if let Some(link) = self.p.links.get_mut(ix.at()) {
                    link.ack.now = true;
                    link.inbound.held_full |= why == Discard::HeldFull;
                    link.inbound.was_busy |= why == Discard::DeliverFull;
                    link.say.busy |= link.inbound.held_full || link.inbound.was_busy;
                    // One that is taken back at once is better not said.
                    link.say.credit &= !link.say.busy;
                }
                self.wake(ix);
                Err(why)
            }
        }
    }

    /// Takes every frame of a packet.
    #[inline]
    fn frames(
        &mut self,
        ix: LinkIx,
        at: PeerIx,
        number: u64,
        body: &[u8],
        elicits: &mut bool,
        to: &mut dyn Deliver,
    ) -> Result<(), Stop> {
        let mut left = Left { acks: 1, chunks: CHUNKS };
        let mut r = Reader::new(body);
        while !r.is_empty() {
            let frame = Frame::parse(&mut r).map_err(|_| Stop::Fault(Fault::BadFrame))?;
            if !left.takes(&frame) {
                return Err(Stop::Fault(Fault::BadFrame));
            }
            *elicits |= frame.elicits_ack();
            match frame {
                // CHUNK is nearly all there is.
                Frame::Chunk(chunk) => self.on_chunk(ix, at, chunk, to)?,
                Frame::Padding(_) => {}
                frame => self.frame(ix, at, number, &frame, to)?,
            }
        }
        Ok(())
    }

    /// An authentic packet proves that the other end is there.
    fn heard(&mut self, ix: LinkIx, at: PeerIx, number: u64, path: &Path, size: usize) {
        self.st.totals.packets_received = self.st.totals.packets_received.saturating_add(1);
        self.st.totals.bytes_received = self.st.totals.bytes_received.saturating_add(size as u64);
        let Some(peer) = self.p.peers.get_mut(at.at()) else {
            return;
        };
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        peer.heard = self.now;
        let unproved = !peer.path_validated && peer.end == Some(End::Gateway);
        let elsewhere = !path.same(&peer.path);
        if core::mem::take(&mut link.recovery.parked) {
            (link.recovery.probes, link.recovery.unanswered) = (0, 0);
            self.await_stored(ix);
            self.wake(ix);
        }
        if elsewhere || unproved {
            self.roam(ix, at, number, path, size);
        }
    }

    /// The whole packet was accepted: its bit is set, and it is acknowledged if it asked for that.
    fn received(&mut self, ix: LinkIx, number: u64, elicits: bool) {
        if number >= LEAST_SOFT_LIMIT {
            self.renew_for_the_other_end(ix, number);
        }
        let words = of_link(self.p.windows, ix, self.st.config.window_words());
        let Some(link) = self.p.links.get_mut(ix.at()) else {
            return;
        };
        let in_order = number == link.window.next();
        if number >= link.window.next() {
            link.ack.largest_at = self.now;
        }
        link.window.insert(words, number);
        link.marks.arrived(self.st.mark);
        let extended = match link.ack.changed.last_mut() {
            Some(last) if last.high.checked_add(1) == Some(number) => {
                last.high = number;
                true
            }
            _ => false,
        };
        if !extended {
            if link.ack.changed.is_full() {
                // The oldest change is forgotten; its packets are acknowledged by STORED, or sent again.
                link.ack.changed.remove(0);
            }
            let _ = link.ack.changed.push(PacketRange { low: number, high: number });
            self.st.ack_full |= link.ack.changed.is_full();
        }
        if !elicits {
            return;
        }
        // What was ahead of a gap found no slot. The sender goes on from the gap, which needs none.
        if core::mem::take(&mut link.inbound.held_full) && !link.inbound.was_busy {
            (link.say.busy, link.say.credit) = (false, true);
        }
        link.ack.asked = link.ack.asked.saturating_add(1);
        // RFC 9000 §13.2.1: two packets, one out of order, or one that a router marked, are acknowledged at once.
        let marked = self.st.mark == Ecn::Ce;
        let full = link.ack.changed.len() >= ACK_RANGES.saturating_sub(1);
        // A link that waits to acknowledge is one that others may need.
        let links_run_short = self.st.timers >= self.st.many_timers;
        if link.ack.asked >= 2 || !in_order || marked || full || links_run_short {
            link.ack.now = true;
        } else if link.ack.due == Instant::NEVER {
            link.ack.due = self.now + self.st.config.max_ack_delay;
        }
        if !link.ready {
            self.wake(ix);
        }
    }

    /// The device alone can renew a session: it counts the gateway's packets as well as its own.
    fn renew_for_the_other_end(&mut self, ix: LinkIx, number: u64) {
        let peer = self.p.links.get(ix.at()).and_then(|l| self.p.peers.get(l.peer.at()));
        if peer.is_some_and(|p| p.end == Some(End::Device) && number >= p.session.soft_packet_limit(&self.st.config)) {
            self.start_exchange(ix);
        }
    }

    /// Takes one frame of any kind. It stays out of the way of the chunks.
    #[inline(never)]
    fn frame(
        &mut self,
        ix: LinkIx,
        at: PeerIx,
        number: u64,
        frame: &Frame<'_>,
        to: &mut dyn Deliver,
    ) -> Result<(), Stop> {
        match *frame {
            Frame::Chunk(chunk) => self.on_chunk(ix, at, chunk, to),
            Frame::Padding(_) => Ok(()),
            Frame::Ack { delay_us, ranges, ecn } => self.on_ack(ix, at, delay_us, ranges, ecn),
            Frame::Ping => {
                if let Some(link) = self.p.links.get_mut(ix.at()) {
                    link.ack.now = true;
                }
                Ok(())
            }
            Frame::Label(label) => {
                self.on_label(ix, at, label);
                Ok(())
            }
            Frame::Open(open) => self.on_open(ix, at, &open, to),
            Frame::Skip { stream, below, reason } => self.on_skip(ix, at, stream, below, reason, to),
            Frame::Opened { stream, stored_below } => self.on_opened(ix, at, stream, stored_below),
            Frame::Stored { stream, below } => self.on_stored(ix, at, stream, below),
            Frame::Credit(window) => {
                self.on_credit(ix, at, number, window);
                Ok(())
            }
            Frame::Query(QueryFor::Stored(stream)) => {
                self.on_query_stored(ix, at, stream);
                Ok(())
            }
            Frame::Query(QueryFor::Credit(wanted)) => {
                self.on_query_credit(ix, at, wanted);
                Ok(())
            }
            Frame::Busy => {
                self.on_busy(ix);
                Ok(())
            }
            Frame::Refused { stream, reason } => {
                self.on_refused(ix, at, stream, reason);
                Ok(())
            }
        }
    }

    /// LABEL: the gateway says which label it wants to see. From now on DATA carries it.
    fn on_label(&mut self, ix: LinkIx, at: PeerIx, label: crate::ids::Label) {
        let Some(peer) = self.p.peers.get_mut(at.at()) else {
            return;
        };
        if peer.end != Some(End::Device) {
            return;
        }
        peer.session.theirs = label;
        peer.session.confirmed = true;
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.long = None;
        }
    }
}
