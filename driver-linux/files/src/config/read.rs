//! Reading the file: every mistake is named with its file, line and key.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Config, KEYS};

/// Why a configuration file is not used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{}: the configuration cannot be read: {error}; check its name and rights", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// What it says is wrong.
    #[error("{}, line {line}: {reason}", file.display())]
    Wrong {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong there.
        reason: Reason,
    },
}

/// What is wrong with a line of the configuration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Not TOML.
    #[error("this is not TOML ({0}); write lines of the form: key = \"value\"")]
    Syntax(String),
    /// No such key.
    #[error("unknown key \"{key}\"; did you mean \"{nearest}\"? `tallylink config` lists every key")]
    UnknownKey {
        /// As written.
        key: String,
        /// The key that is spelled most like it.
        nearest: &'static str,
    },
    /// The value does not suit the key.
    #[error("{key} = {value} {fault}")]
    Value {
        /// The key.
        key: &'static str,
        /// As written.
        value: String,
        /// "is not …".
        fault: String,
    },
    /// Two values that cannot both hold.
    #[error("max_record does not fit into credit_max, so the largest record could never be sent; raise credit_max")]
    RecordAboveCredit,
}

/// What a record's size varint takes at most.
const SIZE_VARINT_BYTES: u64 = 8;

impl Config {
    /// Reads a file; keys that it does not name keep their defaults.
    ///
    /// # Errors
    /// The file cannot be read, or the first mistake in it.
    pub fn read(file: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(file).map_err(|error| ConfigError::Open { file: file.to_owned(), error })?;
        Self::parse(&text).map_err(|(at, reason)| {
            let line = 1 + text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
            ConfigError::Wrong { file: file.to_owned(), line, reason }
        })
    }

    /// Reads a file's text; a mistake comes with its offset in bytes.
    ///
    /// # Errors
    /// The first mistake.
    pub fn parse(text: &str) -> Result<Self, (usize, Reason)> {
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            (at, Reason::Syntax(error.message().replace('\n', ", ")))
        })?;
        let mut entries: Vec<_> = table.get_ref().iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let mut config = Self::default();
        let mut record_at = 0;
        for (key, value) in entries {
            let at = key.span().start;
            config.set(text, key.get_ref(), value).map_err(|reason| (at, reason))?;
            if matches!(key.get_ref().as_ref(), "max_record" | "credit_max") {
                record_at = at;
            }
        }
        // A record is begun only under credit for all of it, size varint included (F30).
        if config.max_record.0 + SIZE_VARINT_BYTES > config.credit_max.0 {
            return Err((record_at, Reason::RecordAboveCredit));
        }
        Ok(config)
    }

    fn set(&mut self, text: &str, name: &str, value: &Spanned<DeValue<'_>>) -> Result<(), Reason> {
        let key = KEYS.iter().find(|key| key.name == name).ok_or_else(|| unknown(name))?;
        let written = || excerpt(text, value.span());
        let plain = plain(value.get_ref()).ok_or_else(|| Reason::Value {
            key: key.name,
            value: written(),
            fault: format!("is not of its kind; the default is \"{}\"", key.default),
        })?;
        (key.set)(self, &plain).map_err(|fault| Reason::Value { key: key.name, value: written(), fault })
    }
}

/// A value's text form: strings and whole numbers as they are, lists joined with commas.
fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().replace('_', "")),
        DeValue::Array(list) => {
            let items: Option<Vec<_>> = list.iter().map(|item| item.get_ref().as_str()).collect();
            Some(items?.join(","))
        }
        _ => None,
    }
}

fn unknown(name: &str) -> Reason {
    let likeness = |key: &str| strsim::jaro_winkler(key, &name.to_lowercase().replace('-', "_"));
    let nearest = KEYS.iter().map(|key| key.name).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    Reason::UnknownKey { key: name.escape_debug().to_string(), nearest: nearest.unwrap_or_default() }
}

/// The beginning of what was written there, on one line.
fn excerpt(text: &str, span: Range<usize>) -> String {
    const LONGEST: usize = 60;
    let written = text.get(span).unwrap_or_default();
    let mut short: String = written.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if short.len() < written.len() {
        short.push('…');
    }
    short
}
