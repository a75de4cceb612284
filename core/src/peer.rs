//! What is kept of a peer while nothing is outstanding: keys, the compact session, and the heads of its lists.

use crate::config::{Config, ConfigError};
use crate::crypto::{Psk, Suite};
use crate::discard::Fault;
use crate::ids::{Boot, InIx, KeyId, Label, LinkIx, OutIx, PeerId, PeerIx};
use crate::path::Path;
use crate::time::{Duration, Instant};
use crate::wire::{Limits, RejectReason};
use core::num::NonZeroU16;

/// Which end this side is for a peer; fixed by provisioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// We start sessions with that peer.
    Device,
    /// That peer starts sessions with us.
    Gateway,
}

/// A peer. The driver lends an array of these; what is inside is the core's.
#[derive(Debug)]
pub struct Peer {
    pub(crate) session: Session,
    pub(crate) keys: [Option<(KeyId, Psk)>; 2],
    pub(crate) id: PeerId,
    pub(crate) path: Path,
    /// Gateway end: the counter of the last session that went live; a session at or below it never returns.
    pub(crate) last_live: u64,
    /// When the other end was last heard, in authentic packets.
    pub(crate) heard: Instant,
    /// Gateway end: the device's boot, and the one before it. Device end: the gateway's, while a session lives.
    pub(crate) boots: [Boot; 2],
    /// Gateway end: when a boot last went live again after another had, in units of ten seconds that wrap around after a
    /// week: two devices use this id.
    pub(crate) shared_since: Option<NonZeroU16>,
    pub(crate) link: LinkIx,
    pub(crate) first_in: InIx,
    pub(crate) first_out: OutIx,
    pub(crate) next_dirty: PeerIx,
    /// Smoothed round-trip time, as it was last measured.
    pub(crate) rtt_us: u32,
    /// The datagram size that the last link used.
    pub(crate) datagram: u16,
    /// The end that we are; `None` for an empty slot.
    pub(crate) end: Option<End>,
    pub(crate) news: News,
    pub(crate) path_validated: bool,
    /// Gateway end: in the high bits the low ones of a second, in the low bits how often sixteen HELLOs were answered in it.
    pub(crate) answers: u8,
}

/// Sixteen times as many HELLOs of one peer are answered in a second: replayed ones leave the other peers their answers.
const ANSWERS_PER_SECOND: u8 = 15;

const _: () = assert!(size_of::<Peer>() <= 248);

/// What has happened since the application last looked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct News {
    pub(crate) listed: bool,
    pub(crate) connected: bool,
    pub(crate) moved: bool,
    pub(crate) ended: Option<Fault>,
    pub(crate) set_up: Option<SetUp>,
}

/// What setting a session up has shown: the one only a device end is told, the other only a gateway end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SetUp {
    Rejected(RejectReason),
    IdUsedTwice,
}

/// Everything of a session that must outlive its link.
#[derive(Debug)]
pub(crate) struct Session {
    /// The keys of both directions are derived from this.
    pub(crate) key: Psk,
    pub(crate) suite: Option<Suite>,
    /// The next packet number.
    pub(crate) tx_next: u64,
    /// One above the largest packet number received, and the newest 64 bits of the window.
    pub(crate) rx_next: u64,
    pub(crate) rx_bits: u64,
    /// What the other end receives.
    pub(crate) limits: Limits,
    /// The credit window that the other end granted.
    pub(crate) window: u64,
    /// The credit window that this end granted.
    pub(crate) granted: u64,
    /// The label in packets to us.
    pub(crate) ours: Label,
    /// The label in packets to the other end.
    pub(crate) theirs: Label,
    /// The id of the next stream that this end opens: ids ascend and are never used again in a session.
    pub(crate) next_stream: u32,
    /// Both ends use labels.
    pub(crate) confirmed: bool,
    /// Both ends mark packets, and count marks.
    pub(crate) ecn: bool,
    /// BUSY was said because no link was free.
    pub(crate) was_busy: bool,
}

impl Session {
    /// No session.
    pub(crate) fn none() -> Self {
        Self {
            key: Psk::from_bytes([0; 16]),
            suite: None,
            tx_next: 0,
            rx_next: 0,
            rx_bits: 0,
            limits: Limits::default(),
            window: 0,
            granted: 0,
            ours: Label(0),
            theirs: Label(0),
            next_stream: 1,
            confirmed: false,
            ecn: false,
            was_busy: false,
        }
    }

