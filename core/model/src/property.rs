//! What the models prove, by name, and how a breach is told.

use std::fmt;

/// A guarantee or a rule that a model checks in every state it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Property {
    /// No record is stored twice, or twice with different neighbours.
    ExactlyOnce,
    /// Within an epoch the stored numbers ascend, and what is missing is a journalled gap.
    InOrder,
    /// What a sender was told is STORED can be read from the disk, whatever happened since.
    NothingConfirmedLost,
    /// One key never seals two plaintexts under one packet number.
    OnePlaintextPerNumber,
    /// (epoch, number) names one content for ever.
    OneContentPerName,
    /// The journal writer is only ever asked to append at its own position.
    WriterContinues,
    /// A gap covers no record that its sender still holds.
    NothingHeldIsSkipped,
    /// A restored or copied outbox, or a restored gateway, is reported.
    RollbackReported,
    /// Nothing is reported while nobody restored or copied anything.
    NoFalseAlarm,
    /// A sender never has more unstored bytes on the way than it was granted.
    CreditHonoured,
    /// What the receiver holds stays within its limit.
    Bounded,
    /// A packet number is accepted once.
    AcceptedOnce,
    /// An ACK names only packets that were accepted.
    AckIsTrue,
    /// Every accepted packet is named by an ACK sent after it.
    AckIsComplete,
    /// A packet that its sender counts as on the way is still inside the receiver's window.
    WindowCoversFlight,
    /// From every reachable state, without further faults, everything can be completed.
    Progress,
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A property that does not hold, with what was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property that is violated.
    pub property: Property,
    /// What was seen, for the reader of the trace.
    pub seen: String,
}

impl Violation {
    /// A violation of `property`, with what was seen.
    pub fn new(property: Property, seen: impl Into<String>) -> Self {
        Self { property, seen: seen.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.seen)
    }
}
