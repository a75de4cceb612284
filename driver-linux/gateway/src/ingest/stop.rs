//! The signals that end it.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::{Error, serve};

/// Whether somebody wants it to end: a flag to look at, and a file descriptor to wait for.
#[derive(Debug)]
pub(super) struct Stop {
    flag: Arc<AtomicBool>,
    woken: UnixStream,
}

impl Stop {
    /// From now on the first SIGTERM or SIGINT asks; the second does not.
    pub(super) fn on_signals() -> Result<Self, Error> {
        let flag = serve::watch_for_the_first_signal()?;
        let (woken, wakes) = UnixStream::pair().map_err(Error::Network)?;
        for signal in [SIGINT, SIGTERM] {
            let wakes = wakes.try_clone().map_err(Error::Network)?;
            signal_hook::low_level::pipe::register(signal, wakes).map_err(Error::Network)?;
        }
        Ok(Self { flag, woken })
    }

    pub(super) fn flag(&self) -> &Arc<AtomicBool> {
        &self.flag
    }

    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }
}
