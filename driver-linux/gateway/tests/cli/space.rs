//! A disk of 4 MB that fills.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::Home;
use crate::gateway::until;
use crate::strace::have;
use crate::torrent::Torrent;

/// A file system in memory, in a home's `data`. Gone when it goes out of scope.
struct Small(PathBuf);

impl Small {
    /// None where this machine does not let this user mount one.
    fn on(home: &Home) -> Option<Self> {
        let at = home.path("data");
        std::fs::create_dir(&at).expect("made");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=4m,mode=700", "tallylink-test"]).arg(&at).stderr(Stdio::null());
        let mounted = mount.status().is_ok_and(|ran| ran.success());
        have("the right to mount a file system", mounted).then_some(Self(at))
    }

    /// Takes all that is left of it.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut filler = File::create(&path).expect("a file");
        while let Ok(()) = filler.write_all(&[0; 4096]) {}
        path
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn f47_a_full_disk_stores_again_by_itself_once_there_is_room() {
    let home = Home::new();
    let Some(small) = Small::on(&home) else { return };
    let mut torrent = Torrent::on(home, "");
    torrent.give(100);
    torrent.all_stored();
    let filler = small.fill();
    // What was preallocated is still there to be used: a segment of 1 MiB fills first.
    torrent.give(2000);
    until("the disk is full", || !torrent.ready());
    let (_, said) = torrent.gateway().http("/readyz");
    assert!(said.contains("No space left") && said.contains("free space on that disk"), "{said}");
    std::fs::remove_file(filler).expect("removed");
    torrent.give(100);
    torrent.all_stored();
    torrent.expect_exact_end();
    drop(small);
}

#[test]
fn f47_old_segments_make_room_on_a_disk_that_is_full() -> io::Result<()> {
    let home = Home::new();
    let Some(small) = Small::on(&home) else { return Ok(()) };
    let mut torrent = Torrent::on(home, "retain_bytes = \"2 MiB\"\n");
    torrent.give(12_000);
    let journal = small.0.join("journal");
    until("it is given", || bytes(&journal) > 0);
    let (stored, given) = torrent.end();
    assert!(stored.len() > 1 << 20 && given.ends_with(&stored), "{} bytes stored", stored.len());
    drop(small);
    Ok(())
}

fn bytes(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|is| is.len()).sum()
}
