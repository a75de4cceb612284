//! Where records come from, packed as streams take them: `[size varint][bytes]…`, many at a time.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::vec;

use tallylink_core::wire::varint;
use tallylink_files::records::{self, Cutter, Form};
use tallylink_linux::sender::{DurableError, PushError};

use crate::Error;

/// Why records end before their input does.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// A record is larger than what is taken.
    #[error("{record} has more than {limit}, or make it smaller")]
    Large {
        /// Which.
        record: String,
        /// What is taken.
        limit: Limit,
    },
    /// The input broke off.
    #[error("the input ends within {0}; send the rest again")]
    CutShort(String),
    /// The input cannot be read.
    #[error("{what} cannot be read: {error}; check it and send the rest again")]
    Read {
        /// What.
        what: String,
        /// What the system said.
        error: io::Error,
    },
    /// The sender takes no more.
    #[error("{0}")]
    Push(PushError),
    /// The outbox takes no more.
    #[error("{0}")]
    Outbox(DurableError),
}

/// The largest record that is taken, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// By the gateway.
    Gateway(u32),
    /// By an outbox: what the gateway takes is not known.
    Outbox(u32),
    /// For a device.
    Downlink(u32),
}

impl Limit {
    fn bytes(self) -> u32 {
        match self {
            Self::Gateway(bytes) | Self::Outbox(bytes) | Self::Downlink(bytes) => bytes,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway(bytes) => write!(f, "{bytes} bytes, the most that the gateway takes; raise max_record there"),
            Self::Outbox(bytes) => write!(f, "{bytes} bytes, the most that an outbox takes; send it as a file"),
            Self::Downlink(bytes) => {
                write!(f, "{bytes} bytes, the most for a device; raise downlink_record in the configuration")
            }
        }
    }
}

impl Fault {
    pub(crate) fn is_size(&self) -> bool {
        matches!(
            self,
            Self::Large { .. } | Self::Push(PushError::TooLarge { .. }) | Self::Outbox(DurableError::TooLarge { .. })
        )
    }
}

/// Records from an input.
pub(crate) struct Source {
    from: From,
    limit: Limit,
    packed: Vec<u8>,
    records: u64,
    largest: u32,
    /// Told when what was packed before it is taken.
    fault: Option<Fault>,
}

enum From {
    Stream { input: Box<dyn Read + Send>, cutter: Cutter },
    Files(vec::IntoIter<PathBuf>),
}

impl Source {
    /// The files, or standard input without any: lines, or frames.
    ///
    /// # Errors
    /// There is no standard input.
    pub(crate) fn of_arguments(files: Vec<PathBuf>, frames: bool, limit: Limit) -> Result<Self, Error> {
        if !files.is_empty() {
            return Ok(Self::files(files, limit));
        }
        let input = rustix::io::dup(io::stdin()).map_err(|error| Error::Network(error.into()))?;
        let input = Box::new(File::from(input));
        Ok(if frames { Self::frames(input, limit) } else { Self::lines(input, limit) })
    }

    /// Every line is a record, its newline included.
    pub(crate) fn lines(input: Box<dyn Read + Send>, limit: Limit) -> Self {
        Self::stream(input, Form::Lines, limit)
    }

    /// Every record follows its length.
    pub(crate) fn frames(input: Box<dyn Read + Send>, limit: Limit) -> Self {
        Self::stream(input, Form::Frames, limit)
    }

    /// Every file is a record.
    pub(crate) fn files(files: Vec<PathBuf>, limit: Limit) -> Self {
        Self::new(From::Files(files.into_iter()), limit)
    }

    fn stream(input: Box<dyn Read + Send>, form: Form, limit: Limit) -> Self {
        Self::new(From::Stream { input, cutter: Cutter::new(form, limit.bytes()) }, limit)
    }

    fn new(from: From, limit: Limit) -> Self {
        Self { from, limit, packed: Vec::new(), records: 0, largest: 0, fault: None }
    }

    /// The next records, packed; none at the end. What can be had without waiting for more input comes at once.
    ///
    /// # Errors
    /// [`Fault`]; everything before it was returned.
    pub(crate) fn next(&mut self) -> Result<&[u8], Fault> {
        self.packed.clear();
        while self.packed.is_empty() && self.fault.is_none() && self.read()? {}
        match self.fault.take_if(|_| self.packed.is_empty()) {
            Some(fault) => Err(fault),
            None => Ok(&self.packed),
        }
    }

