//! Frames: each value comes back, and whatever is read has exactly one spelling.

use crate::samples::{draw, frame, lent};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tallylink_core::wire::{Frame, Reader, Writer};

fn written(frame: &Frame<'_>) -> Vec<u8> {
    let mut buffer = vec![0xaa; 66_000];
    let mut w = Writer::new(&mut buffer);
    frame.write(&mut w).expect("there is room");
    w.into_written().to_vec()
}

/// Reads all frames of `bytes`; each that is read must be spelled as it stands there.
fn each_has_one_spelling(bytes: &[u8]) {
    let mut r = Reader::new(bytes);
    while !r.is_empty() {
        let before = r.rest();
        let Ok(frame) = Frame::parse(&mut r) else { return };
        let spelled = written(&frame);
        assert_eq!(spelled, &before[..before.len() - r.rest().len()], "{frame:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn every_frame_comes_back(draw in draw(), lent in lent()) {
        let frame = frame(draw, &lent);
        let bytes = written(&frame);
        let mut r = Reader::new(&bytes);
        prop_assert_eq!(Frame::parse(&mut r), Ok(frame));
        prop_assert!(r.is_empty());
    }

    /// F17: no truncation is taken for a whole frame.
    #[test]
    fn f17_every_beginning_of_a_frame_is_refused(draw in draw(), lent in lent()) {
        let frame = frame(draw, &lent);
        prop_assume!(!matches!(frame, Frame::Padding(_)));
        let bytes = written(&frame);
        for cut in 0..bytes.len() {
            prop_assert!(Frame::parse(&mut Reader::new(&bytes[..cut])).is_err(), "cut to {} of {:?}", cut, bytes);
        }
    }

    #[test]
    fn no_change_of_one_byte_makes_a_second_spelling(draw in draw(), lent in lent(), to: u8) {
        let bytes = written(&frame(draw, &lent));
        for at in 0..bytes.len().min(40) {
            for value in [to, bytes[at] ^ 1, bytes[at] ^ 0x40, bytes[at] ^ 0x80, 0, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                each_has_one_spelling(&changed);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_are_refused_or_have_one_spelling(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        each_has_one_spelling(&bytes);
    }

    #[test]
    fn arbitrary_bytes_behind_each_type_are_refused_or_have_one_spelling(
        kind in 0u8..16, bytes in prop::collection::vec(0u8..70, 0..60),
    ) {
        each_has_one_spelling(&[&[kind], &bytes[..]].concat());
    }

    /// A frame that does not fit is not written by half and taken for whole: the writer says so.
    #[test]
    fn a_frame_without_room_is_refused(draw in draw(), lent in lent()) {
        let frame = frame(draw, &lent);
        let whole = written(&frame).len();
        for size in [0, whole / 2, whole - 1] {
            let mut buffer = vec![0; size];
            prop_assert!(frame.write(&mut Writer::new(&mut buffer)).is_err());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn ping_open_chunk_skip_and_query_ask_for_an_ack(draw in draw(), lent in lent()) {
        let frame = frame(draw, &lent);
        let asks = matches!(written(&frame)[0], 0x01 | 0x03 | 0x05 | 0x06 | 0x0a);
        prop_assert_eq!(frame.elicits_ack(), asks);
    }
}
