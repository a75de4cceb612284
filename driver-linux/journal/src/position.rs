//! The published position: how far the journal is durable, for readers in other processes and for recovery
//! (`core/docs/storage.md` §6).

use std::io;

use crate::seal::crc32c;
use crate::segment::Before;
use crate::store::{Store, read_full};

/// The file's name; a follower may watch it for modification.
pub const POSITION_FILE: &str = "position";

const MAGIC: [u8; 8] = *b"tallypos";
const LEN: usize = 40;

/// The bytes that say: of `synced.segment`, all below `synced.counted` is durable.
pub(crate) fn to_bytes(journal: u64, synced: Before) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..16].copy_from_slice(&journal.to_le_bytes());
    bytes[16..24].copy_from_slice(&synced.segment.to_le_bytes());
    bytes[24..32].copy_from_slice(&synced.counted.to_le_bytes());
    let crc = crc32c(&bytes[..32]);
    bytes[32..36].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Reads what was published: the journal's id and the position. `None` if nothing, or nothing whole.
pub(crate) fn read<S: Store>(store: &S) -> io::Result<Option<(u64, Before)>> {
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
            && let Some(found) = parse(&bytes)
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn parse(bytes: &[u8; LEN]) -> Option<(u64, Before)> {
    let (words, _) = bytes.as_chunks::<8>();
    let [magic, journal, segment, counted, check] = words else {
        return None;
    };
    let whole = *magic == MAGIC && check[..4] == crc32c(&bytes[..32]).to_le_bytes();
    whole.then(|| {
        let counted = u64::from_le_bytes(*counted);
        (u64::from_le_bytes(*journal), Before { segment: u64::from_le_bytes(*segment), counted })
    })
}
