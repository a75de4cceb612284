//! `receive`: what a gateway has for this device, on standard output.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tallylink_core::{Duration as Span, Name};
use tallylink_files::records;
use tallylink_linux::sender::OpenError;
use tallylink_linux::{Sender, Settings};

use crate::config::{Config, Level};
use crate::query::escape;
use crate::send::gateway_and_identity;
use crate::serve::watch_for_the_first_signal;
use crate::{Error, hex, log};

/// The arguments of `receive`.
#[derive(Debug, Args)]
pub struct Receive {
    /// Where the gateway is; without it, where the key file says
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,
    /// The key file that `tallylink peer add` wrote for this device
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Take only this stream; may be given several times. What others have waits at the gateway [default: all]
    #[arg(long, value_name = "NAME")]
    stream: Vec<String>,
    /// How records are written
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "raw")]
    format: Format,
    /// Ask the gateway after so long a silence
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    poll: Duration,
    /// End after so many records
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

/// How records stand on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The bytes of each, nothing in between: lines, if lines were pushed
    Raw,
    /// One JSON object a line: stream and payload, "data" if it is UTF-8, else "hex"
    Jsonl,
    /// 4 bytes of length, the most significant first, and the payload: what `--frames` reads
    Frames,
}

/// How often signals are looked at.
const TICK: Duration = Duration::from_millis(100);

/// Prints records until SIGTERM or SIGINT, or as many as were asked for.
///
/// # Errors
/// A wrong argument, key or address; standard output takes no more: what it did not take waits at the gateway.
pub fn run(receive: &Receive, config: &Config) -> Result<(), Error> {
    log::start(config.log.min(Level::Warn));
    let (to, provision) = gateway_and_identity(&receive.key, receive.to.as_deref())?;
    let name = |name: &String| Name::new(name).ok_or(Error::Stream { name: name.clone(), why: OpenError::Name });
    let names = receive.stream.iter().map(name).collect::<Result<Vec<_>, _>>()?;
    let mut settings = Settings::sender();
    let poll = u64::try_from(receive.poll.as_micros()).unwrap_or(u64::MAX);
    // Oftener would only keep the network busy.
    settings.config.poll = Some(Span::from_micros(poll).max(Span::from_millis(100)));
    let stop = watch_for_the_first_signal()?;
    let (_sender, mut downlink) = Sender::with_downlink(&settings, &to.to_string(), provision, &names)?;
    let mut out = Out { format: receive.format, left: receive.count, buffer: Vec::new() };
    while !stop.load(std::sync::atomic::Ordering::Relaxed) && out.left != Some(0) {
        if out.left.is_none() {
            downlink.take(TICK, |record| out.put(record.name, record.bytes));
            out.write()?;
            downlink.confirm();
        } else if let Some(taken) = downlink.next(TICK) {
            out.put(&taken.name, &taken.bytes);
            out.write()?;
        }
        if downlink.is_over() {
            return Err(Error::Network(io::Error::other("the thread that receives has died")));
        }
    }
    // The gateway need not hand them over again.
    let _ = downlink.confirm_and_wait();
    Ok(())
}

/// Standard output in one of the formats.
struct Out {
    format: Format,
    /// How many more records are wanted.
    left: Option<u64>,
    buffer: Vec<u8>,
}

impl Out {
    fn put(&mut self, name: &str, bytes: &[u8]) {
        self.left = self.left.map(|left| left.saturating_sub(1));
        let out = &mut self.buffer;
        match self.format {
            Format::Raw => out.extend_from_slice(bytes),
            Format::Frames => {
                // No record is as long as a frame can be.
                let _ = records::push_frame(out, bytes);
            }
            Format::Jsonl => {
                out.extend_from_slice(b"{\"stream\":");
                escape::json(out, name);
                if let Ok(text) = str::from_utf8(bytes) {
                    out.extend_from_slice(b",\"data\":");
                    escape::json(out, text);
                } else {
                    out.extend_from_slice(b",\"hex\":\"");
                    hex::push(out, bytes);
                    out.push(b'"');
                }
                out.extend_from_slice(b"}\n");
            }
        }
    }

    fn write(&mut self) -> Result<(), Error> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(&self.buffer).and_then(|()| stdout.flush()).map_err(Error::Output)?;
        self.buffer.clear();
        Ok(())
    }
}
