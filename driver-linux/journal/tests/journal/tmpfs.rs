//! A real file system of 4 MiB that somebody else fills.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use tallylink_journal::{Dir, Journal, Options, Retention, check};

use crate::common::{EPOCH, PEER, append, read_all};

/// A mounted tmpfs, gone with it.
struct Small(tempfile::TempDir);

impl Small {
    /// `None`, said loudly, where only root may mount; a failure where the tests must all run.
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(dir.path()).output();
        let why = match mounted {
            Ok(output) if output.status.success() => return Some(Self(dir)),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(std::env::var_os("CI").is_none(), "the test of a full disk needs root to mount a tmpfs: {why}");
        eprintln!("NOT TESTED: pruning on a full disk needs root to mount a tmpfs: {why}");
        None
    }

    fn journal(&self) -> PathBuf {
        self.0.path().join("journal")
    }

    /// Takes every free byte.
    fn fill(&self) -> PathBuf {
        let path = self.0.path().join("somebody-elses");
        let mut file = File::create(&path).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        path
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // What is left mounted goes with the machine.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

fn open(dir: &Path, max_bytes: u64) -> Journal<Dir> {
    let retention = Retention { max_bytes: Some(max_bytes), ..Retention::default() };
    let options = Options { salt: 7, segment_bytes: 256 << 10, retention, ..Options::default() };
    Journal::open(Dir::create(dir).unwrap(), options).unwrap().0
}

/// Appends and commits records of 1,000 bytes until the disk is full or there are `most`; how many are stored.
fn fill(journal: &mut Journal<Dir>, most: u64) -> u64 {
    let stream = journal.stream(PEER, b"s").unwrap();
    loop {
        journal.begin_epoch(stream, EPOCH, 0, 0).unwrap();
        let next = journal.epoch_state(stream, EPOCH).map_or(0, |state| state.stored_below);
        if next == most {
            return next;
        }
        let appended = append(journal, stream, EPOCH, next, &[vec![next as u8; 1000]]);
        if let Err(error) = appended.and_then(|()| journal.commit().map(drop)) {
            assert!(error.is_disk_full(), "{error}");
            journal.rewind();
            return next;
        }
    }
}

#[test]
fn on_a_disk_that_somebody_else_filled_old_segments_go_and_appending_goes_on_when_space_returns() {
    let Some(small) = Small::mount() else { return };
    let mut journal = open(&small.journal(), 2 << 20);
    assert_eq!(fill(&mut journal, 1000), 1000);
    small.fill();
    // The segment that is being written was preallocated: it is filled, then nothing more is confirmed.
    let stored = fill(&mut journal, 10_000);
    assert!((1000..1500).contains(&stored), "{stored}");
    assert_eq!(fill(&mut journal, 10_000), stored, "still full");
    drop(journal);

    // Starting needs no space, and with less to keep, pruning does not either: what it frees is used.
    let mut journal = open(&small.journal(), 700 << 10);
    assert!(journal.maintain(0).unwrap().deleted > 0);
    assert!(journal.segment_bytes() <= 700 << 10);
    assert_eq!(fill(&mut journal, stored + 100), stored + 100);
    // Full again, until whoever filled it takes that away.
    let elses = small.fill();
    let last = fill(&mut journal, 10_000);
    fs::remove_file(elses).unwrap();
    assert_eq!(fill(&mut journal, last + 500), last + 500);
    journal.maintain(0).unwrap();
    drop(journal);

    let dir = Dir::open(small.journal()).unwrap();
    assert!(check(&dir, &mut |_| {}).unwrap().is_whole());
    let all = read_all(dir);
    let numbers: Vec<u64> = all.records.iter().map(|seen| seen.number).collect();
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "in order, none missing");
    assert_eq!(numbers.last(), Some(&(last + 499)));
    assert!(numbers[0] > 0 && all.gaps.is_empty());
    assert!(all.records.iter().all(|seen| seen.bytes == [seen.number as u8; 1000]));
    let journal = open(&small.journal(), 1 << 20);
    let stream = journal.find_stream(PEER, b"s").unwrap();
    assert_eq!(journal.epoch_state(stream, EPOCH).unwrap().stored_below, last + 500, "outlives what was deleted");
}
