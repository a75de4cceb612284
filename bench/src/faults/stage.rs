//! A gateway, a sender with an outbox, its neighbour, and what the sender was given.
use std::{
    fs,
    io::Write as _,
    net::SocketAddr,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use rustix::process::Pid;

use super::{
    grid::{Fault, What, Whose},
    neighbour::{self, Neighbour},
    shim::Clocks,
    world::{GATEWAY, GATEWAY_BESIDE, World},
};
use crate::{
    clock, many, numbered,
    process::inside,
    strangers::gateway::{Gateway, Home},
    tmpfs::Tmpfs,
};

const LISTEN: &str = "0.0.0.0:7433";
/// The log says enough to fill any disk.
const CONFIG: &str = "segment = \"1 MiB\"\nlog = \"trace\"\n";
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Stage {
    pub(super) gateway: Option<Gateway>,
    pub(super) sender: Option<Sender>,
    pub(super) neighbour: Option<Neighbour>,
    pub(super) clocks: Option<Clocks>,
    pub(super) world: World,
    pub(super) given: Vec<u8>,
    whose: Whose,
    what: What,
    _log: Option<Tmpfs>,
    pub(super) home: Home,
}

/// Killed when it goes out of scope.
pub(super) struct Sender {
    process: Child,
    /// What it is still to read. A thread hands it over, for a sender that stands still reads nothing.
    input: Option<mpsc::Sender<Vec<u8>>>,
}

impl Drop for Sender {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Sender {
    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// Whether it has ended well; `None` while it has not ended.
    pub(super) fn ended(&mut self) -> Result<Option<bool>> {
        Ok(self.process.try_wait()?.map(|ended| ended.success()))
    }

    pub(super) fn no_more(&mut self) {
        self.input = None;
    }
}

impl Stage {
    pub(super) fn set(fault: &Fault) -> Result<Self> {
        let (world, home) = (World::new()?, Home::new()?);
        home.add_peer("roof")?;
        let beside = many::provision(&home, 1)?.pop().context("a peer")?;
        fs::write(home.path("tallylink.toml"), CONFIG)?;
        let clocks = matches!(fault.what, What::Jump(..)).then(|| Clocks::new(&home)).transpose()?;
        let fills = matches!(fault.what, What::LogFills);
        let log = fills.then(|| Tmpfs::mount(home.path("log"), "64k")).transpose()?;
        let (whose, what) = (fault.whose, fault.what.clone());
        let (given, gateway, sender, neighbour) = (Vec::new(), None, None, None);
        let mut stage = Self { gateway, sender, neighbour, clocks, world, given, whose, what, _log: log, home };
        stage.start_gateway()?;
        stage.start_sender()?;
        let to = SocketAddr::new(GATEWAY_BESIDE.parse()?, stage.gateway()?.address.port()).to_string();
        stage.neighbour = Some(Neighbour::start(&stage.world.neighbour, to, &beside)?);
        Ok(stage)
    }

    pub(super) fn start_gateway(&mut self) -> Result<()> {
        let serve = self.home.command(&["serve", "--config", "tallylink.toml", "--listen", LISTEN])?;
        let serve = self.dressed(serve, self.whose != Whose::Sender);
        self.gateway = Some(self.world.gateway.within(|| Gateway::start_with(&self.home, serve))?);
        Ok(())
    }

    /// Starts it, or starts it again on the same input and outbox.
    pub(super) fn start_sender(&mut self) -> Result<()> {
        let to = format!("{GATEWAY}:{}", self.gateway()?.address.port());
        let arguments = ["send", "--to", &to, "--key", "roof.key", "--stream", "s", "--outbox", "outbox", "--resume"];
        let mut send = self.dressed(self.home.command(&arguments)?, self.whose == Whose::Sender);
        send.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(fs::File::create(self.home.path("sender.log"))?);
        let mut process = self.world.victim.within(|| Ok(send.spawn()?))?;
        let (input, pieces) = mpsc::channel::<Vec<u8>>();
        if let Some(mut stdin) = process.stdin.take() {
            // It ends with its input, or with the sender.
            thread::spawn(move || pieces.iter().try_for_each(|piece| stdin.write_all(&piece)));
        }
        input.send(self.given.clone())?;
        self.sender = Some(Sender { process, input: Some(input) });
        Ok(())
    }

    /// A command as the fault has it from its start on.
    fn dressed(&self, mut command: Command, struck: bool) -> Command {
        let shell = |redirected: &str| {
            let mut shell = Command::new("bash");
            shell.args(["-c", &format!("exec \"$@\" 2{redirected}"), "bash"]);
            shell
        };
        let outer = match &self.what {
            _ if !struck => return command,
            What::Jump(..) => {
                self.clocks.iter().for_each(|clocks| clocks.preload(&mut command));
                return command;
            }
            What::Booted => booted(),
            What::LogFull => shell(">/dev/full"),
            What::LogUnread => shell("> >(true)"),
            What::LogFills => shell(">>log/log"),
            _ => return command,
        };
        let mut dressed = inside(outer, &command);
        dressed.stdout(Stdio::piped());
        dressed
    }

    pub(super) fn gateway(&mut self) -> Result<&mut Gateway> {
        self.gateway.as_mut().context("no gateway runs")
    }

    pub(super) fn sender(&mut self) -> Result<&mut Sender> {
        self.sender.as_mut().context("no sender runs")
    }

    /// The process that is struck.
    pub(super) fn struck(&mut self) -> Result<Pid> {
        if self.whose == Whose::Sender { Ok(self.sender()?.pid()) } else { Ok(self.gateway()?.pid()) }
    }

    pub(super) fn give(&mut self, records: usize) -> Result<()> {
        let first = self.given.len() / numbered::RECORD;
        let piece: Vec<u8> = (first..first + records).flat_map(numbered::record).collect();
        self.given.extend_from_slice(&piece);
        if let Some(Sender { input: Some(input), .. }) = &self.sender {
            input.send(piece)?;
        }
        Ok(())
    }

    /// Waits until everything that was given is stored.
    pub(super) fn wait(&self) -> Result<()> {
        let since = clock::wall();
        while self.stored()?.len() < self.given.len() {
            ensure!(since.elapsed() < PATIENCE, "records are not stored before the fault");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    pub(super) fn stored(&self) -> Result<Vec<u8>> {
        Ok(self.home.run(&["query", "--stream", "s", "--format", "raw"], b"")?.stdout)
    }

    /// What is stored of the neighbour's records.
    pub(super) fn stored_beside(&self) -> Result<Vec<u8>> {
        Ok(self.home.run(&["query", "--stream", neighbour::STREAM, "--format", "raw"], b"")?.stdout)
    }
}

/// unshare, so that the monotonic clock begins a second before the process.
fn booted() -> Command {
    let up = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic).tv_sec;
    let mut unshare = Command::new("unshare");
    unshare.args(["-T", &format!("--monotonic={}", 1 - up), &format!("--boottime={}", 1 - up)]);
    unshare
}
