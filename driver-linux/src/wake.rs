//! Waking another thread only when it sleeps.
//!
//! Both kinds rest on one exchange: who sleeps says so and then looks at the work once more; who brings work puts it where
//! it is seen and then looks whether the other sleeps. With a full fence between the two steps on both sides, at least one
//! of them sees the other's first step, so that no wake-up is lost.

#[cfg(all(test, tallylink_loom))]
pub(crate) mod tests;

use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use crate::sync::{Condvar, Mutex};
use std::io;
use std::sync::PoisonError;
use std::time;

/// Ends the sleep of a thread that waits for a socket, the next one if it is awake.
pub(crate) trait Bell {
    fn ring(&self);
}

impl Bell for mio::Waker {
    fn ring(&self) {
        // The eventfd cannot be full with one wake-up per sleep.
        let _ = self.wake();
    }
}

/// Wakes the one thread that waits for a socket.
#[derive(Debug)]
pub(crate) struct Wake<B = mio::Waker> {
    asleep: AtomicBool,
    bell: B,
}

impl<B: Bell> Wake<B> {
    pub(crate) fn new(bell: B) -> Self {
        Self { asleep: AtomicBool::new(false), bell }
    }

    /// Call this after work was put where the sleeper looks.
    #[inline]
    pub(crate) fn notify(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        // Of several threads one wakes it.
        if self.asleep.swap(false, Ordering::AcqRel) {
            self.bell.ring();
        }
    }

    /// Runs `sleep` unless `idle` says, after everybody can see that we are about to sleep, that there is work.
    pub(crate) fn sleep(&self, idle: impl FnOnce() -> bool, sleep: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        // Swapped, not stored, here and below: all that changes it reads what it changes, so the changes have one order.
        self.asleep.swap(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let slept = if idle() { sleep() } else { Ok(()) };
        self.asleep.swap(false, Ordering::Release);
        slept
    }
}

/// Where threads wait for a condition that another thread makes true.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    waiting: AtomicU32,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Gate {
    /// Call this after something changed that `wait` may look at.
    #[inline]
    pub(crate) fn notify(&self) {
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        // The lock is taken so that nobody is between looking and sleeping.
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits until `ready` gives something, or `deadline` has passed.
    pub(crate) fn wait<T>(&self, deadline: Option<time::Instant>, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
        if let Some(found) = ready() {
            return Some(found);
        }
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let found = loop {
            fence(Ordering::SeqCst);
            if let Some(found) = ready() {
                break Some(found);
            }
            let left = deadline.map(crate::clock::left);
            guard = match left {
                None => self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => break None,
                Some(left) => {
                    let woken = self.changed.wait_timeout(guard, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        };
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        found
    }
}
