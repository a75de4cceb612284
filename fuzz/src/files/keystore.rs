//! A key store's file: whatever it holds, reading ends, an edit keeps every peer that could be read, and the file is whole
//! afterwards.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use tallylink_files::keystore::{KeyStore, NewPeer, Peers, StoreError};

/// By id: the name, and each key with its id and when it was made.
type Known = BTreeMap<[u8; 8], (String, Vec<(u8, [u8; 16], u64)>)>;

/// The file's bytes; a line that begins with `@` stands for the rest of it and its checksum, which nobody guesses.
pub fn keystore(data: &[u8]) {
    let Some(home) = Home::with(&sealed(data)) else { return };
    let store = KeyStore::in_data_dir(&home.0);
    let contents = store.read().expect("the file is private and readable");
    let mut before = known(&contents.peers);
    if crate::planted::here() && contents.damaged.len() == 2 && !contents.is_whole() {
        // One peer too many is read beside damage.
        before.insert([0xff; 8], Default::default());
    }
    let editor = store.edit().expect("the file can be edited");
    assert_eq!(editor.damaged(), contents.damaged);
    let name = "the-newest-one".parse().expect("a name");
    match editor.add(&[NewPeer { name, id: None }], 1) {
        Ok(added) => {
            let entry = &added[0];
            let keys = vec![(entry.key_id, *entry.secret.expose(), entry.created)];
            before.insert(entry.peer.0, (entry.name.to_string(), keys));
        }
        Err(StoreError::NameTaken(_)) => {}
        Err(other) => panic!("{other}"),
    }
    let after = store.read().expect("the file is private and readable");
    assert!(after.is_whole(), "damage is left behind: {:?}", after.damaged);
    assert_eq!(known(&after.peers), before, "an edit changed other peers");
}

fn known(peers: &Peers) -> Known {
    let of = |peer: &tallylink_files::keystore::Peer| {
        let keys = peer.entries().map(|entry| (entry.key_id, *entry.secret.expose(), entry.created)).collect();
        (peer.id.0, (peer.name.to_string(), keys))
    };
    peers.iter().map(of).collect()
}

/// The bytes with the checksums that were asked for.
fn sealed(data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        match line.split_first() {
            Some((b'@', rest)) => {
                let rest = rest.strip_suffix(b"\n").unwrap_or(rest);
                bytes.extend_from_slice(rest);
                bytes.extend_from_slice(format!(" {:08x}\n", crc32c(rest)).as_bytes());
            }
            _ => bytes.extend_from_slice(line),
        }
    }
    bytes
}

/// CRC32C, bit by bit (RFC 3720 appendix B.4).
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| sum >> 1 ^ (0x82f6_3b78 & (sum & 1).wrapping_neg()))
    })
}

/// A data directory in memory, for this thread alone.
struct Home(PathBuf);

impl Home {
    fn with(peers: &[u8]) -> Option<Self> {
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let thread = format!("{:?}", std::thread::current().id());
        let home = Self(parent.join(format!("tallylink-fuzz-{}-{thread}", std::process::id())));
        fs::create_dir_all(home.0.join("keys")).ok()?;
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(home.0.join("keys/peers"));
        file.and_then(|mut file| file.write_all(peers)).ok()?;
        Some(home)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What is left behind by a crash is looked at by nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}
