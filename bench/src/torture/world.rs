//! One world: its processes, their deaths, and what is made of them.
use std::{
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::Result;
use indicatif::ProgressBar;
use tallylink_gateway::{
    demo::relay::{Impairment, Relay},
    device::{DeviceKey, Form},
    host_port::HostPort,
    keystore::{KeyStore, NewPeer},
    private_file,
};
use tallylink_journal::testing::Volatile;
use tempfile::TempDir;

use super::{
    check::{self, Known, Tally},
    deaths::{Death, Deaths, Manner},
    left,
    model::{Claims, Epochs, Said},
    sender::{EXPLAIN, FINISH},
    terms::{Disk, Drive, Terms, UP},
};
use crate::{clock, process::Process, workload::SplitMix64};

/// No step towards the end for so long is a failure; where a sync is missing, one may not come.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENCE_WITHOUT: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(10);

/// A running world.
pub(super) struct World<'a> {
    terms: &'a Terms,
    home: TempDir,
    log: File,
    peers: Vec<[u8; 8]>,
    relay: Relay,
    gateway: Actor,
    senders: Vec<Actor>,
    claims: Vec<Arc<Mutex<Claims>>>,
    epochs: Epochs,
    chances: SplitMix64,
    counts: Counts,
}

/// One role, through all of its lives.
#[derive(Default)]
struct Actor {
    process: Option<Process>,
    /// Lives begun.
    lives: u32,
    /// The life in progress began with what the one before had written.
    resumed: bool,
    /// Its stores are made.
    up: Arc<AtomicBool>,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) gateway_kills: u32,
    pub(super) gateway_cuts: u32,
    pub(super) sender_kills: u32,
    pub(super) sender_cuts: u32,
    /// Deaths that came several at once.
    pub(super) together: u32,
    pub(super) checks: u32,
}

/// What became of a world.
pub(super) struct Outcome {
    pub(super) terms: Terms,
    pub(super) counts: Counts,
    pub(super) openings: u32,
    pub(super) pushed: u64,
    pub(super) durable: u64,
    pub(super) stored: u64,
    /// The last check, or the one that found something.
    pub(super) tally: Tally,
    /// Something else went wrong.
    trouble: Option<String>,
    /// Where its files are, if they are still there.
    pub(super) dir: PathBuf,
}

impl Outcome {
    /// What is wrong with it.
    pub(super) fn complaint(&self) -> Option<&str> {
        self.tally.complaint.as_deref().or(self.trouble.as_deref())
    }
}

