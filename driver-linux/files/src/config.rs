//! The configuration: one TOML file of a few keys, all of them optional.
//!
//! [`Config::default`] works without a file. [`KEYS`] is the one home of the keys: name, meaning, default and bounds
//! stand there once, and reading, `tallylink config` and the help are driven by that table.

mod keys;
mod read;
mod units;

use std::env;
use std::path::{Path, PathBuf};

pub use keys::{Config, KEYS, Key};
pub use read::{ConfigError, Reason};
pub use units::{Bytes, Count, Door, Level, Limit, Place, Span, Suite, Suites};

impl Config {
    /// The data directory: as configured, else the one the system gives this user's programs.
    pub fn data_dir(&self) -> PathBuf {
        match &self.data {
            Place::Path(path) => path.clone(),
            Place::Auto => default_data_dir(|name| env::var_os(name).map(PathBuf::from)),
        }
    }

    /// Where the journal is.
    pub fn journal_dir(&self) -> PathBuf {
        self.data_dir().join("journal")
    }

    /// Where `status` reaches the running gateway: as configured, else in the data directory.
    pub fn status_socket_path(&self) -> PathBuf {
        match &self.status_socket {
            Place::Path(path) => path.clone(),
            Place::Auto => self.data_dir().join("status.sock"),
        }
    }

    /// The whole configuration as a file that reads back to the same values, every key explained.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for key in KEYS {
            for line in key.about {
                text.extend(["#", line, "\n"]);
            }
            text.extend(["# Default: ", key.default]);
            if let Some((least, most)) = key.range {
                text.extend([", from ", least, " to ", most]);
            }
            text.extend(["\n", key.name, " = ", &(key.show)(self), "\n\n"]);
        }
        text.pop();
        text
    }
}

/// systemd's state directory, then the XDG base directories, then the working directory.
fn default_data_dir(var: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
    // XDG base directories §"Environment variables": a path that is not absolute is to be ignored.
    let absolute = |name| var(name).filter(|path: &PathBuf| path.is_absolute());
    absolute("STATE_DIRECTORY")
        .or_else(|| Some(absolute("XDG_DATA_HOME")?.join("tallylink")))
        .or_else(|| Some(absolute("HOME")?.join(".local/share/tallylink")))
        .unwrap_or_else(|| Path::new("tallylink-data").to_owned())
}

#[cfg(test)]
mod tests;