    /// The largest datagram that either end of the session sends.
    fn datagram(&self, config: &Config) -> u16 {
        config.max_datagram.min(self.limits.max_datagram)
    }

    /// Packet numbers stay below this (wire-format §4.5).
    pub(crate) fn packet_limit(&self, config: &Config) -> u64 {
        self.suite.map_or(0, |s| s.packet_limit(self.datagram(config))).min(crate::wire::number::LARGEST)
    }

    /// From this number on the device asks for a new session.
    pub(crate) fn soft_packet_limit(&self, config: &Config) -> u64 {
        self.suite.map_or(0, |s| s.soft_packet_limit(self.datagram(config))).min(crate::wire::number::LARGEST)
    }

    /// True while the session lives.
    pub(crate) const fn lives(&self) -> bool {
        self.suite.is_some()
    }
}

impl Default for Peer {
    fn default() -> Self {
        Self {
            session: Session::none(),
            keys: [None, None],
            id: PeerId::default(),
            path: Path::NOWHERE,
            last_live: 0,
            heard: Instant::from_micros(0),
            boots: [Boot::default(); 2],
            shared_since: None,
            link: LinkIx::NONE,
            first_in: InIx::NONE,
            first_out: OutIx::NONE,
            next_dirty: PeerIx::NONE,
            rtt_us: 0,
            datagram: 0,
            end: None,
            news: News::default(),
            path_validated: false,
            answers: 0,
        }
    }
}

impl Peer {
    /// The key with this id.
    pub(crate) fn key(&self, id: KeyId) -> Option<&Psk> {
        self.keys.iter().flatten().find(|(k, _)| *k == id).map(|(_, key)| key)
    }

    /// Whether this second's answers to the peer's HELLOs are used up; every sixteenth of all answers is counted.
    pub(crate) fn may_be_answered(&mut self, now: Instant, counted: bool) -> bool {
        let second = (now.as_micros().wrapping_div(1_000_000) as u8) << 4;
        if self.answers & 0xf0 != second {
            self.answers = second;
        }
        let may = self.answers & 0x0f < ANSWERS_PER_SECOND;
        self.answers = self.answers.wrapping_add(u8::from(may && counted));
        may
    }

    /// The key that a device end uses: the newest, which is kept first.
    pub(crate) fn newest_key(&self) -> Option<&(KeyId, Psk)> {
        self.keys.iter().flatten().next()
    }

    /// True while a session with this peer lives.
    #[must_use]
    pub fn has_session(&self) -> bool {
        self.session.lives()
    }

    /// The peer's id.
    #[must_use]
    pub fn id(&self) -> PeerId {
        self.id
    }

    /// Where the peer was last heard, or is thought to be.
    #[must_use]
    pub fn path(&self) -> Path {
        self.path
    }

    /// When the peer was last heard.
    #[must_use]
    pub fn heard(&self) -> Instant {
        self.heard
    }

    /// The suite of the session.
    #[must_use]
    pub fn suite(&self) -> Option<Suite> {
        self.session.suite
    }

    /// The largest record that the other end takes, while a session lives.
    #[must_use]
    pub fn largest_record(&self) -> Option<u32> {
        self.has_session().then_some(self.session.limits.max_record)
    }

    /// The smoothed round-trip time, zero when it was never measured.
    #[must_use]
    pub fn rtt(&self) -> Duration {
        Duration::from_micros(u64::from(self.rtt_us))
    }

    /// True when the slot holds a peer.
    #[must_use]
    pub fn in_use(&self) -> bool {
        self.end.is_some()
    }
}

/// How a peer is provisioned.
#[derive(Clone, Debug)]
pub struct Provision {
    /// The peer's id.
    pub id: PeerId,
    /// The end that this side is.
    pub end: End,
    /// One key, or two while keys are rotated: the newest first.
    pub keys: [Option<(KeyId, Psk)>; 2],
}

impl Provision {
    /// A peer with one key.
    #[must_use]
    pub fn new(id: PeerId, end: End, key: KeyId, psk: Psk) -> Self {
        Self { id, end, keys: [Some((key, psk)), None] }
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let distinct = match &self.keys {
            [Some((a, _)), Some((b, _))] => a != b,
            [None, None] => false,
            _ => true,
        };
        if distinct { Ok(()) } else { Err(ConfigError { field: "keys", must: "one key, or two with different ids" }) }
    }
}