    /// Bytes of the largest record so far.
    pub(crate) fn largest_record(&self) -> u32 {
        self.largest
    }

    /// Reads once and packs what is whole. False at the end.
    fn read(&mut self) -> Result<bool, Fault> {
        let Self { from, limit, packed, records, largest, fault } = self;
        let mut pack = Pack { packed, records, largest, limit: *limit };
        match from {
            From::Files(files) => {
                let Some(path) = files.next() else { return Ok(false) };
                *fault = pack.file(&path).err();
                Ok(true)
            }
            From::Stream { input, cutter } => {
                if cutter.is_over() {
                    return Ok(false);
                }
                let read = fill(cutter, input);
                read.map_err(|error| Fault::Read { what: "standard input".into(), error })?;
                *fault = pack.cut(cutter).err();
                Ok(true)
            }
        }
    }
}

/// Reads what there is.
fn fill(cutter: &mut Cutter, input: &mut dyn Read) -> io::Result<()> {
    loop {
        match input.read(cutter.room()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(read) => {
                cutter.filled(read);
                return Ok(());
            }
        }
    }
}

/// Where records are packed to.
struct Pack<'s> {
    packed: &'s mut Vec<u8>,
    records: &'s mut u64,
    largest: &'s mut u32,
    limit: Limit,
}

impl Pack<'_> {
    fn cut(&mut self, cutter: &mut Cutter) -> Result<(), Fault> {
        loop {
            match cutter.cut() {
                Ok(Some(record)) => self.record(record)?,
                Ok(None) => return Ok(()),
                Err(records::Fault::Large(_)) => return Err(self.large()),
                Err(records::Fault::CutShort(_)) => return Err(Fault::CutShort(self.next())),
            }
        }
    }

    fn file(&mut self, path: &PathBuf) -> Result<(), Fault> {
        let what = || path.display().to_string();
        let failed = |error| Fault::Read { what: what(), error };
        let file = File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        let mut record = Vec::with_capacity(usize::try_from(len).unwrap_or(0).min(self.limit.bytes() as usize) + 1);
        file.take(u64::from(self.limit.bytes()) + 1).read_to_end(&mut record).map_err(failed)?;
        self.record(&record).map_err(|_| Fault::Large { record: what(), limit: self.limit })
    }

    #[inline]
    fn record(&mut self, record: &[u8]) -> Result<(), Fault> {
        let len = match u32::try_from(record.len()) {
            Ok(len) if len <= self.limit.bytes() => len,
            _ => return Err(self.large()),
        };
        match varint::encode(u64::from(len)) {
            Ok(size) => self.packed.extend_from_slice(size.as_slice()),
            Err(_) => return Err(self.large()),
        }
        self.packed.extend_from_slice(record);
        *self.records += 1;
        *self.largest = len.max(*self.largest);
        Ok(())
    }

    fn large(&self) -> Fault {
        Fault::Large { record: self.next(), limit: self.limit }
    }

    fn next(&self) -> String {
        format!("record {} of the input", *self.records + 1)
    }
}

/// Packed records without the first `left_out`, which counts down to 0.
pub(crate) fn behind<'p>(packed: &'p [u8], left_out: &mut u64) -> &'p [u8] {
    let mut rest = packed;
    while *left_out > 0
        && let Ok((size, head)) = varint::decode(rest)
    {
        rest = rest.get(head + size as usize..).unwrap_or(&[]);
        *left_out -= 1;
    }
    rest
}

/// Bytes of the largest of some files: all of them are there, and none is a directory.
///
/// # Errors
/// The first that cannot be sent.
pub(crate) fn largest(files: &[PathBuf]) -> Result<u64, Error> {
    let mut largest = 0;
    for file in files {
        let failed = |error| Error::Read { file: file.clone(), error };
        let is = fs::metadata(file).map_err(failed)?;
        if is.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        largest = largest.max(is.len());
    }
    Ok(largest)
}

#[cfg(test)]
mod tests;
