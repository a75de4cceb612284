//! The boards: each is an Ethernet controller as smoltcp's `Device`, and how fast its processor counts.

#[cfg(not(feature = "lm3s6965"))]
mod lan9118;
#[cfg(feature = "lm3s6965")]
mod stellaris;

#[cfg(not(feature = "lm3s6965"))]
pub(crate) use lan9118::{Ethernet, HERTZ};
#[cfg(feature = "lm3s6965")]
pub(crate) use stellaris::{Ethernet, HERTZ};

/// Words of a frame buffer: the largest Ethernet frame, and what a controller puts before it.
const WORDS: usize = 384;
/// The largest frame without its checksum.
const FRAME: usize = 1514;
