//! `query`: what the journal holds, also while a gateway writes it.

pub(crate) mod escape;
mod format;
mod gap;
mod names;
mod select;
mod wait;

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use clap::{Args, ValueEnum};
use tallylink_journal::{Dir, Item, Reader};

use crate::config::Config;
use crate::keystore::KeyStore;
use crate::{Error, clock};
use format::Printer;
pub(crate) use names::Names;
use select::Selection;
use wait::Watch;

/// The arguments of `query`.
#[derive(Debug, Args)]
pub struct Query {
    /// Only records of this peer, by name or id
    #[arg(long, value_name = "PEER")]
    peer: Option<String>,
    /// Only records of streams of this name
    #[arg(long, value_name = "NAME")]
    stream: Option<String>,
    /// Only records from this index on
    #[arg(long, value_name = "INDEX", default_value_t = 0, hide_default_value = true)]
    from: u64,
    /// Only records before this index
    #[arg(long, value_name = "INDEX")]
    to: Option<u64>,
    /// Only records that came after TIME: 2026-07-01T12:00:00Z, or how long ago, such as 90s, 10m or 2d
    #[arg(long, value_name = "TIME", value_parser = clock::parse_since)]
    since: Option<u64>,
    /// Do not end with the journal, but wait for more; with --peer, --stream and --to, until that index
    #[arg(long)]
    follow: bool,
    /// How records are shown
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    format: Format,
    /// The same as --format jsonl
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// How records are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One line a record: time, peer/stream, index, payload with \n, \\ and \x80 for what a line cannot show
    Text,
    /// One JSON object a line: the payload is "data" if it is UTF-8, else "hex"
    Jsonl,
    /// RFC 4180 with a header; the payload's column says "utf8" or "hex" beside it
    Csv,
    /// The payloads alone, one after the other
    Raw,
}

/// Prints the records that were asked for.
///
/// # Errors
/// There is no journal, no such peer, or the disk or the output fail. Damage of the journal is told at the end, after
/// everything that can be read.
pub fn run(query: Query, config: &Config) -> Result<(), Error> {
    let format = if query.json { Format::Jsonl } else { query.format };
    let mut names = Names::default();
    if query.peer.is_some() || format != Format::Raw {
        names = Names::read(&KeyStore::in_data_dir(&config.data_dir()));
    }
    let selection = Selection {
        peer: query.peer.as_deref().map(|peer| names.id(peer)).transpose()?,
        stream: query.stream.map(String::into_bytes),
        from: query.from,
        to: query.to.unwrap_or(u64::MAX),
        since_us: query.since.unwrap_or(0),
    };
    let path = config.journal_dir();
    let dir = Dir::open(&path).map_err(|error| Error::NoJournal { dir: path.clone(), error })?;
    let watch = if query.follow { Some(Watch::on(&path)?) } else { None };
    let mut reader = Reader::since(dir, selection.since_us)?;
    let out = File::from(io::stdout().as_fd().try_clone_to_owned().map_err(Error::Output)?);
    let mut printer = Printer::new(out, format, &names);

    let ended = print_all(&mut reader, &selection, &mut printer, watch.as_ref());
    let flushed = printer.flush();
    match ended.and(flushed.map_err(Error::Output)) {
        // Whoever stops reading early has seen enough.
        Err(Error::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Ok(()) if printer.damaged_places() > 0 => {
            Err(Error::JournalDamaged { dir: path, places: printer.damaged_places() })
        }
        ended => ended,
    }
}

fn print_all(
    reader: &mut Reader<Dir>,
    selection: &Selection,
    printer: &mut Printer<'_, impl Write + AsFd>,
    watch: Option<&Watch>,
) -> Result<(), Error> {
    loop {
        match reader.next()? {
            Some(Item::Record(record)) => {
                if selection.takes(&record) {
                    printer.record(&record).map_err(Error::Output)?;
                }
                if selection.ends_with(record.peer, record.stream, record.index) {
                    return Ok(());
                }
            }
            Some(Item::Gap(gap)) => {
                if selection.takes_gap(&gap) {
                    printer.gap(&gap).map_err(Error::Output)?;
                }
            }
            Some(Item::Damage(damage)) => printer.damage(&damage),
            None => {
                let Some(watch) = watch else { return Ok(()) };
                printer.flush().map_err(Error::Output)?;
                watch.wait(printer.out()).map_err(Error::Output)?;
            }
        }
    }
}
