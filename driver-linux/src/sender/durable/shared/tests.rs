//! Every order of steps of a thread that pushes and of the disk's.

use super::Shared;
use crate::outbox::Group;
use loom::model;
use loom::sync::Arc;
use loom::thread;

fn shared() -> Arc<Shared> {
    // Room for two records of a byte.
    let shared = Arc::new(Shared::new(1, 0, 12, 4));
    shared.kept_by(thread::current());
    shared
}

fn push(shared: &Shared) -> bool {
    shared.push(|group, room| u64::from(room >= 6 && group.push(b"hello"))).is_ok()
}

/// The disk's thread, until so many records were fetched. It fetches only what somebody waits for, if `lazy`.
fn keep(shared: &Shared, records: u64, lazy: bool) {
    let mut group = Group::default();
    while group.end() < records {
        let (bytes, hurried) = shared.queued();
        if bytes > 0 && (hurried || !lazy) {
            shared.fetch(&mut group);
            shared.is_now(group.end(), 0, 0, 0);
        } else {
            thread::park();
        }
    }
}

#[test]
fn what_is_pushed_while_the_thread_goes_to_sleep_is_fetched() {
    model(|| {
        let shared = shared();
        let pusher = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || assert!(push(&shared) && push(&shared)))
        };
        keep(&shared, 2, false);
        pusher.join().unwrap();
    });
}

#[test]
fn who_waits_for_the_disk_hurries_it() {
    model(|| {
        let shared = shared();
        let pusher = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                assert!(push(&shared));
                shared.flush_durable(None).unwrap();
            })
        };
        keep(&shared, 1, true);
        pusher.join().unwrap();
    });
}

#[test]
fn who_waits_for_room_gets_it() {
    model(|| {
        let shared = shared();
        assert!(push(&shared) && push(&shared) && !push(&shared));
        let pusher = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                assert!(shared.wait_for_room(6, None));
                assert!(push(&shared));
            })
        };
        keep(&shared, 3, false);
        pusher.join().unwrap();
    });
}

#[test]
fn who_waits_when_all_is_over_is_told() {
    model(|| {
        // Nobody keeps it any more.
        let shared = Arc::new(Shared::new(1, 0, 12, 4));
        assert!(push(&shared));
        let pusher = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.flush_durable(None).unwrap_err())
        };
        shared.is_closed();
        pusher.join().unwrap();
    });
}
