//! The pool of chunks that came ahead of a gap: one for all peers, a sorted list a stream (wire-format §7.2).

use super::Cx;
use crate::crypto::Crypto;
use crate::ids::{InIx, LinkIx, PeerIx, Position};
use crate::wire::Chunk;

/// There is no free slot.
pub(super) struct NoSlot;

/// Where a chunk belongs among those that are held.
enum Place {
    /// Behind this slot; `NONE` is the front.
    Behind(u32),
    /// This slot holds a chunk with the same start.
    Taken(u32),
}

const NONE: u32 = u32::MAX;

impl<C: Crypto> Cx<'_, C> {
    /// Keeps a chunk until the gap before it closes.
    pub(super) fn hold(&mut self, ix: LinkIx, stream: InIx, chunk: &Chunk<'_>, starts: u32) -> Result<(), NoSlot> {
        let start = Position { number: chunk.number, offset: chunk.offset };
        let (slot, fresh) = match self.held_place(stream, start) {
            Place::Behind(before) => (self.st.free_held, Some(before)),
            // One of them may have been cut shorter: the longer one is kept, since both are acknowledged.
            Place::Taken(slot) if self.held_len(slot) >= chunk.bytes.len() => return Ok(()),
            Place::Taken(slot) => (slot, None),
        };
        let slot_len = usize::from(self.st.config.max_datagram);
        let at = (slot as usize).saturating_mul(slot_len);
        let held = self.p.held.get_mut(slot as usize).ok_or(NoSlot)?;
        let space = self.p.slots.get_mut(at..at.saturating_add(slot_len)).ok_or(NoSlot)?;
        let space = space.get_mut(..chunk.bytes.len()).ok_or(NoSlot)?;
        space.copy_from_slice(chunk.bytes);
        (held.start, held.rest, held.len, held.starts) = (start, chunk.rest, chunk.bytes.len() as u16, starts as u16);
        let Some(before) = fresh else { return Ok(()) };
        self.st.free_held = core::mem::replace(&mut held.next, NONE);
        self.link_held(stream, before, slot);
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.inbound.held = link.inbound.held.saturating_add(1);
        }
        self.st.totals.chunks_held = self.st.totals.chunks_held.saturating_add(1);
        Ok(())
    }

    fn held_len(&self, slot: u32) -> usize {
        self.p.held.get(slot as usize).map_or(0, |h| usize::from(h.len))
    }

    /// Where a chunk that starts at `start` belongs in the stream's list.
    fn held_place(&self, stream: InIx, start: Position) -> Place {
        let Some(s) = self.p.inbound.get(stream.at()) else { return Place::Behind(NONE) };
        let start_of = |slot: u32| self.p.held.get(slot as usize).map(|h| h.start);
        match start_of(s.held_back) {
            None => return Place::Behind(NONE),
            Some(last) if last < start => return Place::Behind(s.held_back),
            Some(last) if last == start => return Place::Taken(s.held_back),
            Some(_) => {}
        }
        let (mut before, mut each) = (NONE, s.held_front);
        while let Some(held) = self.p.held.get(each as usize) {
            if held.start == start {
                return Place::Taken(each);
            }
            if held.start > start {
                break;
            }
            before = each;
            each = held.next;
        }
        Place::Behind(before)
    }

    fn link_held(&mut self, stream: InIx, before: u32, slot: u32) {
        let Some(s) = self.p.inbound.get_mut(stream.at()) else {
            return;
        };
        let after = match self.p.held.get_mut(before as usize) {
            Some(previous) => core::mem::replace(&mut previous.next, slot),
            None => core::mem::replace(&mut s.held_front, slot),
        };
        if let Some(held) = self.p.held.get_mut(slot as usize) {
            held.next = after;
        }
        if after == NONE {
            s.held_back = slot;
        }
    }

    /// Gives the front slot of a stream back.
    pub(super) fn pop_held(&mut self, ix: LinkIx, stream: InIx) {
        let Some(s) = self.p.inbound.get_mut(stream.at()) else {
            return;
        };
        let slot = s.held_front;
        let Some(held) = self.p.held.get_mut(slot as usize) else {
            return;
        };
        s.held_front = core::mem::replace(&mut held.next, self.st.free_held);
        if s.held_front == NONE {
            s.held_back = NONE;
        }
        self.st.free_held = slot;
        if let Some(link) = self.p.links.get_mut(ix.at()) {
            link.inbound.held = link.inbound.held.saturating_sub(1);
        }
    }

    /// Gives all slots of a stream back: its session is over, or its id was replaced.
    pub(super) fn drop_held(&mut self, stream: InIx) {
        let Some(peer) = self.p.inbound.get(stream.at()).map(|s| s.peer) else {
            return;
        };
        let ix = if peer == PeerIx::NONE {
            LinkIx::NONE
        } else {
            self.p.peers.get(peer.at()).map(|p| p.link).unwrap_or_default()
        };
        while self.p.inbound.get(stream.at()).is_some_and(|s| s.held_front != NONE) {
            self.pop_held(ix, stream);
        }
    }
}
