//! The one error a command returns: a sentence, and the exit code that goes with it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tallylink_linux::outbox::OutboxError;

use crate::config::ConfigError;
use crate::device::DeviceKeyError;
use crate::host_port::{HostPort, HostPortError};
use crate::keystore::StoreError;
use crate::private_file::PrivateFileError;
use crate::{Exit, PeerIdError, PeerNameError};

/// Why a command did not do what it was asked. Its text is one sentence that names what is wrong and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The key store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A device's key file.
    #[error(transparent)]
    DeviceKey(#[from] DeviceKeyError),
    /// A file meant for its owner only, outside the key store.
    #[error(transparent)]
    PrivateFile(#[from] PrivateFileError),
    /// A peer id.
    #[error(transparent)]
    PeerId(#[from] PeerIdError),
    /// A peer name.
    #[error(transparent)]
    PeerName(#[from] PeerNameError),
    /// An address.
    #[error(transparent)]
    Address(#[from] HostPortError),
    /// A line of a list of peers.
    #[error("{}, line {line}: {reason}", file.display())]
    PeerList {
        /// The list.
        file: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
    /// Options that do not go together.
    #[error("{0}")]
    Usage(&'static str),
    /// A file that is neither configuration nor keys.
    #[error("{} cannot be read: {error}; check its name and rights", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// There is no journal to read.
    #[error("there is no journal in {}: {error}; run `tallylink serve` once, or give its data directory with --data", dir.display())]
    NoJournal {
        /// Where it should be.
        dir: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The journal cannot be read or written.
    #[error("the journal: {0}")]
    Journal(#[from] tallylink_journal::Error),
    /// The journal's directory was taken away for good while the gateway ran.
    #[error("the journal in {} is not the one that this gateway opened: {why}; nothing more was confirmed, start it again to go on with what is there", dir.display())]
    JournalGone {
        /// Where it was.
        dir: PathBuf,
        /// What became of it.
        why: String,
    },
    /// Parts of the journal cannot be read.
    #[error("the journal in {} is damaged in {places} places; everything else was shown", dir.display())]
    JournalDamaged {
        /// Where it is.
        dir: PathBuf,
        /// How many.
        places: u64,
    },
    /// Something that was checked is not whole.
    #[error("{} is damaged in {places} places; {}", dir.display(), after_check(*repaired))]
    CheckFoundDamage {
        /// What was checked.
        dir: PathBuf,
        /// How many.
        places: u64,
        /// After a repair, too.
        repaired: bool,
    },
    /// The data directory is of no use.
    #[error("{} cannot be made or used: {error}; check its rights, or give another with --data", dir.display())]
    DataDir {
        /// Where it should be.
        dir: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The gateway or the sender cannot start.
    #[error("{why}; {}", hint(why))]
    Start {
        /// What does not work.
        #[from]
        why: tallylink_linux::StartError,
    },
    /// The system denies what every program needs.
    #[error("the system refused a thread, a signal or an event queue: {0}; check its limits")]
    Network(#[source] io::Error),
    /// No gateway to ask.
    #[error("no gateway runs with {}; run `tallylink serve`, or give its data directory with --data", socket.display())]
    NoGateway {
        /// Where it would answer.
        socket: PathBuf,
    },
    /// The gateway's status socket is of no use.
    #[error("the status socket {} does not work: {error}; check its rights, or set status_socket", socket.display())]
    Status {
        /// Where it is.
        socket: PathBuf,
        /// What is wrong.
        error: io::Error,
    },
    /// The address for HTTP is of no use.
    #[error(
        "cannot answer HTTP on {address}: {error}; stop the other program, choose another address with --http, or give --http off"
    )]
    Http {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// The address for plain datagrams is of no use.
    #[error(
        "cannot receive on {address}: {error}; stop the other program, or choose an address of this machine with --udp"
    )]
    Ingest {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// Plain datagrams that are gone.
    #[error(
        "{lost} of {arrived} datagrams are not stored: {kernel} found the kernel's buffer full (raise net.core.rmem_max and \
         --receive-buffer), {queue} the queue (raise --queue)"
    )]
    Dropped {
        /// How many.
        lost: u64,
        /// Of how many that reached the socket.
        arrived: u64,
        /// Those that the kernel dropped.
        kernel: u64,
        /// Those that the queue had no room for.
        queue: u64,
    },
    /// The gateway's name leads nowhere.
    #[error("{to} cannot be resolved: {error}; check the name and the network")]
    Resolve {
        /// The name.
        to: HostPort,
        /// What the system said.
        error: io::Error,
    },
    /// The stream's name is of no use.
    #[error("the stream {name:?} cannot be opened: {why}; choose another name")]
    Stream {
        /// The name.
        name: String,
        /// What is wrong.
        why: tallylink_linux::sender::OpenError,
    },
    /// A record was not sent, nor was anything behind it.
    #[error("{fault} ({stored} records before it are stored)")]
    Record {
        /// How many are stored.
        stored: u64,
        /// What is wrong.
        fault: String,
        /// It is too large.
        large: bool,
    },
    /// Not every record is stored.
    #[error("{why}: {stored} of {pushed} records are stored by {to}; send the others again when it can be reached")]
    NotStored {
        /// Why it ended.
        why: String,
        /// The gateway.
        to: HostPort,
        /// How many are stored.
        stored: u64,
        /// How many were taken from the input.
        pushed: u64,
    },
    /// Not every record is stored, and none is lost.
    #[error(
        "{why}: {waiting} records wait in {}; `tallylink send --outbox {} --key {}` delivers them",
        dir.display(), dir.display(), key.display()
    )]
    OutboxWaits {
        /// Why it ended.
        why: String,
        /// The outbox.
        dir: PathBuf,
        /// The key.
        key: PathBuf,
        /// How many records are there.
        waiting: u64,
        /// Somebody wanted it to end.
        interrupted: bool,
    },
    /// Somebody wanted it to end before the outbox was open.
    #[error(
        "interrupted before the outbox was open: what waits in {} is still there; `tallylink send --outbox {} --key {}` delivers it",
        dir.display(), dir.display(), key.display()
    )]
    OutboxNotOpened {
        /// The outbox.
        dir: PathBuf,
        /// The key.
        key: PathBuf,
    },
    /// The outbox is of no use now.
    #[error("{why}")]
    Outbox {
        /// What is wrong.
        why: Arc<OutboxError>,
    },
    /// There is no outbox to look at.
    #[error("there is no outbox in {}: {error}; give the directory that `tallylink send --outbox` was given", dir.display())]
    NoOutbox {
        /// Where it should be.
        dir: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// What waits for devices cannot be read or written.
    #[error("what waits for devices in {} cannot be read or written: {error}; check its rights and its disk", dir.display())]
    Downlink {
        /// Where it is.
        dir: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// As much waits for a device as may.
    #[error(
        "{waiting} bytes wait for {peer}, and downlink_limit is {limit}: the last {refused} records read were not taken, {handed} \
         before them were; push the rest when the device has been heard, raise downlink_limit, or remove the peer"
    )]
    DownlinkFull {
        /// The device.
        peer: String,
        /// Bytes that wait for it.
        waiting: u64,
        /// The most that may.
        limit: bytesize::ByteSize,
        /// Records that were taken.
        handed: u64,
        /// Records that were read and not taken.
        refused: u64,
    },
    /// A record was not handed over, nor was anything behind it.
    #[error("{fault} ({handed} records before it were handed over)")]
    NotHandedOver {
        /// How many were.
        handed: u64,
        /// What is wrong.
        fault: String,
        /// It is too large.
        large: bool,
    },
    /// The device has not stored everything in time.
    #[error(
        "{waiting} records of the stream {stream:?} still wait for {peer}: they are kept, and delivered when it is heard"
    )]
    NotDelivered {
        /// The device.
        peer: String,
        /// The stream.
        stream: String,
        /// How many of it wait.
        waiting: u64,
    },
    /// Another sender uses the key.
    #[error("another sender uses the key in {}: stop it, or add a peer with a key of its own", file.display())]
    KeyInUse {
        /// The key file.
        file: PathBuf,
    },
    /// Somebody pressed Ctrl-C.
    #[error("interrupted: {stored} records are stored; send the others again")]
    Interrupted {
        /// How many are stored.
        stored: u64,
    },
    /// The demo could not run to its end.
    #[error("the demo failed: {0}")]
    Demo(String),
    /// The demo found what must not be.
    #[error("NOT EXACT: keep {} and run the demo again with --seed {seed}; please report it", dir.display())]
    NotExact {
        /// Its data.
        dir: PathBuf,
        /// What it was drawn from.
        seed: u64,
    },
    /// Standard output, or the file that stands for it.
    #[error("the output could not be written: {0}; check where it goes and run the command again")]
    Output(#[source] io::Error),
    /// Keys that were made and stored, but did not reach the person who asked for them.
    #[error("{keys}, but could not be written out: {error}; run `tallylink peer rotate` to make and print a new key")]
    KeysNotShown {
        /// Whose keys were made.
        keys: String,
        /// What the system said.
        error: io::Error,
    },
}

impl Error {
    /// The exit code of the process.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Config(_) => Exit::Config,
            Self::Store(error) => error.exit(),
            Self::DeviceKey(error) => error.exit(),
            Self::PrivateFile(error) => error.exit(),
            Self::PeerId(_) | Self::PeerName(_) | Self::PeerList { .. } => Exit::PeerName,
            Self::Address(_) => Exit::Address,
            Self::Usage(_) => Exit::Usage,
            Self::Journal(tallylink_journal::Error::Locked { .. }) => Exit::JournalLocked,
            Self::Journal(tallylink_journal::Error::Version { .. } | tallylink_journal::Error::Foreign { .. })
            | Self::Journal(tallylink_journal::Error::Unidentified { .. })
            | Self::JournalDamaged { .. }
            | Self::CheckFoundDamage { .. } => Exit::JournalDamaged,
            Self::Journal(tallylink_journal::Error::Io { .. }) => Exit::Disk,
            Self::JournalGone { .. } => Exit::JournalGone,
            Self::Start { why: tallylink_linux::StartError::Bind { source, .. } }
                if source.kind() == io::ErrorKind::AddrNotAvailable =>
            {
                Exit::Address
            }
            Self::Ingest { error, .. } if error.kind() == io::ErrorKind::AddrNotAvailable => Exit::Address,
            Self::Resolve { .. } => Exit::Address,
            Self::Stream { .. } => Exit::Usage,
            Self::Record { large: true, .. } | Self::NotHandedOver { large: true, .. } => Exit::RecordTooLarge,
            Self::Record { .. } | Self::NotStored { .. } | Self::NotExact { .. } | Self::Dropped { .. } => {
                Exit::NotStored
            }
            Self::Interrupted { .. } | Self::OutboxNotOpened { .. } | Self::OutboxWaits { interrupted: true, .. } => {
                Exit::Interrupted
            }
            Self::OutboxWaits { .. } | Self::NotDelivered { .. } => Exit::NotStored,
            Self::NotHandedOver { .. } => Exit::NotStored,
            Self::DownlinkFull { .. } => Exit::DownlinkFull,
            Self::Downlink { error, .. } if error.kind() == io::ErrorKind::PermissionDenied => Exit::Permission,
            Self::Downlink { error, .. } if is_of_disk(error) => Exit::Disk,
            Self::KeyInUse { .. } => Exit::JournalLocked,
            Self::Outbox { why } if matches!(**why, OutboxError::Locked { .. }) => Exit::JournalLocked,
            Self::Start { .. } | Self::Network(_) | Self::Http { .. } | Self::Ingest { .. } => Exit::Network,
            Self::DataDir { error, .. } if error.kind() == io::ErrorKind::PermissionDenied => Exit::Permission,
            Self::DataDir { error, .. } if is_of_disk(error) => Exit::Disk,
            Self::NoJournal { .. }
            | Self::NoOutbox { .. }
            | Self::Downlink { .. }
            | Self::Outbox { .. }
            | Self::Journal(_)
            | Self::DataDir { .. }
            | Self::Demo(_)
            | Self::NoGateway { .. }
            | Self::Status { .. } => Exit::Failed,
            Self::Read { .. } | Self::Output(_) | Self::KeysNotShown { .. } => Exit::Failed,
        }
    }
}

fn after_check(repaired: bool) -> &'static str {
    if repaired {
        "a repair did not help: check the disk itself"
    } else {
        "everything else is whole; `tallylink check --repair` sets the damage aside, and keeps it"
    }
}

/// Whether it is the disk's fault, and not that of a name or of rights.
fn is_of_disk(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let is_io = error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error());
    is_io || matches!(error.kind(), QuotaExceeded | ReadOnlyFilesystem | StorageFull)
}

fn hint(error: &tallylink_linux::StartError) -> &'static str {
    match error {
        tallylink_linux::StartError::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
            "stop the other program, or choose another port with --listen"
        }
        tallylink_linux::StartError::Bind { .. } => "choose an address of this machine with --listen",
        _ => "check the limits of this system",
    }
}
