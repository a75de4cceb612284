//! quinn from one process to another, as `transport` sets it up.
use std::{
    fs::File,
    io::{self, Read as _},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use rustls::{
    crypto::{CryptoProvider, aws_lc_rs, ring},
    pki_types::CertificateDer,
};

use super::{cpu, rounds::Run};
use crate::{
    process::Conversation,
    transport::{
        side::{Job, Meter},
        sides::quinn,
    },
    workload::Workload,
};

/// quinn's crypto backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Backend {
    Ring,
    AwsLc,
}

impl Backend {
    pub(super) fn side(self) -> &'static str {
        match self {
            Self::Ring => "quinn-ring",
            Self::AwsLc => "quinn-aws-lc",
        }
    }

    fn provider(self) -> CryptoProvider {
        match self {
            Self::Ring => ring::default_provider(),
            Self::AwsLc => aws_lc_rs::default_provider(),
        }
    }

    fn argument(self) -> &'static str {
        match self {
            Self::Ring => "--backend=ring",
            Self::AwsLc => "--backend=aws-lc",
        }
    }
}

/// What the bench starts a quinn process with.
#[derive(Args)]
pub(crate) struct QuinnRole {
    #[arg(long)]
    backend: Backend,
    /// The receiver's certificate and address; without them, this is the receiver.
    #[arg(long, requires = "to")]
    certificate: Option<String>,
    #[arg(long)]
    to: Option<SocketAddr>,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    size: usize,
    #[arg(long)]
    records: u64,
}

impl QuinnRole {
    pub(crate) fn run(&self) -> Result<()> {
        let job = Job::over_loopback(Arc::new(Workload::new(self.seed, self.size)), self.records);
        let (provider, mut meter) = (self.backend.provider(), Meter::default());
        match (&self.certificate, self.to) {
            (Some(certificate), Some(to)) => {
                let certificate = CertificateDer::from(bytes(certificate)?);
                let (elapsed, _) = quinn::give(quinn::client(provider, certificate, None)?, to, &job, &mut meter)?;
                println!("done {}", elapsed.as_nanos());
            }
            _ => {
                let (server, certificate) = quinn::server(provider, None)?;
                let tell = |listening| {
                    println!("ready {listening} {}", hex(&certificate));
                    Ok(())
                };
                let checked = quinn::take(server, &job, tell, &mut meter)?;
                println!("checked {}", checked.wrong + checked.records.abs_diff(job.records));
            }
        }
        // It stays until the bench has looked at its threads.
        io::stdin().read_to_end(&mut Vec::new())?;
        Ok(())
    }
}

/// Moves all records once.
pub(super) fn run(backend: Backend, job: &Job, seed: u64, log: &File) -> Result<Run> {
    let mut common = vec!["drain-quinn".to_owned(), backend.argument().to_owned(), format!("--seed={seed}")];
    common.push(format!("--size={}", job.workload.size()));
    common.push(format!("--records={}", job.records));
    let mut receiver = Conversation::start(&common, log)?;
    let ready = receiver.hear("ready ")?;
    let (to, certificate) = ready.split_once(' ').context("an address and a certificate")?;
    common.extend([format!("--to={to}"), format!("--certificate={certificate}")]);
    let mut sender = Conversation::start(&common, log)?;
    let elapsed = Duration::from_nanos(sender.hear("done ")?.parse()?);
    let errors = receiver.hear("checked ")?.parse()?;
    let (senders, receivers) = (cpu::of_process(sender.id())?, cpu::of_process(receiver.id())?);
    Ok(Run { records: job.records, elapsed, errors, sender: senders, receiver: receivers, fill: None })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Result<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?));
    pairs.collect()
}
