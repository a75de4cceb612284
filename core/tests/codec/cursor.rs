//! The cursor: what is written is read back, and neither end of a buffer is passed.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tallylink_core::wire::varint::MAX;
use tallylink_core::wire::{Malformed, NoRoom, Reader, Writer};

/// One thing to write.
#[derive(Clone, Debug)]
enum Item {
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    Varint(u64),
    Bytes(Vec<u8>),
}

impl Item {
    fn write(&self, w: &mut Writer<'_>) -> Result<(), NoRoom> {
        match self {
            Self::U8(v) => w.u8(*v),
            Self::U16(v) => w.u16(*v),
            Self::U32(v) => w.u32(*v),
            Self::U64(v) => w.u64(*v),
            Self::Varint(v) => w.varint(*v),
            Self::Bytes(v) => w.bytes(v),
        }
    }

    fn is_next(&self, r: &mut Reader<'_>) -> Result<bool, Malformed> {
        Ok(match self {
            Self::U8(v) => r.u8()? == *v,
            Self::U16(v) => r.u16()? == *v,
            Self::U32(v) => r.u32()? == *v,
            Self::U64(v) => r.u64()? == *v,
            Self::Varint(v) => r.varint()? == *v,
            Self::Bytes(v) => r.bytes(v.len())? == &v[..],
        })
    }
}

fn item() -> impl Strategy<Value = Item> {
    prop_oneof![
        any::<u8>().prop_map(Item::U8),
        any::<u16>().prop_map(Item::U16),
        any::<u32>().prop_map(Item::U32),
        any::<u64>().prop_map(Item::U64),
        (any::<u64>(), 2u32..64).prop_map(|(v, shift)| Item::Varint(v >> shift)),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Item::Bytes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read_back(items in prop::collection::vec(item(), 0..20)) {
        let mut buffer = [0; 1024];
        let mut w = Writer::new(&mut buffer);
        for item in &items {
            item.write(&mut w).unwrap();
        }
        let written = w.into_written();
        let mut r = Reader::new(written);
        for item in &items {
            prop_assert_eq!(item.is_next(&mut r), Ok(true));
        }
        prop_assert!(r.is_empty());
        prop_assert_eq!(r.u8(), Err(Malformed));
    }

    /// A buffer of every smaller size takes what fits and refuses the rest; what did not fit leaves it as it was.
    #[test]
    fn a_full_buffer_refuses_whole_items(items in prop::collection::vec(item(), 1..8), size in 0usize..64) {
        let mut buffer = vec![0; size];
        let mut w = Writer::new(&mut buffer);
        for item in &items {
            let before = w.written();
            if item.write(&mut w).is_err() {
                prop_assert_eq!(w.written(), before);
            }
            prop_assert_eq!(w.written() + w.room(), size);
        }
    }
}

#[test]
fn lengths_near_the_largest_are_refused_without_overflow() {
    let mut r = Reader::new(&[1, 2, 3]);
    assert_eq!(r.bytes(usize::MAX), Err(Malformed));
    assert_eq!(r.rest(), &[1, 2, 3], "what was refused took nothing");
    let mut buffer = [0; 3];
    let mut w = Writer::new(&mut buffer);
    w.u8(1).unwrap();
    assert_eq!(w.space(usize::MAX), Err(NoRoom));
    assert_eq!(w.varint(MAX + 1), Err(NoRoom));
    assert_eq!(w.written(), 1);
}

#[test]
fn a_bound_on_a_varint_includes_the_bound() {
    assert_eq!(Reader::new(&[5]).varint_to(5), Ok(5));
    assert_eq!(Reader::new(&[5]).varint_to(4), Err(Malformed));
}
