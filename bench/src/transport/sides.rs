//! The transports that can be measured, each in a file of its own.
pub(crate) mod quinn;
mod s2n;
mod setup;
mod tallylink;
mod tcp;

use clap::ValueEnum;

use super::side::Side;

/// UDP payload that no side may exceed.
pub(crate) const MAX_DATAGRAM: u16 = 1_452;

/// A side as it is asked for on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SideName {
    /// Tallylink with AES-128-GCM.
    TallylinkGcm,
    /// Tallylink with AES-128-GCM-SIV.
    TallylinkGcmSiv,
    /// quinn with ring.
    QuinnRing,
    /// quinn with aws-lc-rs.
    QuinnAwsLc,
    /// s2n-quic with rustls and aws-lc-rs.
    S2nQuic,
    /// The kernel's TCP with CUBIC, in the clear.
    Tcp,
}

impl SideName {
    pub(crate) fn side(self) -> Box<dyn Side> {
        match self {
            Self::TallylinkGcm => Box::new(tallylink::Tallylink::gcm()),
            Self::TallylinkGcmSiv => Box::new(tallylink::Tallylink::gcm_siv()),
            Self::QuinnRing => Box::new(quinn::Quinn::ring()),
            Self::QuinnAwsLc => Box::new(quinn::Quinn::aws_lc()),
            Self::S2nQuic => Box::new(s2n::S2n),
            Self::Tcp => Box::new(tcp::Tcp),
        }
    }
}