impl<'a> World<'a> {
    /// Makes peers and keys, and starts everything.
    pub(super) fn begin(terms: &'a Terms) -> Result<Self> {
        let home = TempDir::with_prefix("tallylink-torture-")?;
        let mut peers = Vec::new();
        for sender in 0..terms.senders {
            peers.push(NewPeer { name: format!("sender-{sender}").parse()?, id: None });
        }
        fs::create_dir(data(home.path()))?;
        let entries = KeyStore::in_data_dir(&data(home.path())).edit()?.add(&peers, 0)?;
        let mut ids = Vec::new();
        for (sender, entry) in (0..).zip(entries) {
            let key = DeviceKey::new(entry, None::<HostPort>);
            ids.push(key.peer.0);
            key.write(Form::Toml, &mut private_file::create_new(&key_file(home.path(), sender))?)?;
        }
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 9));
        let relay = Relay::start(nowhere, Impairment::bad(terms.loss_percent), terms.seed)?;
        let log = File::options().create(true).append(true).open(home.path().join("log"))?;
        let senders = (0..terms.senders).map(|_| Actor::default()).collect();
        let mut world = Self {
            terms,
            home,
            log,
            peers: ids,
            relay,
            gateway: Actor::default(),
            senders,
            claims: (0..terms.senders).map(|_| Arc::default()).collect(),
            epochs: Epochs::default(),
            chances: SplitMix64(terms.seed),
            counts: Counts::default(),
        };
        world.start_gateway(false)?;
        for sender in 0..terms.senders {
            world.start_sender(sender, false)?;
        }
        Ok(world)
    }

    /// Runs it to its end, or until something is wrong, or `over`.
    pub(super) fn live(mut self, over: &AtomicBool, progress: &ProgressBar) -> Result<Outcome> {
        let mut deaths = Deaths::of(self.terms);
        let mut done = 0;
        while done < self.terms.deaths && !over.load(Ordering::Relaxed) {
            let death = deaths.draw();
            thread::sleep(death.after);
            if let Some(trouble) = self.trouble()? {
                return self.end(Tally::default(), Some(trouble));
            }
            let before = self.deaths();
            let tally = self.die(&death)?;
            if !tally.is_exact() {
                return self.end(tally, None);
            }
            let now = self.deaths();
            done += now - before;
            progress.inc(u64::from(now - before));
        }
        if let Some(trouble) = self.finish()? {
            return self.end(Tally::default(), Some(trouble));
        }
        let tally = self.check(&journal(self.home.path()), true)?;
        self.end(tally, None)
    }

    /// The deaths that count: kills where files are real, else power cuts.
    fn deaths(&self) -> u32 {
        match self.terms.disk {
            Disk::Files => self.counts.gateway_kills + self.counts.sender_kills,
            Disk::Volatile => self.counts.gateway_cuts + self.counts.sender_cuts,
        }
    }

    /// Kills whoever is to die, looks at what a gateway left, and starts them again.
    fn die(&mut self, death: &Death) -> Result<Tally> {
        let victims = death.senders.iter().flatten().count() + usize::from(death.gateway.is_some());
        if victims > 1 {
            self.counts.together += victims as u32;
        }
        let mut tally = Tally::default();
        let gateway = match death.gateway {
            Some(manner) => Some(self.gateway.die(manner)?),
            None => None,
        };
        let mut senders = Vec::new();
        for (sender, manner) in (0..).zip(&death.senders) {
            if let Some(manner) = manner {
                senders.push((sender, self.senders[sender as usize].die(*manner)?));
            }
        }
        for resumes in senders.iter().map(|(_, resumes)| *resumes) {
            let count =
                if self.outlives(resumes) { &mut self.counts.sender_kills } else { &mut self.counts.sender_cuts };
            *count += 1;
        }
        if let Some(resumes) = gateway {
            let count =
                if self.outlives(resumes) { &mut self.counts.gateway_kills } else { &mut self.counts.gateway_cuts };
            *count += 1;
            let path = journal(self.home.path());
            let seen = if resumes && self.terms.disk == Disk::Volatile { Volatile::cached(&path) } else { path };
            // One that died before its first directory was made left nothing.
            if seen.is_dir() {
                tally = self.check(&seen, false)?;
            }
        }
        thread::sleep(death.dead_for);
        if let Some(resumes) = gateway {
            self.start_gateway(resumes)?;
        }
        for (sender, resumes) in senders {
            self.start_sender(sender, resumes)?;
        }
        Ok(tally)
    }

    /// Whether what was written is there again in the next life.
    fn outlives(&self, resumes: bool) -> bool {
        resumes || self.terms.disk == Disk::Files
    }

    /// Lets the senders come to an end, and then the gateway.
    fn finish(&mut self) -> Result<Option<String>> {
        self.tell_senders(FINISH);
        let patience = if self.terms.ignore.is_some() { PATIENCE_WITHOUT } else { PATIENCE };
        let (mut seen, mut moved) = (0, clock::wall());
        loop {
            let mut left = 0;
            for sender in 0..self.senders.len() {
                match self.senders[sender].ended()? {
                    None => left += 1,
                    Some(ended) if ended.success() => {}
                    Some(ended) => return Ok(Some(format!("sender {sender} ended with {ended}"))),
                }
            }
            if left == 0 {
                break;
            }
            if let Some(ended) = self.gateway.ended()? {
                return Ok(Some(format!("the gateway ended with {ended}")));
            }
            let stored = self.sum(|claim| claim.stored);
            if stored != seen {
                (seen, moved) = (stored, clock::wall());
            }
            if moved.elapsed() > patience {
                // Twice, so that what still moves is seen to.
                for _ in 0..2 {
                    self.tell_senders(EXPLAIN);
                    thread::sleep(Duration::from_secs(1));
                }
                return Ok(Some(format!("nothing was stored for {} s; {left} senders wait", patience.as_secs())));
            }
            thread::sleep(TICK);
        }
        for sender in &mut self.senders {
            sender.process.take().map(|mut process| process.wait()).transpose()?;
        }
        let ended = self.gateway.process.take().map(|mut process| process.stop()).transpose()?;
        let failed = ended.filter(|ended| !ended.success());
        Ok(failed.map(|ended| format!("the gateway ended with {ended}")))
    }

    fn tell_senders(&mut self, line: &str) {
        self.senders.iter_mut().filter_map(|sender| sender.process.as_mut()).for_each(|process| process.tell(line));
    }

    /// Whether somebody ended without having been told to.
    fn trouble(&mut self) -> Result<Option<String>> {
        if let Some(ended) = self.gateway.ended()? {
            return Ok(Some(format!("the gateway ended with {ended}")));
        }
        for (sender, actor) in self.senders.iter_mut().enumerate() {
            if let Some(ended) = actor.ended()? {
                return Ok(Some(format!("sender {sender} ended with {ended}")));
            }
        }
        Ok(None)
    }

    fn check(&mut self, journal: &Path, last: bool) -> Result<Tally> {
        self.counts.checks += 1;
        let claims: Vec<Claims> = self.claims.iter().map(|claims| lock(claims).clone()).collect();
        let lives: Vec<u32> = self.senders.iter().map(|sender| sender.lives).collect();
        let known = Known {
            seed: self.terms.seed,
            streams: self.terms.streams,
            peers: &self.peers,
            claims: &claims,
            lives: &lives,
            retains: self.terms.retain.is_some(),
            last,
        };
        match left::behind(journal) {
            Ok(left) => check::check(&left, &known, &mut self.epochs),
            Err(why) => {
                let complaint = format!("what the gateway left cannot be opened: {why:#}");
                Ok(Tally { damaged: 1, complaint: Some(complaint), ..Tally::default() })
            }
        }
    }

    fn sum(&self, of: fn(&super::model::Claim) -> u64) -> u64 {
        self.claims.iter().map(|claims| lock(claims).values().map(of).sum::<u64>()).sum()
    }

    fn end(self, tally: Tally, trouble: Option<String>) -> Result<Outcome> {
        let mut outcome = Outcome {
            terms: self.terms.clone(),
            counts: self.counts,
            openings: self.senders.iter().map(|sender| sender.lives).sum(),
            pushed: self.sum(|claim| claim.pushed),
            durable: self.sum(|claim| claim.durable),
            stored: self.sum(|claim| claim.stored),
            tally,
            trouble,
            dir: self.home.path().to_owned(),
        };
        drop(self.gateway);
        drop(self.senders);
        let _ = self.relay.stop();
        if outcome.complaint().is_some() && self.terms.ignore.is_none() {
            // For a person to look at.
            outcome.dir = self.home.keep();
            if let Some(trouble) = &mut outcome.trouble {
                let said = fs::read_to_string(outcome.dir.join("log")).unwrap_or_default();
                trouble.extend(said.lines().last().map(|line| format!("; it said: {line}")));
            }
        }
        Ok(outcome)
    }

    fn drive(&mut self, resume: bool) -> Drive {
        Drive {
            disk: self.terms.disk,
            resume: resume && self.terms.disk == Disk::Volatile,
            chance: self.chances.next(),
            slowest_us: self.terms.slowest_sync.as_micros() as u64,
            ignore: self.terms.ignore,
        }
    }

    fn start_gateway(&mut self, resume: bool) -> Result<()> {
        let drive = self.drive(resume);
        let mut arguments = vec!["torture-gateway".to_owned()];
        arguments.extend(drive.arguments());
        arguments.push(format!("--data={}", data(self.home.path()).display()));
        arguments.push(format!("--segment={}", self.terms.segment));
        arguments.extend(self.terms.retain.map(|bytes| format!("--retain={bytes}")));
        arguments.push(format!("--commit-interval-us={}", self.terms.commit_interval.as_micros()));
        let redirect = self.relay.redirector();
        let up = self.gateway.reborn(resume);
        let process = Process::start(&arguments, &self.log, move |line| {
            if line == UP {
                up.store(true, Ordering::Relaxed);
            } else if let Some(address) = line.split(' ').nth(2).and_then(|address| address.parse().ok()) {
                redirect(address);
            }
        })?;
        self.gateway.process = Some(process);
        Ok(())
    }

    fn start_sender(&mut self, sender: u32, resume: bool) -> Result<()> {
        let drive = self.drive(resume);
        let actor = &mut self.senders[sender as usize];
        let mut arguments = vec!["torture-sender".to_owned()];
        arguments.extend(drive.arguments());
        arguments.push(format!("--to={}", self.relay.address()));
        arguments.push(format!("--key={}", key_file(self.home.path(), sender).display()));
        arguments.push(format!("--dir={}", self.home.path().join(format!("sender-{sender}")).display()));
        arguments.push(format!("--seed={}", self.terms.seed));
        arguments.push(format!("--sender={sender}"));
        arguments.push(format!("--life={}", actor.lives));
        arguments.push(format!("--streams={}", self.terms.streams));
        arguments.push(format!("--segment={}", self.terms.segment));
        let claims = Arc::clone(&self.claims[sender as usize]);
        let up = actor.reborn(resume);
        let process = Process::start(&arguments, &self.log, move |line| {
            if line == UP {
                up.store(true, Ordering::Relaxed);
            } else if let Some(said) = Said::parse(line) {
                said.add_to(&mut lock(&claims));
            }
        })?;
        actor.process = Some(process);
        Ok(())
    }
}

impl Actor {
    /// Kills it. Returns whether its next life begins with what this one wrote.
    fn die(&mut self, manner: Manner) -> Result<bool> {
        if let Some(mut process) = self.process.take() {
            process.kill()?;
        }
        // Killed while its store was being made, it is as if it had never been started.
        Ok(if self.up.load(Ordering::Relaxed) { manner == Manner::Kill } else { self.resumed })
    }

    fn reborn(&mut self, resumed: bool) -> Arc<AtomicBool> {
        self.lives += 1;
        self.resumed = resumed;
        self.up = Arc::default();
        Arc::clone(&self.up)
    }

    fn ended(&mut self) -> Result<Option<std::process::ExitStatus>> {
        self.process.as_mut().map_or(Ok(None), Process::ended)
    }
}

fn data(home: &Path) -> PathBuf {
    home.join("data")
}

fn journal(home: &Path) -> PathBuf {
    data(home).join("journal")
}

fn key_file(home: &Path, sender: u32) -> PathBuf {
    home.join(format!("sender-{sender}.key"))
}

fn lock(claims: &Mutex<Claims>) -> MutexGuard<'_, Claims> {
    claims.lock().unwrap_or_else(PoisonError::into_inner)
}
