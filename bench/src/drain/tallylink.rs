//! A full outbox, and the gateway that it drains to: three processes, one after the other and two at once.
use std::{
    fs::{self, File},
    io::{self, Read as _},
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use tallylink_core::{End, KeyId, PeerId, Provision, crypto::Psk, wire::varint};
use tallylink_gateway::{
    config::{Config, Level, Place, Suite, Suites},
    device::{DeviceKey, Form},
    host_port::HostPort,
    keystore::{KeyStore, NewPeer},
    private_file, serve,
};
use tallylink_journal::{Dir, Item, Reader};
use tallylink_linux::{Sender, Settings};

use super::{
    cpu,
    rounds::{Fill, Run},
};
use crate::{
    clock,
    process::Conversation,
    transport::{side::Job, sides::MAX_DATAGRAM},
    workload::{Packed, Workload},
};

/// How result lines call it.
pub(super) const SIDE: &str = "tallylink-gcm";

const STREAM: &str = "drained";
const PATIENCE: Duration = Duration::from_secs(300);

/// What the bench starts a process with.
#[derive(Args)]
pub(crate) struct DrainRole {
    /// Run the gateway on this data directory.
    #[arg(long, conflicts_with = "key")]
    data: Option<PathBuf>,
    /// Fill, or deliver, the outbox of this key's peer.
    #[arg(long)]
    key: Option<PathBuf>,
    #[arg(long, requires = "key")]
    outbox: Option<PathBuf>,
    /// Deliver it to this gateway; without one it is filled.
    #[arg(long)]
    to: Option<SocketAddr>,
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[arg(long, default_value_t = 0)]
    size: usize,
    #[arg(long, default_value_t = 0)]
    records: u64,
}

impl DrainRole {
    pub(crate) fn run(&self) -> Result<()> {
        if let Some(data) = &self.data {
            return gateway(data);
        }
        let outbox = self.outbox.as_ref().context("an outbox")?;
        let key = DeviceKey::read(self.key.as_ref().context("a key")?)?;
        let psk = Psk::from_bytes(*key.secret.expose());
        let provision = Provision::new(PeerId(key.peer.0), End::Device, KeyId(key.key_id), psk);
        let mut settings = Settings::sender();
        (settings.config.max_datagram, settings.config.initial_datagram) = (MAX_DATAGRAM, MAX_DATAGRAM);

        let begun = clock::wall();
        // Nobody listens there while it is filled.
        let to = self.to.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 9)));
        let sender = Sender::with(&settings, &to.to_string(), provision)?;
        let mut stream = sender.open_durable(STREAM, outbox)?;
        if self.to.is_none() {
            let workload = Workload::new(self.seed, self.size);
            let prefix = varint::encode(self.size as u64).ok().context("a size")?;
            let mut packed = Packed::new(&workload, prefix.as_slice());
            while stream.next() < self.records {
                let (_, batch) = packed.batch(&workload, stream.next(), self.records - stream.next());
                stream.push_batch(batch)?;
            }
            stream.flush_durable(PATIENCE)?;
        } else {
            stream.flush(PATIENCE)?;
        }
        println!("done {}", begun.elapsed().as_nanos());
        // It stays until the bench has looked at its threads.
        io::stdin().read_to_end(&mut Vec::new())?;
        Ok(())
    }
}

fn gateway(data: &Path) -> Result<()> {
    let config = Config {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        data: Place::Path(data.to_owned()),
        suites: Suites(vec![Suite::Aes128Gcm]),
        log: Level::Warn,
        ..Config::default()
    };
    Ok(serve::run_on(Dir::create(config.journal_dir())?, &config)?)
}

/// Fills an outbox, starts a gateway, and then drains the one to the other.
pub(super) fn run(home: &Path, job: &Job, seed: u64, log: &File) -> Result<Run> {
    let (data, key) = (home.join("data"), home.join("key"));
    provision(&data, &key)?;
    let mut sender = vec!["drain-tallylink".to_owned(), format!("--key={}", key.display())];
    sender.push(format!("--outbox={}", home.join("outbox").display()));
    let mut filler = sender.clone();
    filler.push(format!("--seed={seed}"));
    filler.push(format!("--size={}", job.workload.size()));
    filler.push(format!("--records={}", job.records));
    let mut filler = Conversation::start(&filler, log)?;
    let elapsed = Duration::from_nanos(filler.hear("done ")?.parse()?);
    let fill = Fill { elapsed, bytes_written: cpu::bytes_written(filler.id())? };
    filler.finish()?;

    let mut gateway = Conversation::start(&["drain-tallylink".to_owned(), format!("--data={}", data.display())], log)?;
    let ready = gateway.hear("listening on ")?;
    sender.push(format!("--to={}", ready.split(' ').next().context("an address")?));
    let mut sender = Conversation::start(&sender, log)?;
    let elapsed = Duration::from_nanos(sender.hear("done ")?.parse()?);
    let (senders, receivers) = (cpu::of_process(sender.id())?, cpu::of_process(gateway.id())?);
    sender.finish()?;
    gateway.stop()?;
    let errors = errors(&data.join("journal"), job)?;
    Ok(Run { records: job.records, elapsed, errors, sender: senders, receiver: receivers, fill: Some(fill) })
}

fn provision(data: &Path, key: &Path) -> Result<()> {
    fs::create_dir(data)?;
    let peer = NewPeer { name: "sender".parse()?, id: None };
    let made = KeyStore::in_data_dir(data).edit()?.add(&[peer], 0)?;
    let entry = made.into_iter().next().context("a peer")?;
    DeviceKey::new(entry, None::<HostPort>).write(Form::Toml, &mut private_file::create_new(key)?)?;
    Ok(())
}

/// Reads the journal: records that are not what and where they should be, and those that are not there.
fn errors(journal: &Path, job: &Job) -> Result<u64> {
    let workload = Arc::clone(&job.workload);
    let mut reader = Reader::open(Dir::open(journal)?)?;
    let (mut next, mut wrong) = (0, 0);
    while let Some(item) = reader.next()? {
        match item {
            Item::Record(record) => {
                wrong += u64::from(record.number != next || !workload.is_record(next, record.bytes));
                next += 1;
            }
            Item::Gap(_) | Item::Damage(_) => wrong += 1,
        }
    }
    ensure!(next <= job.records, "the journal has {next} records, {} were pushed", job.records);
    Ok(wrong + (job.records - next))
}
