//! Tallylink's sender and gateway.
use std::{
    fs::File,
    io::{self, Read as _},
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result};
use clap::Args;
use tallylink_core::{KeyId, PeerId, crypto::Psk};
use tallylink_gateway::device::DeviceKey;
use tallylink_journal::{Dir, Item, Reader};
use tallylink_linux::Sender;

use super::{RECORD, Run};
use crate::{
    clock,
    drain::cpu,
    process::Conversation,
    strangers::gateway::{Gateway, Home},
    workload::{HEAD, Workload},
};

const PATIENCE: Duration = Duration::from_secs(300);

/// Pushes, for `mqtt`.
#[derive(Args)]
pub(crate) struct MqttSenderRole {
    #[arg(long)]
    key: PathBuf,
    #[arg(long)]
    to: SocketAddr,
    #[arg(long)]
    records: u64,
    #[arg(long)]
    seed: u64,
}

impl MqttSenderRole {
    pub(crate) fn run(&self) -> Result<()> {
        let workload = Workload::new(self.seed, RECORD);
        let key = DeviceKey::read(&self.key)?;
        let (begun, before) = (clock::wall(), clock::process_cpu());
        let psk = Psk::from_bytes(*key.secret.expose());
        let sender = Sender::connect(&self.to.to_string(), PeerId(key.peer.0), KeyId(key.key_id), psk)?;
        let mut stream = sender.open("records")?;
        let mut record = [0; RECORD];
        for number in 0..self.records {
            record[..HEAD].copy_from_slice(&workload.head(number));
            record[HEAD..].copy_from_slice(workload.body(number));
            stream.push(&record)?;
        }
        stream.flush(PATIENCE)?;
        println!("done {} {}", begun.elapsed().as_nanos(), clock::process_cpu().saturating_sub(before).as_nanos());
        // It stays until the bench has looked at the gateway.
        io::stdin().read_to_end(&mut Vec::new())?;
        Ok(())
    }
}

/// Pushes all records to a gateway, from a process of its own, and reads its journal.
pub(super) fn run(workload: &Arc<Workload>, records: u64, seed: u64, log: &File) -> Result<Run> {
    let home = Home::new()?;
    home.add_peer("sender")?;
    let mut gateway = Gateway::start(&home)?;
    let id = u32::try_from(gateway.pid().as_raw_nonzero().get())?;
    let cpu = || Ok::<_, anyhow::Error>(cpu::of_process(id)?.values().sum::<Duration>());
    let before = cpu()?;
    let mut arguments = vec!["mqtt-sender".to_owned(), format!("--key={}", home.path("sender.key").display())];
    arguments.extend([format!("--to={}", gateway.address), format!("--records={records}"), format!("--seed={seed}")]);
    let mut sender = Conversation::start(&arguments, log)?;
    let done = sender.hear("done ")?;
    let server = cpu()?.saturating_sub(before).as_secs_f64();
    sender.finish()?;
    gateway.stop()?;
    let (elapsed, client) = done.split_once(' ').context("two numbers")?;
    let seconds = |nanoseconds: &str| Ok::<_, anyhow::Error>(Duration::from_nanos(nanoseconds.parse()?).as_secs_f64());

    let mut reader = Reader::open(Dir::open(home.path("data/journal"))?)?;
    let (mut next, mut errors) = (0, 0);
    while let Some(item) = reader.next()? {
        let right =
            matches!(item, Item::Record(record) if record.number == next && workload.is_record(next, record.bytes));
        errors += u64::from(!right);
        next += 1;
    }
    errors += next.abs_diff(records);
    Ok(Run { records, seconds: seconds(elapsed)?, client: seconds(client)?, server, errors })
}
