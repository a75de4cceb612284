//! Waiting for `push`, the network thread, or a time.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use super::Shared;
use crate::clock;

/// However fast failures follow one another, they are this far apart.
const PAUSE: Duration = Duration::from_millis(100);

/// The directory in which `push` rings.
#[derive(Debug)]
pub(super) struct Bell {
    inotify: OwnedFd,
}

impl Bell {
    /// What is rung from now on is heard.
    ///
    /// # Errors
    /// The system lets nothing more be watched.
    pub(super) fn watch(dir: &Path) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&inotify, dir, WatchFlags::CREATE | WatchFlags::CLOSE_WRITE | WatchFlags::ONLYDIR)?;
        Ok(Self { inotify })
    }
}

/// Waits for any of them, at most until `due`.
pub(super) fn wait(bell: Option<&Bell>, shared: &Shared, due: Option<Instant>) {
    if shared.is_called() {
        return;
    }
    let left = due.map(|due| due.saturating_duration_since(clock::monotonic()));
    // Whole milliseconds: a shorter wait must not become none.
    let timeout = left.and_then(|left| {
        Timespec::try_from(Duration::from_millis(u64::try_from(left.as_millis()).unwrap_or(u64::MAX) + 1)).ok()
    });
    let woken = PollFd::new(&shared.woken, PollFlags::IN);
    let polled = match bell {
        None => poll(&mut [woken], timeout.as_ref()),
        Some(bell) => poll(&mut [woken, PollFd::new(&bell.inotify, PollFlags::IN)], timeout.as_ref()),
    };
    if polled.is_err_and(|why| why != rustix::io::Errno::INTR) {
        thread::sleep(PAUSE);
    }
    if let Some(bell) = bell {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&bell.inotify, &mut buffer);
        while events.next().is_ok() {}
    }
}
