//! Reading a device's key file.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use zeroize::Zeroizing;

use super::DeviceKey;
use crate::private_file::{self, PrivateFileError};
use crate::{Exit, Secret, hex};

/// Why a device's key file is not used. No text of the file is repeated: it may be the key.
#[derive(Debug, thiserror::Error)]
pub enum DeviceKeyError {
    /// It cannot be opened, or others may use it.
    #[error("the key file {0}")]
    File(#[from] PrivateFileError),
    /// It cannot be read.
    #[error("the key file {} cannot be read: {error}; check the disk", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// It is far too large to be a key file.
    #[error("the key file {} has more than {LONGEST_BYTES} bytes; give the file that `tallylink peer add` wrote for one device", .0.display())]
    Large(PathBuf),
    /// It is not TOML.
    #[error("the key file {}, line {line}: this is not TOML; give the file that `tallylink peer add` wrote for one device", file.display())]
    Syntax {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// A field that must be there is not.
    #[error("the key file {} has no {field}; add: {field} = {example}", file.display())]
    Missing {
        /// The file.
        file: PathBuf,
        /// Which.
        field: &'static str,
        /// What it looks like.
        example: &'static str,
    },
    /// A field that means nothing.
    #[error("the key file {} has an unknown field \"{field}\"; a key file holds {}", file.display(), names())]
    Unknown {
        /// The file.
        file: PathBuf,
        /// Which.
        field: String,
    },
    /// A field's value cannot be what it should.
    #[error("the key file {}: {field} is not well formed; write: {field} = {example}", file.display())]
    Value {
        /// The file.
        file: PathBuf,
        /// Which.
        field: &'static str,
        /// What it looks like.
        example: &'static str,
    },
}

impl DeviceKeyError {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::File(error) if error.exit() == Exit::Permission => Exit::Permission,
            _ => Exit::DeviceKey,
        }
    }
}

const LONGEST_BYTES: u64 = 4096;

/// The fields of a key file, each with what it looks like.
const FIELDS: [(&str, &str); 5] = [
    ("name", "\"roof\""),
    ("peer", "\"70b3d5fffe000001\""),
    ("key_id", "0"),
    ("key", "\"<32 hexadecimal digits>\""),
    ("gateway", "\"gateway.example:7433\""),
];

fn names() -> String {
    FIELDS.map(|(name, _)| name).join(", ")
}

pub(super) fn read(file: &Path) -> Result<DeviceKey, DeviceKeyError> {
    let opened = private_file::open(file)?;
    let mut text = Zeroizing::new(String::with_capacity(LONGEST_BYTES as usize + 1));
    match opened.take(LONGEST_BYTES + 1).read_to_string(&mut text) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Err(DeviceKeyError::Syntax { file: file.to_owned(), line: 1 });
        }
        Err(error) => {
            return Err(DeviceKeyError::Read { file: file.to_owned(), error });
        }
        Ok(read) if read as u64 > LONGEST_BYTES => {
            return Err(DeviceKeyError::Large(file.to_owned()));
        }
        Ok(_) => {}
    }
    let table = DeTable::parse(&text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        DeviceKeyError::Syntax { file: file.to_owned(), line }
    })?;
    Fields { file, table: table.get_ref() }.device_key()
}

struct Fields<'a> {
    file: &'a Path,
    table: &'a DeTable<'a>,
}

impl Fields<'_> {
    fn device_key(&self) -> Result<DeviceKey, DeviceKeyError> {
        let known = |name: &str| FIELDS.iter().any(|(field, _)| *field == name);
        if let Some(field) = self.table.keys().map(|key| key.get_ref()).find(|name| !known(name)) {
            return Err(DeviceKeyError::Unknown { file: self.file.to_owned(), field: field.to_string() });
        }
        Ok(DeviceKey {
            name: self.required(0, |value| value.as_str()?.parse().ok())?,
            peer: self.required(1, |value| value.as_str()?.parse().ok())?,
            key_id: self.required(2, |value| value.as_integer()?.as_str().parse().ok())?,
            secret: self.required(3, |value| hex::decode(value.as_str()?.as_bytes()).map(Secret::new))?,
            gateway: self.optional(4, |value| value.as_str()?.parse().ok())?,
        })
    }

    fn required<T>(&self, field: usize, parse: impl Fn(&DeValue<'_>) -> Option<T>) -> Result<T, DeviceKeyError> {
        let (name, example) = FIELDS[field];
        let missing = || DeviceKeyError::Missing { file: self.file.to_owned(), field: name, example };
        self.optional(field, parse)?.ok_or_else(missing)
    }

    fn optional<T>(
        &self,
        field: usize,
        parse: impl Fn(&DeValue<'_>) -> Option<T>,
    ) -> Result<Option<T>, DeviceKeyError> {
        let (name, example) = FIELDS[field];
        let wrong = || DeviceKeyError::Value { file: self.file.to_owned(), field: name, example };
        let Some(value) = self.table.get(name) else {
            return Ok(None);
        };
        parse(value.get_ref()).map(Some).ok_or_else(wrong)
    }
}
