//! Validation of marks (RFC 9000 §13.4.2.1).

use super::{Ecn, EcnCounts, Marks};

fn counts(ect0: u64, ect1: u64, ce: u64) -> Option<EcnCounts> {
    Some(EcnCounts { ect0, ect1, ce })
}

/// Ten packets have left marked.
fn ten() -> Marks {
    let mut marks = Marks::new();
    (0..10).for_each(|_| marks.left());
    marks
}

#[test]
fn honest_counts_prove_a_path_and_tell_of_congestion() {
    let mut marks = ten();
    assert!(!marks.acknowledged(4, counts(4, 0, 0)));
    assert!(marks.acknowledged(4, counts(7, 0, 1)));
    assert!(!marks.acknowledged(2, counts(9, 0, 1)), "each mark counts once");
    marks.silence();
    assert_eq!(marks.next(), Ecn::Ect0, "a path that was proved gets another chance");
    marks.silence();
    assert_eq!(marks.next(), Ecn::NotEct);
}

#[test]
fn counts_that_cannot_be_end_the_marking() {
    for (newly, said, why) in [
        (4, None, "marks were taken off"),
        (4, counts(3, 0, 0), "a mark is missing"),
        (4, counts(4, 1, 0), "ECT(1) never left"),
        (4, counts(11, 0, 0), "more than left"),
        (4, counts(4, 0, u64::MAX), "more than left"),
    ] {
        let mut marks = ten();
        assert!(!marks.acknowledged(newly, said), "{why}");
        assert_eq!(marks.next(), Ecn::NotEct, "{why}");
        marks.other_path();
        assert_eq!(marks.next(), Ecn::Ect0);
    }
}

#[test]
fn an_end_that_counts_anew_is_believed() {
    let mut marks = ten();
    assert!(marks.acknowledged(8, counts(7, 0, 1)));
    assert!(!marks.acknowledged(1, counts(1, 0, 0)));
    assert!(marks.acknowledged(1, counts(1, 0, 1)));
    assert_eq!(marks.next(), Ecn::Ect0);
}

#[test]
fn silence_ends_the_marking_of_a_path_that_was_never_proved() {
    let mut marks = ten();
    marks.silence();
    assert_eq!(marks.next(), Ecn::NotEct);
}
