//! The kernel's entropy.

use getrandom::fill;
use tallylink_core::BootSeed;

/// What makes this start differ from every other: 16 bytes from the kernel.
///
/// # Errors
/// When the kernel has no entropy source.
pub fn boot_seed() -> Result<BootSeed, getrandom::Error> {
    let mut bytes = [0; 16];
    fill(&mut bytes)?;
    Ok(BootSeed::entropy(bytes))
}

/// Eight bytes from the kernel.
pub(crate) fn draw() -> Result<[u8; 8], getrandom::Error> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    Ok(bytes)
}
