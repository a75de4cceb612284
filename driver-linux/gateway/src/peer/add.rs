//! `peer add`, and showing new keys.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use hashbrown::HashMap;

use super::{Add, Show, edit, print};
use crate::device::{DeviceKey, Form};
use crate::host_port::HostPort;
use crate::keystore::{Entry, KeyStore, NewPeer};
use crate::output::Output;
use crate::{Error, clock};

pub(super) fn add(args: Add, store: &KeyStore) -> Result<(), Error> {
    let Add { name, id, from, show } = args;
    let Some(list) = from else {
        let id = id.map(|id| id.parse()).transpose()?;
        let new = NewPeer { name: name.unwrap_or_default().parse()?, id };
        return Shower::new(show, false)?.show(|| Ok(edit(store)?.add(&[new], clock::unix_seconds())?));
    };
    if !matches!(show.format, None | Some(Form::Toml)) {
        return Err(Error::Usage(
            "a list of peers is printed with --format toml or --json only; choose one of the two",
        ));
    }
    let new = read_list(&list)?;
    Shower::new(show, true)?.show(|| Ok(edit(store)?.add(&new, clock::unix_seconds())?))
}

/// Shows new keys. Whatever can be wrong with the way of showing is found before the keys are made.
pub(super) struct Shower {
    how: Show,
    many: bool,
    gateway: Option<HostPort>,
    out: Output,
}

impl Shower {
    pub(super) fn new(how: Show, many: bool) -> Result<Self, Error> {
        let gateway = how.gateway.as_deref().map(str::parse).transpose()?;
        let out = Output::new(how.out.as_deref())?;
        Ok(Self { how, many, gateway, out })
    }

    /// Makes the keys and shows them.
    pub(super) fn show(mut self, make: impl FnOnce() -> Result<Vec<Entry>, Error>) -> Result<(), Error> {
        let made = match make() {
            Ok(made) => made,
            Err(error) => {
                self.out.discard();
                return Err(error);
            }
        };
        let keys = match made.as_slice() {
            [one] => format!("a key of \"{}\" was made", one.name),
            all => format!("the keys of {} peers were made", all.len()),
        };
        let (out, how) = (self.out.path().map(Path::to_owned), self.how.json);
        let written = made.into_iter().try_for_each(|entry| self.write(entry)).and_then(|()| self.out.finish());
        written.map_err(|error| Error::KeysNotShown { keys: keys.clone(), error })?;
        match out {
            Some(file) if !how => print(&format!("{keys} and written to {}\n", file.display())),
            _ => Ok(()),
        }
    }

    fn write(&mut self, entry: Entry) -> io::Result<()> {
        let device = DeviceKey::new(entry, self.gateway.clone());
        if self.how.json {
            return device.write_json(&mut self.out);
        }
        if self.many {
            self.out.write_all(b"[[device]]\n")?;
        }
        let by_itself = self.many || self.how.out.is_some();
        let form = self.how.format.unwrap_or(if by_itself { Form::Toml } else { Form::All });
        device.write(form, &mut self.out)
    }
}

/// Reads a list of peers, one a line: a name, and an id if it has one.
fn read_list(list: &Path) -> Result<Vec<NewPeer>, Error> {
    let failed = |error| Error::Read { file: list.to_owned(), error };
    let mut text = String::new();
    match list.as_os_str().to_str() {
        Some("-") => io::stdin().lock().read_to_string(&mut text),
        _ => File::open(list).and_then(|mut file| file.read_to_string(&mut text)),
    }
    .map_err(failed)?;

    let mut peers = Vec::new();
    let mut lines_of_names = HashMap::new();
    for (line, text) in (1..).zip(text.lines()) {
        let wrong = |reason: String| Error::PeerList { file: list.to_owned(), line, reason };
        let Some(peer) = list_line(text).map_err(wrong)? else {
            continue;
        };
        if let Some(first) = lines_of_names.insert(peer.name.clone(), line) {
            return Err(wrong(format!(
                "the name \"{}\" stands in line {first} already; remove one of the two",
                peer.name
            )));
        }
        peers.push(peer);
    }
    Ok(peers)
}

fn list_line(text: &str) -> Result<Option<NewPeer>, String> {
    let mut fields = text.split([' ', '\t', ',', ';']).filter(|field| !field.is_empty());
    let (name, id) = match (fields.next(), fields.next(), fields.next()) {
        (None, ..) => return Ok(None),
        (Some(name), ..) if name.starts_with('#') => return Ok(None),
        (Some(name), id, None) => (name, id),
        _ => return Err("there are more than two fields; write NAME or NAME EUI64".into()),
    };
    let name = name.parse().map_err(|error: crate::PeerNameError| error.to_string())?;
    let id = id.map(str::parse).transpose().map_err(|error: crate::PeerIdError| error.to_string())?;
    Ok(Some(NewPeer { name, id }))
}
