//! The append-only segmented log in which Tallylink keeps records on Linux.
//!
//! A gateway keeps here what its peers sent; a sender keeps here what is not yet stored at the other end. The format
//! on disk and the rules of recovery are `core/docs/storage.md`; section numbers in this crate are its own.
//!
//! # Writing
//!
//! One thread owns the [`Journal`] and calls, again and again:
//!
//! 1. [`append`](Journal::append) for every chunk that waits, exactly at its stream's position;
//! 2. [`commit`](Journal::commit): one write, one fdatasync, and back comes what is durable now;
//! 3. [`maintain`](Journal::maintain), after that was told: it writes a checkpoint and deletes old segments when due.
//!
//! After an error of `append`, `gap` or `commit` that came from the disk, nothing appended since the last commit is
//! confirmed, but what [`rewind`](Journal::rewind) returns. The caller ends its sessions, calls that and goes on whenever it
//! likes: the next append begins a new segment, and fails again if the disk still does.
//!
//! The journal has no thread, reads no clock and keeps a bounded amount in memory: one group buffer, one row per
//! stream.
//!
//! # Reading
//!
//! [`Reader`] walks the same directory, in the same process or another, while it is written; it sees what is synced.
//!
//! ```
//! use tallylink_journal::{Chunk, Dir, Item, Journal, Options, Position, Reader};
//!
//! # let temporary = tempfile::tempdir()?;
//! # let path = temporary.path().join("journal");
//! let dir = Dir::create(path)?;
//! let options = Options { salt: 0x5ee0_1dea_5a17_0001, ..Options::default() };
//! let (mut journal, _recovery) = Journal::open(dir.clone(), options)?;
//!
//! let stream = journal.stream([1; 8], b"temperature")?;
//! let epoch = [7; 8];
//! journal.begin_epoch(stream, epoch, 0, 0)?;
//! let bytes = b"\x0221\x0222";
//! let (from, to) = (Position::start_of(0), Position::start_of(2));
//! journal.append(Chunk { stream, epoch, from, to, first_record: 0, records: 2, bytes }, 1_700_000_000_000_000)?;
//! assert_eq!(journal.commit()?[0].below, 2);
//!
//! let mut reader = Reader::open(dir)?;
//! let Some(Item::Record(record)) = reader.next()? else { panic!("two records are stored") };
//! assert_eq!((record.index, record.bytes), (0, &b"21"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod aside;
mod chain;
mod check;
mod checkpoint;
mod chunk;
mod entry;
mod error;
mod halt;
mod inspect;
mod journal;
mod names;
mod options;
mod position;
mod reader;
mod recover;
mod scan;
mod seal;
mod segment;
mod store;
mod streams;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod varint;

pub use aside::{SET_ASIDE_FILE, SetAside};
pub use check::{Check, FileCheck, Lost, Progress, SegmentCheck, StreamCheck, check};
pub use chunk::{Chunk, EpochState, Position, Stored, StreamId};
pub use entry::{MAX_BODY, MAX_NAME};
pub use error::Error;
pub use inspect::{StreamNow, inspect};
pub use journal::{Journal, Maintained, Repair, Stats, repair};
pub use names::Names;
pub use options::{Options, Retention};
pub use position::POSITION_FILE;
pub use reader::{Batch, Gap, Item, Packed, Reader, Record};
pub use recover::{Damage, Recovery};
pub use store::{Dir, Store, StoreFile, SyncSite};
