//! The configuration keys, their one home.

use std::net::SocketAddr;

use super::units::{Bytes, Count, Door, Level, Limit, Place, Setting, Span, Suites};

/// A key as the table has it.
pub struct Key {
    /// As written in the file.
    pub name: &'static str,
    /// What it does, line by line, each beginning with a space.
    pub about: &'static [&'static str],
    /// The value it has when the file does not name it.
    pub default: &'static str,
    /// The least and the greatest value, both allowed.
    pub range: Option<(&'static str, &'static str)>,
    /// Reads a value into its field, or says what is wrong with it.
    pub set: fn(&mut Config, &str) -> Result<(), String>,
    /// Its value as TOML.
    pub show: fn(&Config) -> String,
}

macro_rules! keys {
    ($( $( #[doc = $about:literal] )+ $name:ident: $type:ty = $default:literal $(, $least:literal ..= $most:literal)?; )*) => {
        /// Every setting, one field a key.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Config {
            $( $( #[doc = $about] )+ pub $name: $type, )*
        }

        impl Default for Config {
            fn default() -> Self {
                Self { $( $name: Setting::parse($default).expect(concat!("default of ", stringify!($name))), )* }
            }
        }

        /// The keys in the order in which they are shown.
        pub const KEYS: &[Key] = &[$(
            Key {
                name: stringify!($name),
                about: &[$( $about ),+],
                default: $default,
                range: keys!(@range $( $least, $most )?),
                set: |config, text| {
                    config.$name = within(text, keys!(@range $( $least, $most )?))?;
                    Ok(())
                },
                show: |config| config.$name.toml(),
            },
        )*];
    };
    (@range) => { None };
    (@range $least:literal, $most:literal) => { Some(($least, $most)) };
}

keys! {
    /// The UDP address and port to listen on. `[::]` takes IPv6 and IPv4.
    listen: SocketAddr = "[::]:7433";
    /// The directory of the journal and the key store. "auto" is systemd's STATE_DIRECTORY,
    /// else tallylink in XDG_DATA_HOME, else ~/.local/share/tallylink.
    data: Place = "auto";
    /// The largest record taken from a peer. A larger one is refused, and its sender is told.
    max_record: Bytes = "1 MiB", "64 B" ..= "64 MiB";
    /// The most bytes that one peer may have sent without their being stored yet.
    credit_max: Bytes = "8 MiB", "16 KiB" ..= "1 GiB";
    /// The most bytes that may wait in memory for the journal, of all peers together.
    queue: Bytes = "32 MiB", "1 MiB" ..= "64 GiB";
    /// How many peers can have packets under way at a time, each in about 28 KiB of memory. Any number of others may be idle,
    /// or wait for the disk; who finds no room is told so, and tries again by itself.
    active_peers: Count = "512", "16" ..= "65536";
    /// How many streams one peer can have, those of earlier years included; one more is refused, and its sender is told. All peers
    /// together can have 4194304.
    peer_streams: Count = "1024", "1" ..= "65535";
    /// How long a group of records may wait for more before it is written and synced; one of 8 KiB and more waits no longer than an
    /// eighth of that after the last of them. "0" syncs whatever is there as soon as the disk is free.
    commit_interval: Span = "2ms", "0" ..= "10s";
    /// The size of a journal segment, the unit in which old records are deleted.
    segment: Bytes = "64 MiB", "1 MiB" ..= "4 GiB";
    /// The most bytes of journal kept; the oldest segments go first.
    retain_bytes: Limit<Bytes> = "unlimited", "2 MiB" ..= "unlimited";
    /// How long stored records are kept.
    retain_age: Limit<Span> = "unlimited", "1m" ..= "unlimited";
    /// The most bytes of records that may wait for one device. `tallylink push` refuses more, and says so.
    downlink_limit: Bytes = "16 MiB", "64 KiB" ..= "64 GiB";
    /// The largest record that `tallylink push` takes. Each stream under way to a device has so much memory, at least 64 KiB.
    downlink_record: Bytes = "64 KiB", "64 B" ..= "64 MiB";
    /// The encryption suites to accept, in any order. Of those that a peer offers too, the fastest on both processors is used:
    /// AES-128-GCM where both have AES instructions, else ChaCha20-Poly1305. Every peer has AES-128-GCM-SIV; one without a
    /// source of entropy has no other.
    suites: Suites = "AES-128-GCM-SIV, AES-128-GCM, ChaCha20-Poly1305";
    /// The least urgent messages to log: "error", "warn", "info", "debug" or "trace".
    log: Level = "info";
    /// The socket on which `tallylink status` asks the gateway. "auto" is status.sock in the data directory.
    status_socket: Place = "auto";
    /// The TCP address that answers /readyz, /livez and /metrics. "auto" is the port number of `listen` on
    /// 127.0.0.1; where that is taken the gateway says so and goes on without. "off" is none.
    http: Door = "auto";
}

/// Reads a value and holds it against its key's bounds.
fn within<T: Setting>(text: &str, range: Option<(&str, &str)>) -> Result<T, String> {
    let value = T::parse(text).map_err(|_| format!("is not {}", T::EXPECTED))?;
    if let Some((least, most)) = range {
        let bound = |text| T::parse(text).expect("a bound in the table of keys");
        if value < bound(least) || bound(most) < value {
            return Err(format!("is not between {least} and {most}"));
        }
    }
    Ok(value)
}
