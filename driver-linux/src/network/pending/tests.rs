//! Every order of steps of the threads that bring something and of the one that takes it.

use super::Pending;
use crate::application::Stored;
use crate::wake::Wake;
use crate::wake::tests::Eventfd;
use loom::model;
use loom::sync::Arc;
use loom::thread;
use tallylink_core::{Epoch, InIx};

struct Shared {
    wake: Wake<Eventfd>,
    pending: Pending<u32>,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self { wake: Wake::new(Eventfd::default()), pending: Pending::new() })
    }

    /// A turn of the network thread: sleeps if there is nothing, then takes what there is.
    fn turn(&self, confirmed: impl FnMut(Stored)) -> (bool, Vec<u32>) {
        self.wake.sleep_on_it(|| !self.pending.any() && !self.pending.stopped());
        match self.pending.any() {
            true => {
                let (room, calls) = self.pending.take(confirmed);
                (room, calls.into())
            }
            false => (false, Vec::new()),
        }
    }
}

fn stored(below: u64) -> Stored {
    Stored { stream: InIx(1), epoch: Epoch([0; 8]), below }
}

#[test]
fn reports_room_and_calls_of_two_threads_all_arrive() {
    model(|| {
        let shared = Shared::new();
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.pending.stored([stored(7)]);
                shared.wake.notify();
                shared.pending.room();
                shared.wake.notify();
            })
        };
        let caller = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                assert!(shared.pending.call(5));
                shared.wake.notify();
            })
        };
        let (mut below, mut has_room, mut called) = (0, false, Vec::new());
        while !(below == 7 && has_room && called == [5]) {
            let (room, calls) = shared.turn(|stored| below = stored.below);
            has_room |= room;
            called.extend(calls);
        }
        writer.join().unwrap();
        caller.join().unwrap();
    });
}

#[test]
fn an_order_to_stop_ends_the_sleep_whatever_else_was_taken() {
    model(|| {
        let shared = Shared::new();
        let stopper = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.pending.room();
                shared.wake.notify();
                shared.pending.stop();
                shared.wake.notify();
            })
        };
        while !shared.pending.stopped() {
            shared.turn(|_| ());
        }
        stopper.join().unwrap();
    });
}

#[test]
fn a_call_beside_the_end_is_refused_or_handed_back() {
    model(|| {
        let shared = Shared::new();
        let caller = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.pending.call(5))
        };
        let mut left = shared.pending.take(|_| ()).1.len();
        left += shared.pending.close().len();
        let taken = caller.join().unwrap();
        assert_eq!(left, usize::from(taken));
    });
}
