//! What is wrong is told as long as it is, and said once.

use std::io::ErrorKind;

use super::*;

#[test]
fn what_is_wrong_is_told_until_it_is_right_and_keeps_its_beginning() {
    let health = Health::default();
    assert!(health.troubles().is_empty());
    health.wrong(Subject::Keys, "gone".to_owned(), "restore it");
    health.wrong(Subject::Journal, "full".to_owned(), remedy(ErrorKind::StorageFull));
    let told = health.troubles();
    assert_eq!(told.iter().map(|t| (&*t.subject, t.stops)).collect::<Vec<_>>(), [("journal", true), ("keys", false)]);
    health.wrong(Subject::Journal, "broken".to_owned(), remedy(ErrorKind::Other));
    let later = health.troubles();
    assert_eq!((&*later[0].what, &later[0].since), ("broken", &told[0].since));
    health.right(Subject::Journal);
    health.right(Subject::Journal);
    assert_eq!(health.troubles().len(), 1);
}

#[test]
fn a_disk_that_comes_and_goes_is_said_once_a_minute() {
    let health = Health::default();
    for _ in 0..1000 {
        health.wrong(Subject::Journal, "full".to_owned(), "");
        health.right(Subject::Journal);
    }
    let rows = health.rows.lock().unwrap();
    assert_eq!(rows[Subject::Journal as usize].unsaid, 999);
}

#[test]
fn every_subject_has_its_own_row_and_name() {
    for (at, subject) in Subject::ALL.iter().enumerate() {
        assert_eq!(*subject as usize, at);
    }
    let mut names: Vec<_> = Subject::ALL.iter().map(|subject| subject.name()).collect();
    names.dedup();
    assert_eq!(names.len(), Subject::ALL.len());
}
