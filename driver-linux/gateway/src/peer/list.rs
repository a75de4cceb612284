//! `peer list`.

use std::io::{self, Write};

use super::warn_of_damage;
use crate::keystore::{KeyStore, Peer, Peers};
use crate::output::Output;
use crate::{Error, clock};

pub(super) fn list(json: bool, store: &KeyStore) -> Result<(), Error> {
    let contents = store.read()?;
    warn_of_damage(store, &contents.damaged, "left out");
    let mut out = Output::new(None)?;
    let written = if json { objects(&contents.peers, &mut out) } else { table(&contents.peers, &mut out) };
    match written.and_then(|()| out.finish()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(Error::Output),
    }
}

fn by_name(peers: &Peers) -> Vec<&Peer> {
    let mut sorted: Vec<_> = peers.iter().collect();
    sorted.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    sorted
}

fn table(peers: &Peers, out: &mut Output) -> io::Result<()> {
    let peers = by_name(peers);
    let width = peers.iter().map(|peer| peer.name.as_str().chars().count()).max().unwrap_or(0).max(4);
    writeln!(out, "{:width$}  {:16}  {:7}  CREATED", "NAME", "PEER ID", "KEYS")?;
    for peer in peers {
        let keys = peer.keys().map(|(id, _)| id.to_string()).collect::<Vec<_>>().join(",");
        writeln!(out, "{:width$}  {}  {keys:7}  {}", peer.name, peer.id, clock::rfc3339(created(peer)))?;
    }
    Ok(())
}

fn objects(peers: &Peers, out: &mut Output) -> io::Result<()> {
    for peer in by_name(peers) {
        let keys = peer.keys().map(|(id, created)| Key { id, created: clock::rfc3339(created) }).collect();
        let object = Object { name: peer.name.as_str(), peer: peer.id.to_string(), keys };
        serde_json::to_writer(&mut *out, &object)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// A peer is as old as its oldest key.
fn created(peer: &Peer) -> u64 {
    peer.keys().map(|(_, created)| created).min().unwrap_or(0)
}

#[derive(serde::Serialize)]
struct Object<'a> {
    name: &'a str,
    peer: String,
    keys: Vec<Key>,
}

#[derive(serde::Serialize)]
struct Key {
    id: u8,
    created: String,
}
