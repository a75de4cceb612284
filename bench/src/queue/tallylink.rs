//! (c): the same payloads as records, to a gateway.
use std::{
    fs::{self, File},
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result};
use tallylink_core::{KeyId, PeerId, crypto::Psk};
use tallylink_gateway::keystore::{KeyStore, NewPeer};
use tallylink_linux::Sender;

use super::{
    journal,
    receivers::{Experiment, Outcome},
};
use crate::{clock, process::Conversation};

const PATIENCE: Duration = Duration::from_secs(300);

impl Experiment<'_> {
    /// Pushes all of them, and waits until they are STORED.
    pub(super) fn tallylink(&self, home: &Path, log: &File) -> Result<Outcome> {
        let data = home.join("data");
        fs::create_dir(&data)?;
        let peer = NewPeer { name: "sender".parse()?, id: None };
        let made = KeyStore::in_data_dir(&data).edit()?.add(&[peer], 0)?;
        let entry = made.into_iter().next().context("a peer")?;

        let mut arguments = vec!["queue-receiver".to_owned(), format!("--data={}", data.display())];
        arguments.extend(self.slow.then(|| "--slow".to_owned()));
        arguments.push("serve".to_owned());
        let mut gateway = Conversation::start(&arguments, log)?;
        let ready = gateway.hear("listening on ")?;
        let to = ready.split(' ').next().context("an address")?;

        let psk = Psk::from_bytes(*entry.secret.expose());
        let sender = Sender::connect(to, PeerId(entry.peer.0), KeyId(entry.key_id), psk)?;
        let mut stream = sender.open("datagrams")?;
        let begun = clock::wall();
        self.each(|payload| {
            stream.push(payload)?;
            Ok(())
        })?;
        stream.flush(PATIENCE)?;
        let seconds = begun.elapsed().as_secs_f64();
        gateway.stop()?;

        let (stored, altered) = journal::look(&data.join("journal"), self.workload)?;
        Ok(Outcome { stored, lost_in_kernel: 0, lost_in_queue: 0, altered, seconds })
    }
}
