//! A mark is met, missed, or missed for want of a figure; the worst is named.
use super::{Bound, Mark, judge};
use crate::report::Figure;

fn figure(case: &str, value: f64, ratio: f64) -> Figure {
    Figure {
        bench: "b".into(),
        case: case.into(),
        side: "s".into(),
        metric: "m".into(),
        value,
        unit: "ns".into(),
        ratio: Some(ratio),
    }
}

fn mark(case: &str, bound: Bound) -> Mark {
    Mark { case: case.into(), side: "s".into(), metric: "m".into(), bound }
}

#[test]
fn all_met_passes_and_names_the_closest() {
    let figures = [figure("a", 0.0, 0.3), figure("b", 9.0, 1.2)];
    let marks = [
        mark("a", Bound::AtMost(0.0)),
        mark("b", Bound::AtLeast(5.0)),
        mark("a", Bound::RatioAtMost(0.5)),
        mark("b", Bound::RatioAtLeast(1.0)),
        mark("b", Bound::RatioAtMost(2.0)),
    ];
    let verdict = judge(&marks, &figures);
    assert!(verdict.passed());
    assert_eq!(verdict.worst.unwrap().mark, "≥ 1 × reference");
}

#[test]
fn one_missed_fails_and_is_named() {
    let figures = [figure("a", 1.0, 0.51), figure("b", 9.0, 1.2)];
    let marks = [mark("b", Bound::RatioAtLeast(1.19)), mark("a", Bound::RatioAtMost(0.5))];
    let verdict = judge(&marks, &figures);
    assert!(!verdict.passed());
    assert_eq!(verdict.missed, 1);
    assert_eq!(verdict.worst.unwrap().found, Some(0.51));
}

#[test]
fn an_error_where_none_is_allowed_is_worse_than_any_ratio() {
    let figures = [figure("a", 1.0, 50.0)];
    let marks = [mark("a", Bound::RatioAtMost(0.5)), mark("a", Bound::AtMost(0.0))];
    assert_eq!(judge(&marks, &figures).worst.unwrap().found, Some(1.0));
}

#[test]
fn what_was_not_measured_is_missed() {
    let verdict = judge(&[mark("a", Bound::AtMost(1.0))], &[figure("b", 0.5, 0.5)]);
    assert!(!verdict.passed());
    assert_eq!(verdict.worst.unwrap().found, None);
}

#[test]
fn nothing_to_judge_is_no_pass() {
    assert!(!judge(&[], &[]).passed());
}
