//! What a peer has while something is outstanding: expanded keys, the window, recovery, and what is to be said.

use crate::config::{Config, Congestion};
use crate::ids::{InIx, LinkIx, OutIx, PeerIx};
use crate::path::Path;
use crate::recovery::congestion::Controller;
use crate::recovery::ecn::Marks;
use crate::recovery::mtu::Mtu;
use crate::recovery::pacer::{Pacer, Rate};
use crate::recovery::reordering::Reordering;
use crate::recovery::rtt::Rtt;
use crate::recovery::sent::Flight;
use crate::time::{Duration, Instant};
use crate::window::Window;
use crate::wire::PacketRange;

/// How many changed ranges are remembered between two ACKs.
pub(crate) const ACK_RANGES: usize = 24;
/// How many refused stream ids are remembered.
pub(crate) const REFUSED: usize = 4;

/// An active peer. The driver lends an array of these; what is inside is the core's.
#[derive(Debug)]
pub struct Link<K> {
    /// The peer, or `NONE` for a free link.
    pub(crate) peer: PeerIx,
    /// The next free link, or the next one with something to send.
    pub(crate) next: LinkIx,
    /// Listed among those with something to send.
    pub(crate) ready: bool,
    /// Listed among those that may be given to another peer if they are idle then, and the next one of these.
    pub(crate) spare: bool,
    pub(crate) next_spare: LinkIx,
    /// Packets left in this turn.
    pub(crate) turn: u16,
    /// When `handle_timeout` must look at this link, and where it stands in the heap of timers.
    pub(crate) deadline: Instant,
    pub(crate) heap_at: u32,

    pub(crate) tx: Option<K>,
    pub(crate) rx: Option<K>,

    // Receiving
    pub(crate) window: Window,
    pub(crate) ack: AckDue,
    pub(crate) inbound: Inbound,

    // Sending
    pub(crate) flight: Flight,
    pub(crate) rtt: Rtt,
    pub(crate) cc: Controller,
    pub(crate) marks: Marks,
    pub(crate) mtu: Mtu,
    pub(crate) pacer: Pacer,
    pub(crate) recovery: Recovery,
    pub(crate) outbound: Outbound,
    pub(crate) path: PathState,

    /// Device end: the HELLO that is waiting for its WELCOME.
    pub(crate) exchange: Option<Exchange>,
    /// Device end: what long DATA carries until the gateway has been heard in this session.
    pub(crate) long: Option<LongHeader>,
    pub(crate) say: Say,
}

/// When and what to acknowledge.
#[derive(Debug)]
pub(crate) struct AckDue {
    /// Ranges that changed since the last ACK.
    pub(crate) changed: heapless::Vec<PacketRange, ACK_RANGES>,
    /// Packets received since the last ACK that ask for one.
    pub(crate) asked: u16,
    /// The ACK leaves with the next packet, which need not wait for anything.
    pub(crate) now: bool,
    /// When the ACK leaves at the latest.
    pub(crate) due: Instant,
    /// When the largest number arrived.
    pub(crate) largest_at: Instant,
}

/// The receiving side of a link.
#[derive(Debug)]
pub(crate) struct Inbound {
    /// The stream of the last chunk: most often the next one's too.
    pub(crate) last: InIx,
    /// Streams about which OPENED or STORED is to be said.
    pub(crate) dirty: InIx,
    /// Stream ids that were refused, and why.
    pub(crate) refused: heapless::Vec<(u32, u8), REFUSED>,
    /// REFUSED is to be said of them.
    pub(crate) say_refused: bool,
    /// Bytes of chunks received since the last STORED.
    pub(crate) since_stored: u64,
    /// Bytes of chunks received since then, which is at most two round trips ago when the window is looked at.
    pub(crate) recent: u64,
    pub(crate) recent_from: Instant,
    /// Packets that are held ahead of a gap.
    pub(crate) held: u32,
    /// BUSY was said because the driver's queue was full; CREDIT follows when room returns.
    pub(crate) was_busy: bool,
    /// BUSY was said because no slot was free; CREDIT follows the next packet that is taken.
    pub(crate) held_full: bool,
    /// A gap has closed before more than one packet's work lets go: the rest follows with the next packets.
    pub(crate) unreleased: bool,
}

/// The sending side of a link.
#[derive(Debug)]
pub(crate) struct Outbound {
    /// Streams that have something to send, in turn; those of lower priority behind the others.
    pub(crate) front: OutIx,
    pub(crate) back: OutIx,
    /// Packets in a row that left before a stream of lower priority.
    pub(crate) ahead: u8,
    /// Bytes sent and not below a STORED or OPENED, all streams together.
    pub(crate) used: u64,
    /// What is still to be sent of records that were begun.
    pub(crate) begun_rest: u64,
    /// The window that the next record needs, when none fits.
    pub(crate) wanted: Option<u64>,
    /// The window that the first record needs which does not fit, though others may pass it by.
    pub(crate) passed_by: Option<u64>,
    /// The packet that brought the newest CREDIT.
    pub(crate) credit_from: u64,
    /// The other end had no room: only probes leave.
    pub(crate) busy: bool,
    /// How much longer than usual they wait then, in parts of 256: who was refused together does not come back together.
    pub(crate) busy_spread: u8,
    /// When to ask again for a confirmation, and how often that was done.
    pub(crate) query_at: Instant,
    pub(crate) queries: u8,
    /// The same for streams that wait for STORED alone while others keep packets in flight.
    pub(crate) waiting_at: Instant,
    pub(crate) waited: u8,
    /// The stream of the last STORED.
    pub(crate) last: OutIx,
}

