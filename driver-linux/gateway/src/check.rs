//! `check`: whether every byte of a journal and a key store is as it was written, and setting aside what is not.

mod find;
mod form;
mod show;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use tallylink_journal::{Check as JournalCheck, Dir, Progress, Repair};

use crate::Error;
use crate::config::Config;
use crate::keystore::{Contents, KeyStore};
use crate::output::Output;
use crate::query::Names;
use find::Thing;

/// The arguments of `check`.
#[derive(Debug, Args)]
pub struct Check {
    /// A data directory, a journal or an outbox, or a directory of such; without it the configured data directory
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Copy what is damaged to a file beside it and mark its place, so that it is not met again. Needs the lock
    #[arg(long)]
    repair: bool,
    /// One JSON object a line, for each journal and key store
    #[arg(long)]
    json: bool,
}

/// What was looked at, and what was found.
enum Found {
    Journal { path: PathBuf, check: JournalCheck, repair: Option<Repair> },
    Keys { store: KeyStore, contents: Contents, set_aside: u64 },
}

impl Found {
    fn is_whole(&self) -> bool {
        match self {
            Self::Journal { check, .. } => check.is_whole(),
            Self::Keys { contents, .. } => contents.is_whole(),
        }
    }

    fn places(&self) -> u64 {
        match self {
            Self::Journal { check, .. } => check.damaged_places(),
            Self::Keys { contents, .. } => contents.damaged.len() as u64 + u64::from(contents.unfinished > 0),
        }
    }
}

/// Checks everything in a directory, and prints what was found.
///
/// # Errors
/// Something is damaged, and was not repaired; there is nothing to check; or the disk or the output fail.
pub fn run(check: &Check, config: &Config) -> Result<(), Error> {
    let dir = check.dir.clone().unwrap_or_else(|| config.data_dir());
    let things = find::things(&dir).map_err(|error| Error::NoJournal { dir: dir.clone(), error })?;
    let names = Names::read(&KeyStore::in_data_dir(&dir));
    let mut out = Output::new(None)?;
    let (mut places, mut damaged) = (0, 0);
    for thing in &things {
        let found = look(thing, check.repair)?;
        places += found.places();
        damaged += u64::from(!found.is_whole());
        let shown =
            if check.json { show::json(&mut out, &found, &names) } else { show::text(&mut out, &found, &names) };
        shown.and_then(|()| out.flush()).map_err(Error::Output)?;
    }
    match damaged {
        0 => Ok(()),
        _ => Err(Error::CheckFoundDamage { dir, places, repaired: check.repair }),
    }
}

fn look(thing: &Thing, repair: bool) -> Result<Found, Error> {
    match thing {
        Thing::Journal(path) => {
            let dir = Dir::open(path).map_err(|error| Error::NoJournal { dir: path.clone(), error })?;
            let mut check = tallylink_journal::check(&dir, &mut progress("checking", path))?;
            let mut repaired = None;
            if repair && !check.is_whole() {
                repaired = Some(tallylink_journal::repair(dir.clone(), &mut progress("repairing", path))?);
                check = tallylink_journal::check(&dir, &mut progress("checking", path))?;
            }
            Ok(Found::Journal { path: path.clone(), check, repair: repaired })
        }
        Thing::Keys(store) => {
            let mut contents = store.read()?;
            let mut set_aside = 0;
            if repair && !contents.is_whole() {
                // Whoever opens the store for a change does it.
                set_aside = store.edit()?.damaged().len() as u64 + u64::from(contents.unfinished > 0);
                contents = store.read()?;
            }
            Ok(Found::Keys { store: store.clone(), contents, set_aside })
        }
    }
}

/// A bar on standard error, if that is a terminal.
fn progress(what: &'static str, path: &Path) -> impl FnMut(Progress) + use<> {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}") {
        bar.set_style(style);
    }
    bar.set_message(format!("{what} {}", path.display()));
    move |at| {
        bar.set_length(at.all);
        bar.set_position(at.done);
        if at.done == at.all {
            bar.finish_and_clear();
        }
    }
}
