//! Why a datagram had no effect, and why a session ended: each reason has a name and is counted.

use core::fmt;

/// Defines the reasons once: the enum, their names and their number.
macro_rules! reasons {
    ($(#[$doc:meta])* $enum:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $enum { $($(#[$vdoc])* $variant,)* }

        impl $enum {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name under which it is counted.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        impl fmt::Display for $enum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

reasons! {
    /// Why a datagram was discarded. Nothing of it had any effect, except where a reason says so.
    Discard {
        /// It is no packet of this version.
        Malformed = "malformed",
        /// HELLO or long DATA of a peer that is not provisioned.
        UnknownPeer = "unknown_peer",
        /// The peer has no key with that id.
        UnknownKey = "unknown_key",
        /// A tag does not verify: damaged, forged, or sealed with another key.
        Forged = "forged",
        /// DATA with a label that names no session.
        UnknownLabel = "unknown_label",
        /// Long DATA of another boot of this gateway.
        OtherBoot = "other_boot",
        /// Long DATA of a session that has ended, or that began before the one that lives.
        EndedSession = "ended_session",
        /// The packet number was received before.
        Duplicate = "duplicate",
        /// The packet number lies below the window.
        TooOld = "too_old",
        /// The packet number cannot be told.
        BadNumber = "bad_number",
        /// WELCOME or REJECT that answers no HELLO of ours, or no longer.
        Unasked = "unasked",
        /// A hint about a session that is not ours, or while nothing is outstanding.
        UnusedHint = "unused_hint",
        /// The other end's part, sent to us: a HELLO to a device, a WELCOME to a gateway.
        WrongEnd = "wrong_end",
        /// No link is free for another active peer.
        NoLink = "no_link",
        /// Too many answers this second.
        ReplyLimit = "reply_limit",
        /// A chunk came ahead of a gap and no slot was free. It was not acknowledged; frames before it had effect.
        HeldFull = "held_full",
        /// The receiver's queue was full. It was not acknowledged; frames before it had effect.
        DeliverFull = "deliver_full",
        /// A chunk of a stream that was not opened. It was not acknowledged; frames before it had effect.
        BeforeOpen = "before_open",
        /// A chunk of a stream that was refused. It was not acknowledged; frames before it had effect.
        RefusedStream = "refused_stream",
        /// The packet ended the session with a [`Fault`]; frames before the bad one had effect.
        EndedByFault = "ended_by_fault",
    }
}

reasons! {
    /// Why a session ended: the other end misbehaved although it holds the key, or an invariant of ours broke.
    Fault {
        /// A frame in an authentic packet is malformed or unknown.
        BadFrame = "bad_frame",
        /// An ACK for a packet number that was never sent.
        AckOfUnsent = "ack_of_unsent",
        /// STORED or OPENED beyond what was sent.
        StoredUnsent = "stored_unsent",
        /// A stream id went back, or an OPEN differs from the one before.
        OpenChanged = "open_changed",
        /// A part of a record contradicts what was received of it.
        Contradiction = "contradiction",
        /// A record above the stated limit.
        RecordTooLarge = "record_too_large",
        /// Packet numbers or the suite's packet limit are used up.
        NumbersUsedUp = "numbers_used_up",
        /// The driver asked for it: its disk failed, or the peer was removed.
        Local = "local",
        /// An invariant of this end broke.
        Internal = "internal",
    }
}

/// How often each reason occurred.
#[derive(Clone, Debug)]
pub struct Counters {
    discards: [u64; Discard::ALL.len()],
    faults: [u64; Fault::ALL.len()],
}

impl Default for Counters {
    fn default() -> Self {
        Self { discards: [0; Discard::ALL.len()], faults: [0; Fault::ALL.len()] }
    }
}

impl Counters {
    pub(crate) fn count_discard(&mut self, why: Discard) {
        if let Some(n) = self.discards.get_mut(why as usize) {
            *n = n.saturating_add(1);
        }
    }

    pub(crate) fn count_fault(&mut self, why: Fault) {
        if let Some(n) = self.faults.get_mut(why as usize) {
            *n = n.saturating_add(1);
        }
    }

    /// How many datagrams were discarded for this reason.
    #[must_use]
    pub fn discarded(&self, why: Discard) -> u64 {
        self.discards.get(why as usize).copied().unwrap_or(0)
    }

    /// How many sessions ended for this reason.
    #[must_use]
    pub fn faults(&self, why: Fault) -> u64 {
        self.faults.get(why as usize).copied().unwrap_or(0)
    }
}
