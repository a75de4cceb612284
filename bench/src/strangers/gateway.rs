//! The gateway under attack, and the other commands of `tallylink`, as processes of their own.
use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::SocketAddr,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Output, Stdio},
};

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser as _};
use rustix::process::{Pid, Signal, kill_process};
use tallylink_gateway::{cli::Cli, status};
use tempfile::TempDir;

/// This program as `tallylink`: so the gateway is built with the bench and in the same way.
#[derive(Args)]
pub(crate) struct Tallylink {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Tallylink {
    /// Runs one command of `tallylink`; ends as that would.
    pub(crate) fn run(&self) -> ExitCode {
        let name = OsString::from("tallylink");
        // Only this bench gives the arguments: what is wrong with them needs no good sentence.
        let cli = Cli::parse_from([&name].into_iter().chain(&self.arguments));
        match cli.run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("tallylink: {error}");
                error.exit().into()
            }
        }
    }
}

/// A data directory and key files, which vanish with it.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(tempfile::tempdir()?))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Provisions a peer; its key file is `NAME.key`.
    pub(crate) fn add_peer(&self, name: &str) -> Result<()> {
        self.ok(&["peer", "add", name, "--out", &format!("{name}.key")], b"").map(drop)
    }

    /// Runs a command that must succeed, and returns its output.
    pub(crate) fn ok(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>> {
        let output = self.run(arguments, input)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`tallylink {}` failed: {said}", arguments.join(" "));
        Ok(output.stdout)
    }

    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Output> {
        let mut process = self.command(arguments)?.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        if let Some(mut stdin) = process.stdin.take() {
            // One that refuses its arguments reads nothing; its exit code tells.
            let _ = stdin.write_all(input);
        }
        Ok(process.wait_with_output()?)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(env::current_exe()?);
        command.current_dir(self.0.path()).env_clear().env("TALLYLINK_DATA", self.path("data"));
        command.args(["tallylink", "--"]).args(arguments).stdout(Stdio::piped());
        Ok(command)
    }
}

/// A running gateway. Killed when it goes out of scope.
pub(crate) struct Gateway {
    process: Child,
    pub(crate) address: SocketAddr,
    status: PathBuf,
}

impl Gateway {
    /// Starts one on a home's data and waits until it listens.
    pub(crate) fn start(home: &Home) -> Result<Self> {
        Self::start_with(home, home.command(&["serve", "--listen", "127.0.0.1:0"])?)
    }

    /// The same with a command of the caller's.
    pub(crate) fn start_with(home: &Home, mut serve: Command) -> Result<Self> {
        let log = home.path("gateway.log");
        let mut process = serve.stdin(Stdio::null()).stderr(File::create(&log)?).spawn()?;
        let mut ready = String::new();
        let told = process.stdout.take().map(|out| BufReader::new(out).read_line(&mut ready));
        let address = ready.split_whitespace().nth(2).and_then(|address| address.parse().ok());
        let gateway = address.map(|address| (address, home.path("data/status.sock")));
        match (told, gateway) {
            (Some(Ok(_)), Some((address, status))) => Ok(Self { process, address, status }),
            _ => {
                // Fails only if it has ended.
                let _ = process.kill();
                process.wait()?;
                anyhow::bail!("the gateway did not start: {}", fs::read_to_string(&log)?)
            }
        }
    }

    /// SIGTERM, and waits.
    pub(crate) fn stop(&mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.process), Signal::TERM)?;
        let ended = self.process.wait()?;
        ensure!(ended.success(), "the gateway ended with {ended}");
        Ok(())
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Result<Option<i32>> {
        Ok(self.process.try_wait()?.map(|ended| ended.code().unwrap_or(-1)))
    }

    /// What it tells of itself.
    pub(crate) fn status(&self) -> Result<status::Report> {
        let mut text = String::new();
        UnixStream::connect(&self.status).context("the gateway is gone")?.read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Bytes of its memory that are in use.
    pub(crate) fn memory(&self) -> Result<u64> {
        resident(Path::new(&format!("/proc/{}/status", self.process.id())))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn resident(status: &Path) -> Result<u64> {
    let told = fs::read_to_string(status)?;
    let line = told.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    Ok(kib.context("the kernel does not tell how much memory is in use")? << 10)
}
