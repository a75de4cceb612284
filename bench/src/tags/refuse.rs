//! Refusing packets, and counting what that takes.
use std::{env, process::Command};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use tallylink_core::crypto::{Crypto, Secret, Soft, Suite, Tag};
use tallylink_linux::crypto::AwsLc;

use crate::workload::SplitMix64;

/// The suites, as they are named in tables.
pub(super) const SUITES: [(usize, &str); 3] = [(0, "AES-128-GCM-SIV"), (1, "AES-128-GCM"), (2, "ChaCha20-Poly1305")];
const OF: [Suite; 3] = Suite::ALL;
const NUMBER: u64 = 7;
const AAD: &[u8] = b"header";
/// Packets that are refused before any is counted: libraries look at the processor at their first call.
const WARM_UP: u32 = 3;

/// Who computes the suites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Backend {
    Soft,
    AwsLc,
}

impl Backend {
    pub(super) const ALL: [Self; 2] = [Self::Soft, Self::AwsLc];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Soft => "core's own",
            Self::AwsLc => "AWS-LC",
        }
    }
}

/// Refuses one packet, for valgrind.
#[derive(Args)]
pub(crate) struct RefuseRole {
    #[arg(long, value_enum)]
    backend: Backend,
    #[arg(long)]
    suite: usize,
    #[arg(long)]
    wrong: usize,
    #[arg(long)]
    seed: u64,
}

impl RefuseRole {
    pub(crate) fn run(&self) -> Result<()> {
        match self.backend {
            Backend::Soft => self.refuse(&Soft),
            Backend::AwsLc => self.refuse(&AwsLc),
        }
    }

    fn refuse<C: Crypto>(&self, crypto: &C) -> Result<()> {
        let mut random = SplitMix64(self.seed);
        let mut key = None;
        crypto.expand(OF[self.suite], &Secret::from_bytes([random.next() as u8; 32]), &mut key);
        let key = key.context("a suite that the backend offers")?;
        let mut sealed: Vec<u8> = (0..64).map(|_| random.next() as u8).collect();
        let mut tag = *crypto.seal(&key, NUMBER, AAD, &mut sealed).as_bytes();
        tag[self.wrong] ^= 1;
        let tag = Tag::from_bytes(tag);
        for _ in 0..WARM_UP {
            ensure!(crypto.open(&key, NUMBER, AAD, &mut sealed.clone(), &tag).is_err(), "a wrong tag was taken");
        }
        ensure!(counted(crypto, &key, &mut sealed, &tag), "a wrong tag was taken");
        Ok(())
    }
}

/// Where valgrind counts.
#[inline(never)]
fn counted<C: Crypto>(crypto: &C, key: &C::Key, body: &mut [u8], tag: &Tag) -> bool {
    crypto.open(key, NUMBER, AAD, body, tag).is_err()
}

/// Instructions of refusing a packet of which this byte of the tag is wrong.
pub(super) fn instructions(backend: Backend, suite: usize, wrong: usize, seed: u64) -> Result<u64> {
    let backend = backend.to_possible_value().context("a name")?;
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*tags*refuse*counted*"])
        .arg(env::current_exe()?)
        .args(["refuse-only", "--backend", backend.get_name()])
        .args([format!("--suite={suite}"), format!("--wrong={wrong}"), format!("--seed={seed}")])
        .output();
    let output = ran.context("this bench needs valgrind; install it, for example by: apt-get install valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind failed: {said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    collected.with_context(|| format!("valgrind did not count: {said}"))
}
