//! Every fault, and where it strikes.

/// One row of the table.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) what: What,
}

/// When it strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// From the first call of a gateway that starts on a journal with records.
    Start,
    /// Once records are stored, while others arrive.
    Running,
    /// The same, and it lasts.
    Lasting,
}

/// What happens.
#[derive(Debug)]
pub(super) enum What {
    /// strace injects this.
    Inject(Vec<String>),
    /// This path of the data directory is moved away, and back after a while.
    MovedAway(&'static str),
    /// The journal is removed: what was stored is gone, what was not is not.
    Removed,
    /// The file system has no byte left, and then has again.
    Full,
}

impl Place {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Start => "one call fails while the gateway starts",
            Self::Running => "one call fails while records arrive",
            Self::Lasting => "it lasts while records arrive, then it is over",
        }
    }
}

/// The calls by which the journal and the key store reach the disk.
const STARTING: [&str; 11] = [
    "openat",
    "flock",
    "getdents64",
    "pread64",
    "pwrite64",
    "fallocate",
    "ftruncate",
    "fdatasync",
    "fsync",
    "mkdir",
    "statx",
];
const RUNNING: [&str; 8] = ["openat", "pwrite64", "fallocate", "ftruncate", "fdatasync", "fsync", "unlink", "statx"];
const ERRORS: [&str; 2] = ["EIO", "ENOSPC"];
/// Counted in each thread.
const WHEN: [u32; 3] = [1, 2, 4];

/// All of them, in the order of the table.
pub(super) fn all() -> Vec<Fault> {
    let mut all = Vec::new();
    for (place, calls) in [(Place::Start, &STARTING[..]), (Place::Running, &RUNNING[..])] {
        for call in calls {
            for error in ERRORS {
                for when in WHEN {
                    let name = format!("{call} {error}, call {when}");
                    all.push(Fault { place, name, what: inject(&[&format!("{call}:error={error}:when={when}")]) });
                }
            }
        }
    }
    let lasting = |name: &str, what| Fault { place: Place::Lasting, name: name.to_owned(), what };
    for call in ["pwrite64", "fdatasync", "fsync", "openat"] {
        for error in ERRORS {
            all.push(lasting(&format!("{call} {error}"), inject(&[&format!("{call}:error={error}")])));
        }
    }
    let read_only = ["pwrite64", "fallocate", "ftruncate", "unlink"].map(|call| format!("{call}:error=EROFS"));
    all.push(lasting("read-only (EROFS from every call that writes)", What::Inject(read_only.into())));
    all.push(lasting("fdatasync takes 500 ms", inject(&["fdatasync:delay_enter=500000"])));
    all.push(lasting("one fdatasync takes 5 s", inject(&["fdatasync:delay_enter=5000000:when=1"])));
    all.push(lasting("every second fdatasync fails with EIO", inject(&["fdatasync:error=EIO:when=1+2"])));
    all.push(lasting("4 MB tmpfs filled, then freed", What::Full));
    all.push(lasting("data directory moved away and back", What::MovedAway("")));
    all.push(lasting("journal moved away and back", What::MovedAway("journal")));
    all.push(lasting("key store moved away and back", What::MovedAway("keys")));
    all.push(lasting("journal removed", What::Removed));
    all
}

fn inject(all: &[&str]) -> What {
    What::Inject(all.iter().map(|one| (*one).to_owned()).collect())
}
