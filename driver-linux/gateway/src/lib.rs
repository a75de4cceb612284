//! The Tallylink gateway and its command line.
//!
//! [`main`] reads the arguments ([`cli`]), settles the configuration ([`config`]) and runs one command. A command
//! returns an [`Error`], which is one sentence for a person and one [`Exit`] code for a script.
//!
//! | module | subject |
//! |---|---|
//! | [`check`] | whether what is on disk is whole, and setting aside what is not |
//! | [`cli`] | commands, options and their help |
//! | [`config`] | the configuration file and its keys |
//! | [`ingest`] | plain datagrams of other devices, into a journal or to standard output |
//! | [`keystore`] | peers and their keys on disk, and following them while they change |
//! | [`demo`] | all of it once, over a bad network |
//! | [`device`] | what a device needs of its key, in every form `peer add` prints |
//! | [`host_port`] | where a gateway can be reached |
//! | [`outbox`] | what waits to be sent |
//! | [`peer`] | the `peer` commands |
//! | [`private_file`] | files that only their owner may read |
//! | [`push`] | handing records to a gateway for a device |
//! | [`query`] | printing what the journal holds |
//! | [`receive`] | taking what a gateway has for this device |
//! | [`send`] | sending records to a gateway |
//! | [`serve`] | the gateway |
//! | [`status`] | asking the gateway how it is |

#![deny(clippy::print_stderr, clippy::print_stdout)] // Both panic where the other end takes nothing.

pub mod check;
pub mod cli;
mod clock;
pub mod demo;
pub mod device;
mod downlink;
mod error;
pub mod ingest;
mod log;
pub mod outbox;
mod output;
pub mod peer;
pub mod push;
pub mod query;
pub mod receive;
pub mod send;
pub mod serve;
pub mod status;
mod sync;

use std::process::ExitCode;

use clap::Parser;
use tallylink_files::hex;

pub use crate::error::Error;
pub use tallylink_files::{
    Exit, PeerId, PeerIdError, PeerName, PeerNameError, Secret, config, host_port, keystore, private_file,
};

/// Runs the command that the process's arguments name; an error is printed as one sentence on standard error.
pub fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => {
            let exit = if usage.use_stderr() { Exit::Usage } else { Exit::Done };
            // Nothing is left to tell if even the help cannot be printed.
            let _ = usage.print();
            return exit.into();
        }
    };
    match cli.run() {
        Ok(()) => Exit::Done.into(),
        Err(error) => {
            log::say(format_args!("tallylink: {error}"));
            error.exit().into()
        }
    }
}
