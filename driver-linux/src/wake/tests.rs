//! Every order of steps of a few threads. A wake-up that is lost is a thread that never ends, which loom reports.

use super::{Bell, Gate, Wake};
use loom::model;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// An eventfd, as far as it matters here: a ring is remembered until somebody sleeps on it.
#[derive(Default)]
pub(crate) struct Eventfd {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell for Eventfd {
    fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

impl Wake<Eventfd> {
    /// Sleeps until rung, unless `idle` says that there is work.
    pub(crate) fn sleep_on_it(&self, idle: impl FnOnce() -> bool) {
        let sleep = || {
            let mut rung = self.bell.rung.lock().unwrap();
            while !*rung {
                rung = self.bell.changed.wait(rung).unwrap();
            }
            *rung = false;
            Ok(())
        };
        self.sleep(idle, sleep).unwrap();
    }
}

#[test]
fn who_sleeps_on_a_socket_is_woken_for_work() {
    model(|| {
        let shared = Arc::new((Wake::new(Eventfd::default()), AtomicU32::new(0)));
        let bringer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for _ in 0..2 {
                    shared.1.fetch_add(1, Ordering::Relaxed);
                    shared.0.notify();
                }
            })
        };
        let mut done = 0;
        while done < 2 {
            shared.0.sleep_on_it(|| shared.1.load(Ordering::Relaxed) == 0);
            done += shared.1.swap(0, Ordering::Relaxed);
        }
        bringer.join().unwrap();
    });
}

#[test]
fn two_that_bring_work_at_once_wake_it_for_both() {
    model(|| {
        let shared = Arc::new((Wake::new(Eventfd::default()), AtomicU32::new(0)));
        let bringers = [(); 2].map(|()| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1.fetch_add(1, Ordering::Relaxed);
                shared.0.notify();
            })
        });
        let mut done = 0;
        while done < 2 {
            shared.0.sleep_on_it(|| shared.1.load(Ordering::Relaxed) == 0);
            done += shared.1.swap(0, Ordering::Relaxed);
        }
        bringers.into_iter().for_each(|bringer| bringer.join().unwrap());
    });
}

#[test]
fn all_that_wait_at_a_gate_see_what_changed() {
    model(|| {
        let shared = Arc::new((Gate::default(), AtomicU32::new(0)));
        let waiters = [(); 2].map(|()| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let ready = || (shared.1.load(Ordering::Relaxed) > 0).then_some(());
                shared.0.wait(None, ready).unwrap();
            })
        });
        shared.1.store(1, Ordering::Relaxed);
        shared.0.notify();
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
}

#[test]
fn who_waits_at_a_gate_sees_each_of_two_changes() {
    model(|| {
        let shared = Arc::new((Gate::default(), AtomicU32::new(0)));
        let changer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for _ in 0..2 {
                    shared.1.fetch_add(1, Ordering::Relaxed);
                    shared.0.notify();
                }
            })
        };
        for wanted in 1..=2 {
            shared.0.wait(None, || (shared.1.load(Ordering::Relaxed) >= wanted).then_some(())).unwrap();
        }
        changer.join().unwrap();
    });
}
