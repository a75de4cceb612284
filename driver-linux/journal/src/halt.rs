//! Ending a long piece of work when somebody asks for it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asked before each piece that is read: once the flag is set, reading fails.
#[derive(Clone, Debug, Default)]
pub(crate) struct Halt(Option<Arc<AtomicBool>>);

/// What reading fails with then.
#[derive(Debug, thiserror::Error)]
#[error("stopped, as asked")]
pub(crate) struct Halted;

impl Halt {
    /// Stops once `flag` is set.
    pub(crate) fn when(flag: &Arc<AtomicBool>) -> Self {
        Self(Some(Arc::clone(flag)))
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        let asked = self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
        if asked { Err(io::Error::other(Halted)) } else { Ok(()) }
    }
}
