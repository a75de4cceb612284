//! Only carries records, for strace and valgrind to look at.
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::{
    transport::{side::Job, sides::SideName},
    workload::Workload,
};

#[derive(Args)]
pub(crate) struct CallsRole {
    #[arg(long)]
    size: u32,
    #[arg(long)]
    records: u64,
    #[arg(long)]
    seed: u64,
}

/// What the driver counted itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Counted {
    pub(super) packets: u64,
    pub(super) send_calls: u64,
    pub(super) receive_calls: u64,
}

impl CallsRole {
    pub(crate) fn run(&self) -> Result<()> {
        let workload = Arc::new(Workload::new(self.seed, self.size as usize));
        let run = SideName::TallylinkGcm.side().run(&Job::over_loopback(workload, self.records))?;
        ensure!(run.checked.wrong == 0, "{} records arrived wrong", run.checked.wrong);
        let counted = Counted {
            packets: run.wire.datagrams,
            send_calls: run.wire.send_calls.context("sends are counted")?,
            receive_calls: run.wire.receive_calls.context("receives are counted")?,
        };
        println!("{}", serde_json::to_string(&counted)?);
        Ok(())
    }
}

/// The arguments of a process that carries so many records.
pub(super) fn arguments(size: u32, records: u64, seed: u64) -> [String; 4] {
    ["syscalls-only".into(), format!("--size={size}"), format!("--records={records}"), format!("--seed={seed}")]
}
