//! What leaves: packets are planned, sealed where they will be sent from, and sent in batches.

use super::{Network, SOCKET};
use crate::application::Application;
use crate::socket::out::Flushed;
use mio::Interest;

/// A turn stops sending after so many batches: something may have arrived. Those to many peers are short.
const BATCHES_A_TURN: u32 = 64;
/// Or after so many bytes.
const BYTES_A_TURN: u64 = 1 << 20;

impl<A: Application + 'static> Network<A> {
    /// Sends what may leave now. Returns true when there is more.
    pub(super) fn transmit(&mut self) -> bool {
        if self.blocked {
            return false;
        }
        if !self.outgoing.is_empty() && !self.flush() {
            return false;
        }
        let (mut batches, sent_before) = (0, self.counters.bytes_sent);
        let mut now = self.clock.now();
        while let Some(envelope) = self.endpoint.peek_transmit(now) {
            let Some(place) = self.outgoing.place(&envelope) else {
                if !self.flush() {
                    return false;
                }
                batches += 1;
                if batches >= BATCHES_A_TURN || self.counters.bytes_sent - sent_before >= BYTES_A_TURN {
                    return true;
                }
                now = self.clock.now();
                continue;
            };
            if !self.endpoint.seal_transmit(now, &envelope, place) {
                // The plan was void: core has changed its mind, and says at its next deadline what it wants.
                break;
            }
            self.outgoing.placed(&envelope);
        }
        self.flush();
        false
    }

    /// Sends the batch, and returns false when it must wait.
    fn flush(&mut self) -> bool {
        if self.outgoing.is_empty() {
            return true;
        }
        let now = self.clock.now();
        match self.outgoing.flush(&*self.io, now, &mut self.counters) {
            Flushed::Sent => {}
            Flushed::Failed(peer, why) => self.endpoint.transmit_failed(now, peer, why),
            Flushed::Blocked => {
                // Waiting for room all the time would wake this thread for every datagram that leaves.
                let both = Interest::READABLE.add(Interest::WRITABLE);
                self.blocked = self.watch(both);
                self.watches_room = true;
                return false;
            }
        }
        if self.watches_room {
            self.watches_room = !self.watch(Interest::READABLE);
        }
        true
    }

    fn watch(&mut self, interest: Interest) -> bool {
        self.io.watch(self.poll.registry(), SOCKET, interest).is_ok()
    }
}
