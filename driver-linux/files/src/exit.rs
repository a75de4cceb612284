//! The exit codes, their one home: the table in `tallylink --help` is printed from here.

use std::fmt::Write as _;
use std::process::ExitCode;

macro_rules! exits {
    ($( #[doc = $doc:literal] $name:ident = $code:literal, )*) => {
        /// How a command ended. A code never changes its meaning; new ones are added at the end.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Exit {
            $( #[doc = $doc] $name = $code, )*
        }

        impl Exit {
            /// Every exit code with what it means.
            pub const ALL: &[(Exit, &str)] = &[$( (Exit::$name, $doc), )*];
        }
    };
}

exits! {
    #[doc = "Done; from `send`: every record is stored."] Done = 0,
    #[doc = "Reading or writing failed in a way that no other code names."] Failed = 1,
    #[doc = "The command line is wrong."] Usage = 2,
    #[doc = "The configuration file is wrong."] Config = 3,
    #[doc = "The key store cannot be read or written."] KeyStore = 4,
    #[doc = "A file with keys is open to others than its owner, or closed to this user."] Permission = 5,
    #[doc = "An address is wrong or its name is not known."] Address = 6,
    #[doc = "No such peer or key."] PeerUnknown = 7,
    #[doc = "The peer's name or id is taken."] PeerExists = 8,
    #[doc = "A peer's name or id is not well formed."] PeerName = 9,
    #[doc = "A device's key file is wrong."] DeviceKey = 10,
    #[doc = "A record is larger than the gateway takes."] RecordTooLarge = 11,
    #[doc = "Not every record is stored."] NotStored = 12,
    #[doc = "The journal is damaged."] JournalDamaged = 13,
    #[doc = "Another process holds the journal, the outbox or the key."] JournalLocked = 14,
    #[doc = "The network cannot be used."] Network = 15,
    #[doc = "The disk of the journal fails, or is full."] Disk = 16,
    #[doc = "The journal was removed or replaced while the gateway ran; start it again."] JournalGone = 17,
    #[doc = "As much waits for the device as may."] DownlinkFull = 18,
    #[doc = "Interrupted."] Interrupted = 130,
}

impl Exit {
    /// The table of exit codes as `--help` shows it.
    pub fn table() -> String {
        let mut text = String::from("Exit codes:\n");
        for (exit, meaning) in Self::ALL {
            let _ = writeln!(text, "  {:>3}  {meaning}", *exit as u8);
        }
        text
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
