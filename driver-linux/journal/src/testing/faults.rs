//! Failures to order.

use std::io;

use crate::store::SyncSite;

/// A file operation that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Listing the names.
    List,
    /// Making a file.
    Create,
    /// Opening a file.
    Open,
    /// Removing a file.
    Remove,
    /// Preallocating.
    Allocate,
    /// Cutting a file.
    Truncate,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Syncing there.
    Sync(SyncSite),
}

/// One kind of failure to come.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What fails.
    pub operation: Operation,
    /// After so many calls that still succeed.
    pub after: u32,
    /// For so many calls.
    pub times: u32,
    /// With this error.
    pub kind: io::ErrorKind,
}

/// Whether `operation` fails now.
pub(super) fn strike(faults: &mut [Fault], operation: Operation) -> io::Result<()> {
    for fault in faults.iter_mut().filter(|fault| fault.operation == operation) {
        if fault.after > 0 {
            fault.after -= 1;
        } else if fault.times > 0 {
            fault.times -= 1;
            return Err(fault.kind.into());
        }
    }
    Ok(())
}
