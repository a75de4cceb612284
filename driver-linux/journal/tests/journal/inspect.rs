//! A look at a journal that others write.

use tallylink_journal::testing::MemStore;
use tallylink_journal::{Journal, Options, Retention, inspect};

use crate::common::{EPOCH, PEER, append, options};

#[test]
fn a_look_finds_what_the_writer_knows_at_every_commit() {
    let store = MemStore::new(1);
    assert!(inspect(&store).is_err(), "there is no journal");
    let retention = Retention { freed: true, ..Retention::default() };
    let (mut journal, _) = Journal::open(store.clone(), Options { retention, ..options() }).unwrap();
    assert_eq!(inspect(&store).unwrap(), []);
    let stream = journal.stream(PEER, b"s").unwrap();
    for number in 0..200 {
        journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
        append(&mut journal, stream, EPOCH, number, &[vec![1; 500]]).unwrap();
        if number % 3 == 0 {
            journal.freed(stream, EPOCH, number / 2).unwrap();
        }
        journal.commit().unwrap();
        journal.maintain(0).unwrap();
        let now = inspect(&store).unwrap();
        assert_eq!((now.len(), now[0].peer, now[0].name.as_slice()), (1, PEER, &b"s"[..]));
        assert_eq!(now[0].epochs, [(EPOCH, journal.epoch_state(stream, EPOCH).unwrap())]);
        assert_eq!(now[0].index_end, journal.index_end(stream));
    }
    assert!(journal.stats().deleted_segments > 2);
}
