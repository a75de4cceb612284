//! Every case of an OPEN that does not fit.

use super::super::streams::Known;
use super::{Finding, compare};
use tallylink_core::wire::Previous;
use tallylink_core::{Epoch, Open};

fn epoch(n: u8) -> Epoch {
    Epoch([n; 8])
}

fn known(epochs: &[(u8, u64)]) -> Vec<Known> {
    epochs.iter().map(|(n, next)| Known::new(epoch(*n), *next, *next)).collect()
}

fn open(n: u8, first: u64, previous: Option<(u8, u64)>) -> Open<'static> {
    let previous = previous.map(|(n, end)| Previous { epoch: epoch(n), end });
    Open { stream: 1, name: "s", epoch: epoch(n), first, previous }
}

#[test]
fn what_goes_on_where_it_was_is_no_finding() {
    assert_eq!(compare(&open(1, 0, None), &known(&[])), None);
    assert_eq!(compare(&open(2, 0, Some((1, 7))), &known(&[(1, 7)])), None);
    assert_eq!(compare(&open(1, 3, None), &known(&[(1, 7)])), None, "a mark that is behind");
    assert_eq!(
        compare(&open(9, 0, None), &known(&[(1, 7)])),
        None,
        "a sender without storage has a new epoch each boot"
    );
    let many = [(1, 1), (2, 2), (3, 3), (4, 4)];
    assert_eq!(compare(&open(5, 0, Some((4, 4))), &known(&many)), None);
}

#[test]
fn a_journal_that_lacks_what_it_confirmed_is_older() {
    let older = |previous, end, here| Some(Finding::JournalOlder { previous: epoch(previous), end, here });
    assert_eq!(compare(&open(2, 0, Some((1, 7))), &known(&[(1, 5)])), older(1, 7, 5));
    assert_eq!(compare(&open(2, 0, Some((1, 7))), &known(&[])), older(1, 7, 0));
    assert_eq!(compare(&open(3, 0, Some((2, 7))), &known(&[(1, 5)])), older(2, 7, 0));
    let ahead = Some(Finding::FirstAhead { first: 9, here: 5 });
    assert_eq!(compare(&open(1, 9, None), &known(&[(1, 5)])), ahead);
}

#[test]
fn an_outbox_that_forgot_what_it_sent_differs() {
    let differs = |previous, end| Some(Finding::OutboxDiffers { previous: epoch(previous), end });
    assert_eq!(compare(&open(3, 0, Some((1, 7))), &known(&[(1, 7), (2, 4)])), differs(1, 7));
    assert_eq!(compare(&open(3, 0, Some((1, 6))), &known(&[(1, 7)])), differs(1, 6));
    let forgotten = known(&[(2, 1), (3, 1), (4, 1), (5, 1)]);
    assert_eq!(compare(&open(6, 0, Some((1, 7))), &forgotten), differs(1, 7), "it may have been here");
}
