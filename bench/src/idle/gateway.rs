//! What is asked of the gateway's process, and what it has on disk.
use std::{collections::HashMap, fs};

use anyhow::{Context, Result};
use tallylink_gateway::{
    PeerId,
    keystore::{Entry, KeyStore, NewPeer},
};
use tallylink_journal::{Dir, Item, Reader};

use crate::{
    strangers::gateway::{Gateway, Home},
    workload::SplitMix64,
};

/// Adds the devices to the key store.
pub(super) fn provision(home: &Home, peers: u32, seed: u64) -> Result<Vec<Entry>> {
    fs::create_dir(home.path("data"))?;
    let mut random = SplitMix64(seed);
    let new = |index: u32| {
        let mut id = random.next().to_le_bytes();
        id[..4].copy_from_slice(&index.to_le_bytes());
        Ok(NewPeer { name: format!("device-{index}").parse()?, id: Some(PeerId(id)) })
    };
    let new: Vec<_> = (1..=peers).map(new).collect::<Result<_>>()?;
    Ok(KeyStore::in_data_dir(&home.path("data")).edit()?.add(&new, 0)?)
}

/// Starts a gateway on them, as it is by default but for one setting.
pub(super) fn start(home: &Home, active_peers: u32) -> Result<Gateway> {
    fs::write(home.path("tallylink.toml"), format!("active_peers = {active_peers}\n"))?;
    let arguments = ["serve", "--config", "tallylink.toml", "--listen", "127.0.0.1:0"];
    Gateway::start_with(home, home.command(&arguments)?)
}

/// How often any of its threads went to sleep by itself, and so was woken again.
pub(super) fn wake_ups(gateway: &Gateway) -> Result<u64> {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{}/task", gateway.pid().as_raw_nonzero()))? {
        sum += field(&fs::read_to_string(task?.path().join("status"))?, "voluntary_ctxt_switches:")?;
    }
    Ok(sum)
}

/// The most bytes of memory that it ever had in use.
pub(super) fn peak(gateway: &Gateway) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", gateway.pid().as_raw_nonzero()))?;
    Ok(field(&status, "VmHWM:")? << 10)
}

fn field(status: &str, name: &str) -> Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.with_context(|| format!("the kernel does not tell {name}"))
}

/// How many records its journal holds, those that do not follow the one before in their stream not counted.
pub(super) fn stored(home: &Home) -> Result<u64> {
    let mut reader = Reader::open(Dir::open(home.path("data/journal"))?)?;
    let mut next: HashMap<[u8; 8], u64> = HashMap::new();
    let mut stored = 0;
    while let Some(item) = reader.next()? {
        if let Item::Record(record) = item {
            let next = next.entry(record.peer).or_default();
            stored += u64::from(record.index == *next);
            *next = record.index + 1;
        }
    }
    Ok(stored)
}
