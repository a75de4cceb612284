use super::{Claim, Claims, Epochs, Said};

#[test]
fn what_is_said_reads_back_and_what_was_cut_does_not() {
    for life in [None, Some(7)] {
        let claim = Claim { life, pushed: 9, durable: 8, stored: 4, shrunk_to: None };
        let said = Said { stream: 3, epoch: [0, 2, 3, 4, 5, 6, 7, 8], claim };
        let line = said.line();
        assert_eq!(Said::parse(&line), Some(said));
        for cut in 0..line.len() {
            assert_eq!(Said::parse(&line[..cut]), None, "{}", &line[..cut]);
        }
    }
}

#[test]
fn claims_only_grow() {
    let mut claims = Claims::new();
    let mut say = |durable, stored, life| {
        let claim = Claim { life, durable, stored, ..Claim::default() };
        Said { stream: 0, epoch: [1; 8], claim }.add_to(&mut claims);
    };
    say(5, 2, Some(3));
    say(5, 3, None);
    let claim = claims[&(0, [1; 8])];
    assert_eq!((claim.durable, claim.stored, claim.life, claim.shrunk_to), (5, 3, Some(3), None));
}

#[test]
fn an_outbox_that_lacks_what_was_durable_is_noted() {
    let mut claims = Claims::new();
    let mut say = |durable, life| {
        let claim = Claim { life, durable, ..Claim::default() };
        Said { stream: 0, epoch: [1; 8], claim }.add_to(&mut claims);
    };
    say(5, Some(3));
    say(4, None);
    assert_eq!(claims[&(0, [1; 8])].shrunk_to, Some(4));
}

#[test]
fn an_opening_has_one_epoch_and_an_epoch_one_opening() {
    let mut epochs = Epochs::default();
    assert!(epochs.note(0, 0, [1; 8], 4));
    assert!(epochs.note(0, 0, [1; 8], 4));
    assert!(!epochs.note(0, 0, [1; 8], 5), "one epoch, two openings");
    assert!(!epochs.note(0, 0, [2; 8], 4), "one opening, two epochs");
    assert!(epochs.note(0, 1, [2; 8], 4), "another stream");
    assert_eq!((epochs.life(0, 0, [1; 8]), epochs.life(0, 1, [2; 8])), (Some(4), Some(4)));
}
