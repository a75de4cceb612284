//! What the disk takes when the same bytes are only written and synced.
use std::{
    fs::{self, File},
    os::unix::fs::FileExt as _,
    path::Path,
    time::Duration,
};

use anyhow::Result;
use rustix::fs::{FallocateFlags, fallocate};

use crate::{clock, transport::side::Job, workload::Packed};

/// Writes the records of `job`, sizes included, `group` bytes at a time, each group synced; how long that takes.
pub(super) fn write(dir: &Path, job: &Job, group: usize) -> Result<Duration> {
    let path = dir.join("plain");
    let file = File::create(&path)?;
    // A stand-in for the size varint.
    let mut packed = Packed::new(&job.workload, &[0; 2]);
    let (_, batch) = packed.batch(&job.workload, 0, job.workload.period());
    let bytes = job.records * (job.workload.size() as u64 + 2);
    let buffer: Vec<u8> = batch.iter().copied().cycle().take(group).collect();
    // As a journal's segments are.
    fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
    file.sync_all()?;

    let begun = clock::wall();
    let mut at = 0;
    while at < bytes {
        let len = (bytes - at).min(group as u64);
        file.write_all_at(&buffer[..len as usize], at)?;
        file.sync_data()?;
        at += len;
    }
    let elapsed = begun.elapsed();
    fs::remove_file(path)?;
    Ok(elapsed)
}
