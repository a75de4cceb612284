//! Every order of steps of the writer, of the network thread and of who asks how it is.

use super::{Bridge, Report};
use loom::model;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use std::time::Duration;
use tallylink_core::Epoch;

/// What both threads look at.
#[derive(Default)]
struct Shared {
    bridge: Bridge,
    /// What waits in the queue.
    waiting: AtomicU32,
    woken: Mutex<bool>,
    changed: Condvar,
}

impl Shared {
    fn wake(&self) {
        *self.woken.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn sleep(&self) {
        let mut woken = self.woken.lock().unwrap();
        while !*woken {
            woken = self.changed.wait(woken).unwrap();
        }
        *woken = false;
    }
}

/// Has the network thread look as often as it is woken, until it has seen all, while the writer works. The writer wakes it as
/// the driver does, whose own tests show that no wake-up is lost.
fn play(begin: fn(&Shared), writer: fn(&Shared), mut look: impl FnMut(&Shared) -> bool + Send + 'static) {
    let shared = Arc::new(Shared::default());
    begin(&shared);
    let network = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            while !look(&shared) {
                if !shared.bridge.has_news() {
                    shared.sleep();
                }
            }
        })
    };
    let writer = thread::spawn(move || writer(&shared));
    writer.join().unwrap();
    network.join().unwrap();
}

#[test]
fn reports_are_taken_once_and_all() {
    model(|| {
        let (mut taken, mut reports) = (Vec::new(), Vec::new());
        let writer = |shared: &Shared| {
            for below in [1, 2] {
                shared.bridge.stored([Report { stream: 0, epoch: Epoch([0; 8]), below }]);
                shared.wake();
            }
        };
        play(
            |_| (),
            writer,
            move |shared| {
                if shared.bridge.take_news() {
                    shared.bridge.take_reports(&mut reports);
                    taken.extend(reports.drain(..).map(|report| report.below));
                }
                assert!([1, 2].starts_with(&taken));
                taken.len() == 2
            },
        );
    });
}

#[test]
fn who_found_the_queue_full_hears_of_room() {
    model(|| {
        let full = |shared: &Shared| shared.waiting.store(1, Ordering::Relaxed);
        let writer = |shared: &Shared| {
            shared.waiting.store(0, Ordering::Relaxed);
            shared.bridge.took();
            shared.wake();
        };
        let mut asked = false;
        play(full, writer, move |shared| {
            if !asked {
                shared.bridge.want_room();
                asked = true;
            }
            shared.bridge.take_news();
            shared.waiting.load(Ordering::Relaxed) == 0
        });
    });
}

#[test]
fn a_failure_is_seen_before_what_mends_it() {
    model(|| {
        let writer = |shared: &Shared| {
            shared.bridge.fail();
            shared.wake();
            shared.bridge.mend();
            shared.wake();
        };
        let mut failed = false;
        play(
            |_| (),
            writer,
            move |shared| {
                shared.bridge.take_news();
                let mended = shared.bridge.is_mended();
                failed |= shared.bridge.take_failure();
                assert!(failed || !mended);
                mended
            },
        );
    });
}

#[test]
fn an_order_to_stop_stays_news() {
    model(|| {
        let writer = |shared: &Shared| {
            shared.bridge.stop();
            shared.wake();
        };
        play(
            |_| (),
            writer,
            |shared| {
                shared.bridge.take_news();
                let stopped = shared.bridge.stopped();
                assert!(!stopped || shared.bridge.has_news());
                stopped
            },
        );
    });
}

#[test]
fn who_has_the_disk_looked_at_waits_for_a_look_that_began_after() {
    model(|| {
        let shared = Arc::new(Shared::default());
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                thread::park();
                shared.bridge.when_asked(|| shared.waiting.store(1, Ordering::Relaxed));
            })
        };
        shared.bridge.look(|| writer.thread().unpark(), Duration::from_secs(3600));
        assert_eq!(shared.waiting.load(Ordering::Relaxed), 1);
        writer.join().unwrap();
    });
}
