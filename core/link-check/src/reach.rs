//! Calls everything in the core that a sensor uses, with inputs that the optimiser cannot foresee.

mod crypto;
pub(crate) mod endpoint;

/// Reaches the core's whole public surface.
pub(crate) fn everything() {
    crypto::everything();
    endpoint::everything();
}
