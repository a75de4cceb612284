//! Records out of batches: most lie whole in one, a long one is spread over several.

use tallylink_core::Position;
use tallylink_core::wire::varint;

/// Bytes of a stream between two positions, in their stored form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) from: Position,
    pub(super) to: Position,
    /// How many bytes lie before the first record that starts in here.
    pub(super) first_start: usize,
    pub(super) bytes: &'a [u8],
}

/// Puts records together. It holds at most one unfinished record.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    unfinished: Vec<u8>,
}

impl Joiner {
    /// Hands on every record that ends in this piece, in order.
    #[inline]
    pub(super) fn records(&mut self, piece: &Piece<'_>, mut take: impl FnMut(u64, &[u8])) {
        let mut number = piece.from.number;
        let mut bytes = piece.bytes;
        if piece.from.offset > 0 {
            let (rest, after) = bytes.split_at_checked(piece.first_start).unwrap_or((bytes, &[]));
            self.unfinished.extend_from_slice(rest);
            bytes = after;
            if number == piece.to.number {
                return;
            }
            if let Some((record, _)) = first(&self.unfinished) {
                take(number, record);
            }
            number += 1;
        }
        self.unfinished.clear();
        while number < piece.to.number {
            let Some((record, after)) = first(bytes) else {
                debug_assert!(false, "core counts the records of a batch");
                return;
            };
            take(number, record);
            bytes = after;
            number += 1;
        }
        self.unfinished.extend_from_slice(bytes);
    }
}

/// The first record of a packed run, without its size.
#[inline]
fn first(packed: &[u8]) -> Option<(&[u8], &[u8])> {
    let (size, len) = varint::decode(packed).ok()?;
    packed.get(len..)?.split_at_checked(usize::try_from(size).ok()?)
}

#[cfg(test)]
mod tests {
    use super::{Joiner, Piece};
    use tallylink_core::Position;

    fn at(number: u64, offset: u32) -> Position {
        Position { number, offset }
    }

    fn joined(joiner: &mut Joiner, piece: &Piece<'_>) -> Vec<(u64, Vec<u8>)> {
        let mut all = Vec::new();
        joiner.records(piece, |n, r| all.push((n, r.to_vec())));
        all
    }

    #[test]
    fn whole_and_empty_records_come_out_as_they_are() {
        let piece = Piece { from: at(7, 0), to: at(10, 0), first_start: 0, bytes: &[1, b'a', 0, 2, b'b', b'c'] };
        let expected = vec![(7, b"a".to_vec()), (8, vec![]), (9, b"bc".to_vec())];
        assert_eq!(joined(&mut Joiner::default(), &piece), expected);
    }

    #[test]
    fn a_record_over_three_pieces_comes_out_once() {
        let mut joiner = Joiner::default();
        let piece = |from, to, first_start, bytes| Piece { from, to, first_start, bytes };
        let a = piece(at(0, 0), at(1, 3), 0, &[1, b'x', 5, b'a', b'b'][..]);
        let b = piece(at(1, 3), at(1, 5), 2, &b"cd"[..]);
        let c = piece(at(1, 5), at(3, 0), 1, &[b'e', 1, b'y'][..]);
        assert_eq!(joined(&mut joiner, &a), vec![(0, b"x".to_vec())]);
        assert_eq!(joined(&mut joiner, &b), vec![]);
        let expected = vec![(1, b"abcde".to_vec()), (2, b"y".to_vec())];
        assert_eq!(joined(&mut joiner, &c), expected);
    }

    #[test]
    fn what_a_session_left_unfinished_is_void() {
        let mut joiner = Joiner::default();
        let begun = Piece { from: at(0, 0), to: at(0, 3), first_start: 0, bytes: &[9, 1, 2] };
        assert_eq!(joined(&mut joiner, &begun), vec![]);
        let again = Piece { from: at(0, 0), to: at(1, 0), first_start: 0, bytes: &[1, b'z'] };
        assert_eq!(joined(&mut joiner, &again), vec![(0, b"z".to_vec())]);
    }
}
