//! The queue from the network thread to the program: what came, and its bytes, in two rings without a lock.

use rtrb::{Consumer, Producer, RingBuffer};
use tallylink_core::{Epoch, Full, InIx, Name, PeerIx, Position};

/// How many messages can wait. A message is what one packet brings of one stream.
pub(super) const MESSAGES: usize = 8192;

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A stream has this name.
    Opened { stream: InIx, peer: PeerIx, name: Name },
    /// The next bytes of a stream.
    Records { stream: InIx, epoch: Epoch, from: Position, to: Position, first_start: u32 },
    /// The records below will never come.
    Gap { stream: InIx, epoch: Epoch, below: u64 },
}

/// A queue for `bytes` bytes.
pub(super) fn inbox(bytes: usize) -> (Writer, Reader) {
    let (heads, heads_out) = RingBuffer::new(MESSAGES);
    let (bytes, bytes_out) = RingBuffer::new(bytes);
    (Writer { heads, bytes }, Reader { heads: heads_out, bytes: bytes_out, across: Vec::new() })
}

/// The network thread's end.
#[derive(Debug)]
pub(super) struct Writer {
    heads: Producer<(Head, u32)>,
    bytes: Producer<u8>,
}

impl Writer {
    /// Puts a message in, all of it or nothing.
    pub(super) fn put(&mut self, head: Head, bytes: &[u8]) -> Result<(), Full> {
        if self.heads.is_full() {
            return Err(Full);
        }
        self.bytes.push_entire_slice(bytes).map_err(|_| Full)?;
        self.heads.push((head, bytes.len() as u32)).map_err(|_| Full)
    }
}

/// The program's end.
#[derive(Debug)]
pub(super) struct Reader {
    heads: Consumer<(Head, u32)>,
    bytes: Consumer<u8>,
    /// Bytes of a message that lies across the end of the ring.
    across: Vec<u8>,
}

impl Reader {
    pub(super) fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// True when the other end is gone, and nothing more comes.
    pub(super) fn is_over(&self) -> bool {
        self.heads.is_abandoned() && self.heads.is_empty()
    }

    /// Takes the next message.
    pub(super) fn next(&mut self, take: impl FnOnce(Head, &[u8])) -> bool {
        let Ok((head, len)) = self.heads.pop() else {
            return false;
        };
        let Ok(chunk) = self.bytes.read_chunk(len as usize) else {
            debug_assert!(false, "bytes are put in before their head");
            return false;
        };
        match chunk.as_slices() {
            (bytes, []) => take(head, bytes),
            (front, back) => {
                self.across.clear();
                self.across.extend_from_slice(front);
                self.across.extend_from_slice(back);
                take(head, &self.across);
            }
        }
        chunk.commit_all();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, inbox};
    use tallylink_core::{Full, InIx};

    #[test]
    fn messages_come_out_as_they_went_in_also_across_the_end() {
        let (mut writer, mut reader) = inbox(10);
        let head = Head::Gap { stream: InIx(1), epoch: Default::default(), below: 7 };
        for round in 0..100u8 {
            let bytes = [round; 7];
            writer.put(head.clone(), &bytes).unwrap();
            assert_eq!(writer.put(head.clone(), &bytes), Err(Full), "seven more do not fit");
            writer.put(head.clone(), &[]).unwrap();
            assert!(reader.next(|h, b| assert_eq!((h, b), (head.clone(), &bytes[..]))));
            assert!(reader.next(|_, b| assert!(b.is_empty())));
            assert!(reader.is_empty());
        }
        drop(writer);
        assert!(reader.is_over());
    }
}
