//! This program once more, in one of its roles: a process of its own.
mod conversation;

use std::{
    env,
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    thread::{self, JoinHandle},
};

use anyhow::{Context, Result, anyhow};
use rustix::process::{Pid, Signal, kill_process};

pub(crate) use conversation::Conversation;

/// A command as the last argument of another, which then runs it: in its directory and environment.
pub(crate) fn inside(mut outer: Command, command: &Command) -> Command {
    outer.arg(command.get_program()).args(command.get_args());
    outer.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(path) = env::var_os("PATH") {
        outer.env("PATH", path);
    }
    if let Some(directory) = command.get_current_dir() {
        outer.current_dir(directory);
    }
    outer
}

/// A running process. It is killed when nobody has it any more.
pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    listener: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts it; `listen` gets every whole line that it says.
    pub(crate) fn start(
        arguments: &[String],
        log: &File,
        mut listen: impl FnMut(&str) + Send + 'static,
    ) -> Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.env_remove("TALLYLINK_CONFIG").env_remove("TALLYLINK_DATA").args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log.try_clone()?);
        let mut child = command.spawn().context("cannot start another process")?;
        let stdin = child.stdin.take();
        let out = child.stdout.take();
        let listener = thread::Builder::new().name("listener".into()).spawn(move || {
            let lines = out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok);
            lines.for_each(|line| listen(&line));
        })?;
        Ok(Self { child, stdin, listener: Some(listener) })
    }

    /// SIGKILL: no code of it runs after this. Returns when all that it said was heard.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.wait().map(drop)
    }

    /// SIGTERM.
    pub(crate) fn stop(&mut self) -> Result<ExitStatus> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("a process id")?;
        kill_process(pid, Signal::TERM)?;
        self.wait()
    }

    /// Tells it something.
    pub(crate) fn tell(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            // One that cannot be told has ended, which its exit says better.
            let _ = writeln!(stdin, "{line}");
        }
    }

    /// Tells it nothing any more.
    pub(crate) fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// What the system calls it.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did by itself.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    pub(crate) fn wait(&mut self) -> Result<ExitStatus> {
        let status = self.child.wait()?;
        match self.listener.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(anyhow!("a listener panicked")),
            _ => Ok(status),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
