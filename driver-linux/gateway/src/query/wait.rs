//! Waiting for the journal to grow, without polling.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use tallylink_journal::POSITION_FILE;

use crate::Error;

/// Watches the position that the journal's writer publishes.
#[derive(Debug)]
pub(super) struct Watch {
    inotify: OwnedFd,
}

impl Watch {
    pub(super) fn on(journal: &Path) -> Result<Self, Error> {
        let made = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).and_then(|inotify| {
            let file = journal.join(POSITION_FILE);
            inotify::add_watch(&inotify, file, WatchFlags::MODIFY)?;
            Ok(Self { inotify })
        });
        made.map_err(|error| Error::NoJournal { dir: journal.to_owned(), error: error.into() })
    }

    /// Returns when the journal may have grown since the last call.
    ///
    /// # Errors
    /// `BrokenPipe` when nobody reads `out` any more.
    pub(super) fn wait(&self, out: &impl AsFd) -> io::Result<()> {
        let mut fds = [
            PollFd::new(&self.inotify, PollFlags::IN),
            // Nothing is asked for: an error or a hang-up is told all the same (poll(2)).
            PollFd::new(out, PollFlags::empty()),
        ];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if fds[1].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            match events.next() {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