/// Loss recovery of a link.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) largest_acked: Option<u64>,
    /// How far and for how long packets overtake each other on this path.
    pub(crate) reordering: Reordering,
    /// When the packet at the front of the flight list counts as lost.
    pub(crate) loss_at: Instant,
    /// When the last packet left that asks for an ACK.
    pub(crate) last_asked: Instant,
    /// Probe timeouts in a row without an ACK: how far probes have backed off.
    pub(crate) probes: u32,
    /// ... and without BUSY, which is an answer as well.
    pub(crate) unanswered: u32,
    /// Probes that are to leave now.
    pub(crate) probe_due: u8,
    /// Data packets that have left.
    pub(crate) data_sent: u32,
    /// The first number whose packet is not known to be received, for the length of truncated numbers.
    pub(crate) oldest_unacked: u64,
    /// Sending to a silent device is parked until it is heard.
    pub(crate) parked: bool,
    /// The number that will be skipped next, and the last one that was: an ACK of it is a lie (wire-format §6.7).
    pub(crate) skips_next: u64,
    pub(crate) skipped: Option<u64>,
}

/// The path of a link.
#[derive(Debug)]
pub(crate) struct PathState {
    /// The largest datagram that is sent.
    pub(crate) datagram: u16,
    /// Bytes that may still be sent to an address that has not answered.
    pub(crate) budget: u64,
    /// Where to go back to when it does not answer, and when.
    pub(crate) fallback: Option<Path>,
    pub(crate) fallback_at: Instant,
    /// The first packet number that was sent to the address.
    pub(crate) since: u64,
}

/// A HELLO without its WELCOME yet.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) nonce: [u8; 16],
    pub(crate) label: crate::ids::Label,
    /// When the HELLO is sent (again).
    pub(crate) at: Instant,
    pub(crate) tries: u32,
    /// When a session of another gateway boot, or any after this, replaces the old one.
    pub(crate) move_after: Instant,
    /// The session that lives may be gone, and is not if it answers.
    pub(crate) doubt: bool,
}

/// What long DATA carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongHeader {
    pub(crate) key: crate::ids::KeyId,
    pub(crate) nonce: [u8; 16],
    pub(crate) gateway_nonce: [u8; 16],
}

/// What is to be said once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Say {
    pub(crate) label: bool,
    pub(crate) credit: bool,
    pub(crate) busy: bool,
    pub(crate) ping: bool,
    pub(crate) query: bool,
}

impl<K> Default for Link<K> {
    fn default() -> Self {
        Self::new(PeerIx::NONE, Instant::from_micros(0), Congestion::NewReno, 1200, Duration::ZERO)
    }
}

impl<K> Link<K> {
    /// How fast data may leave.
    pub(crate) fn rate(&self, config: &Config) -> Rate {
        Rate {
            window: self.cc.window(),
            rtt: self.rtt.smoothed(),
            doubling: self.cc.in_slow_start(),
            cap: config.max_rate,
        }
    }

    /// A link that has sent and received nothing.
    pub(crate) fn new(peer: PeerIx, now: Instant, congestion: Congestion, datagram: u16, rtt: Duration) -> Self {
        Self {
            peer,
            next: LinkIx::NONE,
            ready: false,
            spare: false,
            next_spare: LinkIx::NONE,
            turn: 0,
            deadline: Instant::NEVER,
            heap_at: u32::MAX,
            tx: None,
            rx: None,
            window: Window::default(),
            ack: AckDue { changed: heapless::Vec::new(), asked: 0, now: false, due: Instant::NEVER, largest_at: now },
            inbound: Inbound {
                last: InIx::NONE,
                dirty: InIx::NONE,
                refused: heapless::Vec::new(),
                say_refused: false,
                since_stored: 0,
                recent: 0,
                recent_from: now,
                held: 0,
                was_busy: false,
                held_full: false,
                unreleased: false,
            },
            flight: Flight::default(),
            rtt: Rtt::remembered(rtt),
            cc: Controller::new(congestion, datagram),
            marks: Marks::new(),
            mtu: Mtu::new(datagram),
            pacer: Pacer::new(now, datagram),
            recovery: Recovery {
                largest_acked: None,
                reordering: Reordering::new(),
                loss_at: Instant::NEVER,
                last_asked: now,
                probes: 0,
                unanswered: 0,
                probe_due: 0,
                data_sent: 0,
                oldest_unacked: 0,
                parked: false,
                skips_next: u64::MAX,
                skipped: None,
            },
            outbound: Outbound {
                front: OutIx::NONE,
                back: OutIx::NONE,
                ahead: 0,
                used: 0,
                begun_rest: 0,
                wanted: None,
                passed_by: None,
                credit_from: 0,
                busy: false,
                busy_spread: 0,
                query_at: Instant::NEVER,
                queries: 0,
                waiting_at: Instant::NEVER,
                waited: 0,
                last: OutIx::NONE,
            },
            path: PathState { datagram, budget: u64::MAX, fallback: None, fallback_at: Instant::NEVER, since: 0 },
            exchange: None,
            long: None,
            say: Say::default(),
        }
    }
}
