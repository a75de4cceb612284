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
    /// Tallylink with ChaCha20-Poly1305.
    #[value(name = "tallylink-chacha20-poly1305")]
    TallylinkChaCha20Poly1305,
    /// quinn with ring.
    QuinnRing,
    /// quinn with aws-lc-rs.
    QuinnAwsLc,
    /// s2n-quic with rustls and aws-lc-rs.
    S2nQuic,
    /// The kernel's TCP with CUBIC, in the clear.
    Tcp,
}

/// One of Tallylink's suites, as it is asked for on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SuiteName {
    /// Where both processors have AES instructions.
    #[value(name = "aes-128-gcm")]
    Aes128Gcm,
    /// Where nonces might repeat.
    #[value(name = "aes-128-gcm-siv")]
    Aes128GcmSiv,
    /// Where a processor has no AES instructions.
    #[value(name = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

impl SuiteName {
    pub(crate) fn side(self) -> SideName {
        match self {
            Self::Aes128Gcm => SideName::TallylinkGcm,
            Self::Aes128GcmSiv => SideName::TallylinkGcmSiv,
            Self::ChaCha20Poly1305 => SideName::TallylinkChaCha20Poly1305,
        }
    }
}

impl SideName {
    pub(crate) fn side(self) -> Box<dyn Side> {
        match self {
            Self::TallylinkGcm => Box::new(tallylink::Tallylink::gcm()),
            Self::TallylinkGcmSiv => Box::new(tallylink::Tallylink::gcm_siv()),
            Self::TallylinkChaCha20Poly1305 => Box::new(tallylink::Tallylink::chacha20_poly1305()),
            Self::QuinnRing => Box::new(quinn::Quinn::ring()),
            Self::QuinnAwsLc => Box::new(quinn::Quinn::aws_lc()),
            Self::S2nQuic => Box::new(s2n::S2n),
            Self::Tcp => Box::new(tcp::Tcp),
        }
    }
}
