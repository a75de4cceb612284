//! What the board must give: something that makes each of its starts differ from every other.

use tallylink_core::BootSeed;

/// A board's source of difference. The guarantees of exactly-once delivery and of secrecy both need that no nonce ever
/// repeats, so a board says plainly which source it has.
pub trait Board {
    /// Why the source failed: a generator's self-test, a flash write.
    type Error;

    /// Called once for each [`crate::DeviceEnd`] that is made.
    ///
    /// # Errors
    /// The board's own; there is then no device end, which is better than one whose nonces repeat.
    fn declare(&mut self) -> Result<Declared, Self::Error>;
}

/// What makes this start differ.
#[derive(Clone)]
pub enum Declared {
    /// 16 bytes from a hardware generator or another source that nobody can foretell. Every suite may be used.
    Entropy([u8; 16]),
    /// The board has no such source, but counts its starts. Only suites that survive a repeated nonce are offered to the
    /// gateway.
    BootCounter {
        /// A counter in flash or retained memory, increased and saved *before* it is returned here. It must never go back,
        /// not when the battery is changed and not when the firmware is flashed anew.
        boots: u64,
        /// Whatever else differs: a serial number, a timer, noise from an ADC.
        extra: u64,
    },
}

impl core::fmt::Debug for Declared {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Entropy(_) => "Entropy(..)",
            Self::BootCounter { .. } => "BootCounter(..)",
        })
    }
}

impl From<Declared> for BootSeed {
    fn from(declared: Declared) -> Self {
        match declared {
            Declared::Entropy(bytes) => Self::entropy(bytes),
            Declared::BootCounter { boots, extra } => Self::counter(boots, extra),
        }
    }
}
