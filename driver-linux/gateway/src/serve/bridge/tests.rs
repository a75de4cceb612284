//! Every order of steps of the writer, of the network thread and of who asks how it is.

use super::{Bridge, Report};
use loom::model;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use std::time::Duration;
use tallylink_core::Epoch;

/// Both threads' part of a wake-up: see the driver's own tests for that.
fn until<T>(bridge: &Bridge, mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        while !bridge.has_news() {
            thread::yield_now();
        }
    }
}

#[test]
fn reports_are_taken_once_and_all() {
    model(|| {
        let bridge = Arc::new(Bridge::default());
        let writer = {
            let bridge = Arc::clone(&bridge);
            thread::spawn(move || {
                for below in [1, 2] {
                    bridge.stored([Report { stream: 0, epoch: Epoch([0; 8]), below }]);
                }
            })
        };
        let (mut taken, mut reports) = (Vec::new(), Vec::new());
        until(&bridge, || {
            if bridge.take_news() {
                bridge.take_reports(&mut reports);
                taken.extend(reports.drain(..).map(|report| report.below));
            }
            (taken.len() == 2).then_some(())
        });
        writer.join().unwrap();
        assert_eq!(taken, [1, 2]);
    });
}

#[test]
fn who_found_the_queue_full_hears_of_room() {
    model(|| {
        let shared = Arc::new((Bridge::default(), AtomicU32::new(1)));
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1.store(0, Ordering::Relaxed);
                shared.0.took();
            })
        };
        let (bridge, waiting) = &*shared;
        bridge.want_room();
        until(bridge, || {
            (waiting.load(Ordering::Relaxed) == 0 || {
                bridge.take_news();
                false
            })
            .then_some(())
        });
        writer.join().unwrap();
    });
}

#[test]
fn a_failure_is_seen_before_what_mends_it() {
    model(|| {
        let bridge = Arc::new(Bridge::default());
        let writer = {
            let bridge = Arc::clone(&bridge);
            thread::spawn(move || {
                bridge.fail();
                bridge.mend();
            })
        };
        let mut failed = false;
        until(&bridge, || {
            bridge.take_news();
            let mended = bridge.is_mended();
            failed |= bridge.take_failure();
            assert!(failed || !mended);
            mended.then_some(())
        });
        writer.join().unwrap();
    });
}

#[test]
fn an_order_to_stop_stays_news() {
    model(|| {
        let bridge = Arc::new(Bridge::default());
        let stopper = {
            let bridge = Arc::clone(&bridge);
            thread::spawn(move || bridge.stop())
        };
        bridge.take_news();
        until(&bridge, || bridge.stopped().then_some(()));
        assert!(bridge.has_news());
        stopper.join().unwrap();
    });
}

#[test]
fn who_has_the_disk_looked_at_waits_for_a_look_that_began_after() {
    model(|| {
        let shared = Arc::new((Bridge::default(), AtomicU32::new(0)));
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                thread::park();
                shared.0.when_asked(|| {
                    shared.1.fetch_add(1, Ordering::Relaxed);
                });
            })
        };
        shared.0.look(|| writer.thread().unpark(), Duration::from_secs(3600));
        assert_eq!(shared.1.load(Ordering::Relaxed), 1);
        writer.join().unwrap();
    });
}
