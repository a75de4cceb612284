//! The published position: how far the journal is durable, for readers in other processes and for recovery
//! (`core/docs/storage.md` §6).

use std::io;

use crate::seal::crc32c;
use crate::segment::Before;
use crate::store::{Store, read_full};

/// The file's name; a follower may watch it for modification.
pub const POSITION_FILE: &str = "position";

const MAGIC: [u8; 8] = *b"tallypos";
const LEN: usize = 48;
const CHECKED: usize = 40;

/// What is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) journal: u64,
    /// Of this segment all below `counted` is durable, and all that counts of those before it.
    pub(crate) synced: Before,
    /// Segments below this are given up, even if their files are still there.
    pub(crate) oldest: u64,
}

impl Published {
    pub(crate) fn to_bytes(self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        let Before { segment, counted } = self.synced;
        let numbers = [self.journal, segment, counted, self.oldest];
        for (field, number) in bytes[8..CHECKED].chunks_exact_mut(8).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        let crc = crc32c(&bytes[..CHECKED]);
        bytes[CHECKED..CHECKED + 4].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8; LEN]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        let [magic, numbers @ .., check] = words else {
            return None;
        };
        if *magic != MAGIC || check[..4] != crc32c(&bytes[..CHECKED]).to_le_bytes() {
            return None;
        }
        let [journal, segment, counted, oldest] = numbers else {
            return None;
        };
        let number = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        let synced = Before { segment: number(segment), counted: number(counted) };
        Some(Self { journal: number(journal), synced, oldest: number(oldest) })
    }
}

/// Reads what was published. `None` if nothing, or nothing whole.
pub(crate) fn read<S: Store>(store: &S) -> io::Result<Option<Published>> {
    /// A reader may meet a write half done; that is over by the next look.
    const LOOKS: u32 = 3;
    let file = match store.open(POSITION_FILE, false) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    for _ in 0..LOOKS {
        let mut bytes = [0; LEN];
        if read_full(&file, &mut bytes, 0)? == LEN
            && let Some(found) = Published::parse(&bytes)
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
