//! `ingest`: plain datagrams of devices that do not speak Tallylink, into a journal or to standard output.
//!
//! ```text
//! kernel's buffer ──> receiving thread ── bounded queue ──> writing thread ──> journal
//!        │ full                              │ full
//!        └──> dropped, and counted <─────────┘
//! ```
//!
//! Such a device keeps nothing and hears nothing: what finds no room is lost, and all that can be done is to say how much
//! that was. With `--direct` there is no queue: the thread that receives waits for the disk, and the kernel's buffer alone
//! has to hold what comes meanwhile.
//!
//! Each datagram is a record. In the journal all are in one stream of [`PEER`]; each start begins an epoch.

mod drops;
mod journal;
mod lines;
mod queue;
mod receive;
mod stop;
mod summary;
mod write;

use std::io;
use std::net::{Ipv6Addr, SocketAddr};

use clap::{Args, ValueEnum};
use tallylink_core::Name;
use tallylink_journal::{Dir, Journal, Store};
use tallylink_linux::PlainSocket;

use crate::config::{Bytes, Config, Level};
use crate::{Error, log, peer, serve};
use journal::ToJournal;
use lines::ToStdout;
use receive::Received;
use stop::Stop;
use summary::Summary;
use write::{Grouped, Sink};

/// The peer whose records they are in the journal: an id that is marked as locally administered, so that no board has it.
pub const PEER: [u8; 8] = *b"from-udp";

/// The arguments of `ingest`.
#[derive(Debug, Args)]
pub struct Ingest {
    /// Receive on ADDR:PORT, or on PORT of all addresses of this machine
    #[arg(long, value_name = "ADDR:PORT", value_parser = address)]
    udp: SocketAddr,
    /// The stream in the journal, 1 to 64 bytes
    #[arg(long, value_name = "NAME", default_value = "udp", conflicts_with = "stdout")]
    stream: String,
    /// How many datagrams may wait for the writing thread
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    queue: u32,
    /// Receive and write in one thread, without a queue
    #[arg(long, conflicts_with = "queue")]
    direct: bool,
    /// Write to standard output in place of a journal
    #[arg(long, value_enum, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "jsonl")]
    stdout: Option<Format>,
    /// The receive buffer to ask the kernel for
    #[arg(long, value_name = "SIZE", default_value = "4 MiB", value_parser = Bytes::from_argument)]
    receive_buffer: Bytes,
    /// Print the address and the summary as JSON objects, one a line
    #[arg(long)]
    json: bool,
}

/// How datagrams stand on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON object a line: time, sender and payload, "data" if it is UTF-8, else "hex"
    Jsonl,
    /// 4 bytes of length, the most significant first, and the payload: what `tallylink send --frames` reads
    Frames,
}

/// Takes datagrams until SIGTERM or SIGINT, and says what became of them.
///
/// # Errors
/// It cannot start; the disk or the output fail; or, told at the end, not every datagram is stored.
pub fn run(ingest: &Ingest, config: &Config) -> Result<(), Error> {
    log::start(config.log.min(Level::Warn));
    if let Some(format) = ingest.stdout {
        return ingest.take_all(ToStdout::new(format), &Stop::on_signals()?, config);
    }
    serve::make_data_dir(&config.data_dir())?;
    let path = config.journal_dir();
    let dir = Dir::create(&path).map_err(|error| Error::DataDir { dir: path, error })?;
    run_on(dir, ingest, config)
}

/// The same with the journal in any store.
///
/// # Errors
/// As [`run`].
pub fn run_on<S>(store: S, ingest: &Ingest, config: &Config) -> Result<(), Error>
where
    S: Store<File: Send, Lock: Send> + Send + 'static,
{
    log::start(config.log.min(Level::Warn));
    if Name::new(&ingest.stream).is_none() {
        return Err(Error::Usage("a stream's name has 1 to 64 bytes; give another with --stream"));
    }
    let stop = Stop::on_signals()?;
    let (journal, recovery) = match Journal::open_until(store, serve::options(config)?, stop.flag()) {
        // Nothing was received yet.
        Err(tallylink_journal::Error::Stopped) => return Ok(()),
        opened => opened?,
    };
    serve::tell(&recovery, &config.journal_dir());
    ingest.take_all(ToJournal::new(journal, &ingest.stream)?, &stop, config)
}

impl Ingest {
    fn take_all(&self, sink: impl Sink + Send + 'static, stop: &Stop, config: &Config) -> Result<(), Error> {
        let asked = usize::try_from(self.receive_buffer.0).unwrap_or(usize::MAX);
        let listen = |error| Error::Ingest { address: self.udp, error };
        let socket = PlainSocket::bind(self.udp, asked).map_err(listen)?;
        let address = socket.local_addr().map_err(listen)?;
        let ready = format!("listening on {address}\n");
        self.say(if self.json { format!("{{\"listening\":\"{address}\"}}\n") } else { ready })?;
        let mut received = Received::new(socket);
        let mut written = Grouped::new(sink, config.commit_interval.0);
        let mut dropped_by_queue = 0;
        let ended = if self.direct {
            let ended = received.all(stop, &mut written);
            ended.and(written.finish())
        } else {
            let (mut queue, writer) = queue::start(self.queue as usize, written)?;
            let ended = received.all(stop, &mut queue);
            dropped_by_queue = queue.close();
            let wrote;
            (written, wrote) =
                writer.join().map_err(|_| Error::Network(io::Error::other("the writing thread has died")))?;
            ended.and(wrote)
        };
        let summary = Summary::new(&received, &written, dropped_by_queue);
        self.say(summary.text(self.json))?;
        ended?;
        summary.verdict()
    }

    /// To standard output; where datagrams go there, to standard error.
    fn say(&self, text: String) -> Result<(), Error> {
        if self.stdout.is_some() {
            log::say(format_args!("{}", text.trim_end()));
            return Ok(());
        }
        peer::print(&text)
    }
}

/// An address with a port, or a port alone.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port: u16| SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)));
    port.or_else(|_| text.parse()).map_err(|_| {
        "write a port such as 5140, or an address with one such as 192.0.2.1:5140 or [::1]:5140".to_owned()
    })
}
