//! The `peer` commands: who may send, and with which keys.

mod add;
mod list;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::device::Form;
use crate::keystore::{Damaged, Editor, KeyId, KeyStore};
use crate::{Error, clock, log};

/// What to do with peers. A running gateway takes every change up at once.
#[derive(Debug, Subcommand)]
pub enum PeerCommand {
    /// Add a peer and print what its device needs
    ///
    /// The key is shown only now. Without --id the peer gets a random one. A list for --from has one peer a line,
    /// NAME or NAME and its EUI-64, separated by a blank, tab, comma or semicolon; "-" reads it from standard input.
    #[command(after_help = "\
Examples:
  tallylink peer add roof
  tallylink peer add roof --id 70:b3:d5:ff:fe:00:00:01 --gateway gw.example:7433 --out roof.key
  tallylink peer add roof --format c > tallylink_key.h
  seq -f sensor-%.0f 1000 | tallylink peer add --from - --json --out keys.jsonl")]
    Add(Add),
    /// Show all peers, never their keys
    #[command(after_help = "\
Examples:
  tallylink peer list
  tallylink peer list --json | head -n 1")]
    List {
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Remove a peer, or one of its keys; its sessions end
    #[command(after_help = "\
Examples:
  tallylink peer remove roof
  tallylink peer remove 70b3d5fffe000001
  tallylink peer remove roof --key 0      end a change of keys")]
    Remove {
        /// The peer's name or id
        name: String,
        /// Remove only the key of this number
        #[arg(long, value_name = "NUMBER")]
        key: Option<KeyId>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Give a peer a new key; the one before stays valid until the next change or removal
    #[command(after_help = "\
Examples:
  tallylink peer rotate roof --out roof-new.key
  tallylink peer remove roof --key 0      once the device uses the new key")]
    Rotate {
        /// The peer's name or id
        name: String,
        /// How the new key is shown
        #[command(flatten)]
        show: Show,
    },
}

/// The arguments of `peer add`.
#[derive(Debug, Args)]
pub struct Add {
    /// What to call the peer
    #[arg(required_unless_present = "from")]
    name: Option<String>,
    /// The peer's id, an EUI-64 in any usual spelling
    #[arg(long, value_name = "EUI64", requires = "name")]
    id: Option<String>,
    /// Add every peer of a list, all or none
    #[arg(long, value_name = "FILE", conflicts_with = "name")]
    from: Option<PathBuf>,
    #[command(flatten)]
    show: Show,
}

/// How a new key is shown.
#[derive(Debug, Args)]
pub struct Show {
    /// The form to print [default: all; toml with --out or --from]
    #[arg(long, value_name = "FORM")]
    format: Option<Form>,
    /// Print one JSON object a peer and line
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Where the device will reach its gateway
    #[arg(long, value_name = "HOST:PORT")]
    gateway: Option<String>,
    /// Write to a new FILE that only you can read, instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs a `peer` command on a key store.
///
/// # Errors
/// One sentence and an exit code.
pub fn run(command: PeerCommand, store: &KeyStore) -> Result<(), Error> {
    match command {
        PeerCommand::Add(add) => add::add(add, store),
        PeerCommand::List { json } => list::list(json, store),
        PeerCommand::Remove { name, key, json } => remove(&name, key, json, store),
        PeerCommand::Rotate { name, show } => rotate(&name, show, store),
    }
}

fn remove(name: &str, key: Option<KeyId>, json: bool, store: &KeyStore) -> Result<(), Error> {
    let peer = edit(store)?.remove(name, key)?;
    if json {
        let keys: Vec<KeyId> = peer.keys().map(|(id, _)| id).filter(|id| key.is_none_or(|key| key == *id)).collect();
        let removed =
            serde_json::json!({ "name": peer.name.as_str(), "peer": peer.id.to_string(), "removed_keys": keys });
        return print(&format!("{removed}\n"));
    }
    let what = key.map(|key| format!("key {key} of ")).unwrap_or_default();
    print(&format!("removed {what}{} ({})\n", peer.name, peer.id))
}

fn rotate(name: &str, show: Show, store: &KeyStore) -> Result<(), Error> {
    add::Shower::new(show, false)?.show(|| Ok(vec![edit(store)?.rotate(name, clock::unix_seconds())?]))
}

/// Prints a text; whoever stops reading it early has seen enough.
///
/// # Errors
/// It could not be written.
pub fn print(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Error::Output),
    }
}

/// Opens the store for a change and tells of damaged lines.
fn edit(store: &KeyStore) -> Result<Editor, Error> {
    let editor = store.edit()?;
    let aside = format!("moved to {}", editor.damage_file().display());
    warn_of_damage(store, editor.damaged(), &aside);
    Ok(editor)
}

fn warn_of_damage(store: &KeyStore, damaged: &[Damaged], what_was_done: &str) {
    const SHOWN: usize = 8;
    for Damaged { line, reason, .. } in damaged.iter().take(SHOWN) {
        let file = store.file();
        log::say(format_args!(
            "tallylink: warning: {}, line {line} cannot be read ({reason}) and is {what_was_done}; if a peer is \
             missing from `tallylink peer list`, add it again",
            file.display()
        ));
    }
    if let more @ 1.. = damaged.len().saturating_sub(SHOWN) {
        log::say(format_args!("tallylink: warning: {more} more lines cannot be read"));
    }
}
