//! What the network thread tells the one that takes parcels.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the module.
#[derive(Debug)]
pub(in crate::serve) struct Shared {
    calls: Mutex<Calls>,
    /// Something is in `calls`, or a stream is drained.
    called: AtomicBool,
    /// Peers that something waits for. Looked at when a session begins.
    expected: Mutex<HashSet<[u8; 8]>>,
    any_expected: AtomicBool,
    wakes: UnixStream,
    pub(super) woken: UnixStream,
    pub(in crate::serve) counts: Counts,
}

/// Who called since that was asked last.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Peers whose session began.
    pub(super) heard: HashSet<[u8; 8]>,
    /// Peers that were removed.
    pub(super) removed: HashSet<[u8; 8]>,
}

/// What became of parcels.
#[derive(Debug, Default)]
pub(in crate::serve) struct Counts {
    parcels_taken: AtomicU64,
    records_taken: AtomicU64,
    parcels_damaged: AtomicU64,
    records_removed: AtomicU64,
}

impl Shared {
    pub(in crate::serve) fn new() -> std::io::Result<Self> {
        let (wakes, woken) = UnixStream::pair()?;
        wakes.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        Ok(Self {
            calls: Mutex::default(),
            called: AtomicBool::new(false),
            expected: Mutex::default(),
            any_expected: AtomicBool::new(false),
            wakes,
            woken,
            counts: Counts::default(),
        })
    }

    // The network thread

    /// A session began.
    pub(in crate::serve) fn heard(&self, peer: [u8; 8]) {
        // A million devices may come back at once.
        if self.any_expected.load(Ordering::Acquire) && locked(&self.expected).contains(&peer) {
            locked(&self.calls).heard.insert(peer);
            self.call();
        }
    }

    /// A peer was removed.
    pub(in crate::serve) fn removed(&self, peer: [u8; 8]) {
        locked(&self.calls).removed.insert(peer);
        self.call();
    }

    // Any thread

    /// There is something to look at.
    pub(super) fn call(&self) {
        if !self.called.swap(true, Ordering::AcqRel) {
            // One that is full wakes as well.
            let _ = (&self.wakes).write(&[1]);
        }
    }

    // The thread that takes parcels

    pub(super) fn take(&self) -> Calls {
        let mut buffer = [0; 64];
        while matches!((&self.woken).read(&mut buffer), Ok(1..)) {}
        self.called.store(false, Ordering::Release);
        std::mem::take(&mut *locked(&self.calls))
    }

    pub(super) fn is_called(&self) -> bool {
        self.called.load(Ordering::Acquire)
    }

    pub(super) fn expect(&self, peer: [u8; 8]) {
        locked(&self.expected).insert(peer);
        self.any_expected.store(true, Ordering::Release);
    }

    pub(super) fn unexpect(&self, peer: [u8; 8]) {
        let mut expected = locked(&self.expected);
        expected.remove(&peer);
        self.any_expected.store(!expected.is_empty(), Ordering::Release);
    }
}

impl Counts {
    pub(super) fn taken(&self, records: u64) {
        self.parcels_taken.fetch_add(1, Ordering::Relaxed);
        self.records_taken.fetch_add(records, Ordering::Relaxed);
    }

    pub(super) fn damaged(&self) {
        self.parcels_damaged.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn removed(&self, records: u64) {
        self.records_removed.fetch_add(records, Ordering::Relaxed);
    }

    /// Each by its name.
    pub(in crate::serve) fn each(&self) -> [(&'static str, u64); 4] {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [
            ("parcels_taken", of(&self.parcels_taken)),
            ("records_taken", of(&self.records_taken)),
            ("parcels_damaged", of(&self.parcels_damaged)),
            ("records_removed", of(&self.records_removed)),
        ]
    }
}

/// What these locks guard is whole at any time, whoever died holding one.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
