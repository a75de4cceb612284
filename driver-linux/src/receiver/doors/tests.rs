//! Every order of steps of the network thread and of the program.

use super::Doors;
use loom::model;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::thread;
use tallylink_core::Full;

/// A queue for one thing.
#[derive(Default)]
struct Shared {
    doors: Doors,
    filled: AtomicU32,
    /// What the program tells the network thread.
    room: AtomicBool,
}

impl Shared {
    fn put(&self) -> Result<(), Full> {
        let free = self.filled.load(Ordering::Acquire) == 0;
        free.then(|| self.filled.store(1, Ordering::Release)).ok_or(Full)
    }
}

#[test]
fn who_found_no_room_is_told_when_there_is_some() {
    model(|| {
        let shared = Arc::new(Shared::default());
        shared.put().unwrap();
        let network = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                if shared.doors.put(|| shared.put()).is_err() {
                    while !shared.room.load(Ordering::Acquire) {
                        thread::yield_now();
                    }
                    shared.doors.put(|| shared.put()).unwrap();
                }
            })
        };
        for _ in 0..2 {
            let came = || (shared.filled.load(Ordering::Acquire) > 0).then_some(());
            shared.doors.gate.wait(None, came).unwrap();
            shared.filled.store(0, Ordering::Release);
            if shared.doors.was_starved() {
                shared.room.store(true, Ordering::Release);
            }
        }
        network.join().unwrap();
    });
}
