//! Calls of the system that fail or take long because a test says so.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::Home;
use crate::gateway::{Gateway, program};

/// Whether a test that needs something of the machine can run. Where it cannot, that is said past the test harness,
/// which would keep it to itself, and on a CI machine it is a failure.
pub(crate) fn have(what: &str, there: bool) -> bool {
    if !there {
        let said = format!("\nNOT TESTED: {what} is missing on this machine\n\n");
        io::stderr().write_all(said.as_bytes()).expect("standard error");
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{what} is missing, and this is a CI machine");
    }
    there
}

pub(crate) fn have_strace() -> bool {
    let runs = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok_and(|ran| ran.success());
    have("strace", runs)
}

/// strace on a running gateway. It lets go when it goes out of scope: then the disk is well again.
pub(crate) struct Injection {
    strace: Child,
    log: PathBuf,
}

impl Injection {
    /// What to inject, as strace has it: `fdatasync:error=EIO:when=2`. Counts are of each thread, from now on.
    pub(crate) fn into(home: &Home, gateway: &Gateway, inject: &[&str]) -> Self {
        let log = home.path("strace.log");
        let mut command = Command::new("strace");
        command.args(["-f", "-p", &gateway.pid().to_string(), "-o"]).arg(&log).args(traced(inject));
        let mut strace = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("strace");
        let mut said = String::new();
        BufReader::new(strace.stderr.take().expect("its messages")).read_line(&mut said).expect("a line");
        assert!(said.contains("attached"), "{said}");
        Self { strace, log }
    }

    /// The calls that have returned so far, a line each.
    pub(crate) fn returned(&self) -> Vec<String> {
        let log = fs::read_to_string(&self.log).expect("strace's log");
        log.lines().filter(|line| line.contains(" = ")).map(str::to_owned).collect()
    }
}

impl Drop for Injection {
    fn drop(&mut self) {
        // It detaches at SIGINT; that it has ended already says that the gateway has.
        let _ = kill_process(Pid::from_child(&self.strace), Signal::INT);
        let _ = self.strace.wait();
    }
}

/// Runs a gateway with failing calls from its first on, until it ends; or, where it starts all the same, until then.
/// Back come its exit code, or none if it had to be stopped, and its messages.
pub(crate) fn start_with(home: &Home, inject: &[&str]) -> (Option<i32>, String) {
    let log = home.path("start.log");
    let mut command = Command::new("strace");
    // -D: the gateway is this process's own child, and strace its grandchild.
    command.args(["-D", "-f", "-o", "/dev/null"]).args(traced(inject));
    let serve = program(home);
    // An emulator of another processor may stand before the program.
    command.arg(serve.get_program()).args(serve.get_args()).args(["serve", "--listen", "127.0.0.1:0"]);
    command.current_dir(home.path(".")).env("TALLYLINK_DATA", home.path("data"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log).expect("a log"));
    let mut child = command.spawn().expect("strace");
    let mut ready = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut ready).expect("readable");
    if !ready.is_empty() {
        kill_process(Pid::from_child(&child), Signal::TERM).expect("a signal");
    }
    let code = child.wait().expect("ended").code();
    (code.filter(|_| ready.is_empty()), fs::read_to_string(log).expect("its messages"))
}

fn traced(inject: &[&str]) -> Vec<String> {
    let calls: Vec<_> = inject.iter().filter_map(|one| one.split(':').next()).collect();
    let trace = ["-e".to_owned(), format!("trace={}", calls.join(","))];
    trace.into_iter().chain(inject.iter().flat_map(|one| ["-e".to_owned(), format!("inject={one}")])).collect()
}
