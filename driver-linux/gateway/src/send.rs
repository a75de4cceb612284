//! `send`: records from standard input or files to a gateway, until every one is stored.

mod durable;
mod memory;
mod progress;
pub(crate) mod source;
mod watch;

use std::io;
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tallylink_core::{End, Provision, crypto::Psk};
use tallylink_linux::Settings;

use crate::config::{Bytes, Config, Level};
use crate::device::DeviceKey;
use crate::host_port::HostPort;
use crate::{Error, log};
use source::Source;

/// The arguments of `send`.
#[derive(Debug, Args)]
pub struct Send {
    /// Where the gateway is; without it, where the key file says
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,
    /// The key file that `tallylink peer add` wrote for this device
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The stream's name, 1 to 64 bytes; may be left out with --outbox, which then delivers what all its streams have left
    #[arg(long, value_name = "NAME", required_unless_present = "outbox")]
    stream: Option<String>,
    /// Keep records in DIR until they are stored: what is there outlives this program and the power
    #[arg(long, value_name = "DIR")]
    outbox: Option<PathBuf>,
    /// Leave out as many records of the input as this stream's outbox ever held: to go on with the same input
    #[arg(long, requires = "outbox", requires = "stream")]
    resume: bool,
    /// Records on standard input begin with their length: 4 bytes, the most significant first
    #[arg(long, conflicts_with = "files")]
    frames: bool,
    /// Send at most RATE bytes a second, such as "50 kB" or "1 MiB": what is left of the path is for others
    #[arg(long, value_name = "RATE", value_parser = Bytes::rate_from_argument)]
    max_rate: Option<Bytes>,
    /// Give up when nothing was confirmed for so long [default: never]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    timeout: Option<Duration>,
    /// Files to send, each as one record; without any, the lines of standard input, each with its newline
    #[arg(value_name = "FILE", requires = "stream")]
    files: Vec<PathBuf>,
}

/// How often the terminal and the time limit are looked at.
const TICK: Duration = Duration::from_millis(100);

/// Sends all records and waits until they are stored.
///
/// # Errors
/// A wrong argument, key or address, found before anything is read; a record that the gateway does not take, when all
/// before it are stored; the time limit, or an interruption.
pub fn run(send: &Send, config: &Config) -> Result<(), Error> {
    log::start(config.log.min(Level::Warn));
    let (to, provision) = gateway_and_identity(&send.key, send.to.as_deref())?;
    let largest = source::largest(&send.files)?;
    let settings = send.settings(largest);
    match (&send.outbox, &send.stream) {
        (Some(dir), stream) => durable::run(send, dir, stream.as_deref(), &settings, to, provision),
        (None, Some(stream)) => {
            check_name(&to)?;
            memory::run(send, stream, &settings, to, provision)
        }
        (None, None) => Err(Error::Usage("give the stream's name with --stream")),
    }
}

/// Where the gateway is, and this device's identity.
///
/// # Errors
/// The key file or the address is of no use, or neither says where the gateway is.
pub(crate) fn gateway_and_identity(key: &Path, to: Option<&str>) -> Result<(HostPort, Provision), Error> {
    let key = DeviceKey::read(key)?;
    let to = match to {
        Some(to) => to.parse()?,
        None => key
            .gateway
            .clone()
            .ok_or(Error::Usage("the key file does not say where the gateway is; give --to HOST:PORT"))?,
    };
    let id = tallylink_core::PeerId(key.peer.0);
    let secret = Psk::from_bytes(*key.secret.expose());
    Ok((to, Provision::new(id, End::Device, tallylink_core::KeyId(key.key_id), secret)))
}

impl Send {
    /// Limits that suit the arguments, for records of up to `largest` bytes.
    fn settings(&self, largest: u64) -> Settings {
        let mut settings = Settings::sender();
        let own = &mut settings.config;
        own.max_record = own.max_record.max(u32::try_from(largest).unwrap_or(u32::MAX));
        own.max_credit = own.max_credit.max(u64::from(own.max_record) + 8);
        own.max_rate = self.max_rate.map(|Bytes(rate)| rate);
        settings
    }

    /// The records to send, none larger than `limit` bytes.
    fn source(&self, limit: source::Limit) -> Result<Source, Error> {
        Source::of_arguments(self.files.clone(), self.frames, limit)
    }
}

/// A name that nobody knows is most often a typing error; later it is resolved at each try to reach the gateway.
fn check_name(to: &HostPort) -> Result<(), Error> {
    match to.to_string().to_socket_addrs().map(|mut found| found.next()) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(Error::Resolve { to: to.clone(), error: io::ErrorKind::NotFound.into() }),
        Err(error) => Err(Error::Resolve { to: to.clone(), error }),
    }
}

#[cfg(test)]
mod tests;
