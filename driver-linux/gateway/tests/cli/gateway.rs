//! A gateway process of a test's own.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use assert_cmd::cargo::CommandCargoExt;
use serde_json::Value;

use crate::common::{Home, Ran};

/// Killed when it goes out of scope.
pub(crate) struct Gateway {
    process: Child,
    pub(crate) address: String,
}

impl Gateway {
    /// Starts one on a home's data directory and waits until it listens.
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::with_log(home, args, log(home))
    }

    /// The same with its messages going to `log`.
    pub(crate) fn with_log(home: &Home, args: &[&str], log: impl Into<Stdio>) -> Self {
        let args: Vec<_> = ["serve"].iter().chain(args).collect();
        let mut process = program(home)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("a gateway");
        let mut ready = String::new();
        let out = process.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut ready).expect("a line");
        let address = ready.split_whitespace().nth(2).unwrap_or_else(|| panic!("not ready: {ready:?}")).to_owned();
        Self { process, address }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// What its HTTP endpoint answers: the status and the body.
    pub(crate) fn http(&self, path: &str) -> (u16, String) {
        let port = self.address.rsplit_once(':').expect("a port").1;
        http(&format!("127.0.0.1:{port}"), path)
    }

    /// The exit code, once it ends by itself.
    pub(crate) fn ended(mut self) -> i32 {
        let mut code = None;
        until("the gateway ends", || {
            code = self.process.try_wait().expect("a process");
            code.is_some()
        });
        code.and_then(|code| code.code()).unwrap_or(-1)
    }

    pub(crate) fn on_loopback(home: &Home) -> Self {
        Self::start(home, &["--listen", "127.0.0.1:0"])
    }

    /// Bytes of its memory that are in use.
    pub(crate) fn memory(&self) -> u64 {
        let told = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("its status");
        let line = told.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
        let kib: u64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
        kib << 10
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        self.process.kill().expect("killed");
        self.process.wait().expect("ended");
    }

    /// SIGTERM; the exit code comes back.
    pub(crate) fn stop(mut self) -> i32 {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
        self.process.wait().expect("ended").code().unwrap_or(-1)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where the messages of a home's gateways go.
fn log(home: &Home) -> File {
    OpenOptions::new().create(true).append(true).open(home.path("gateway.log")).expect("a log")
}

/// One GET.
pub(crate) fn http(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("an HTTP endpoint");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, body.to_owned())
}

/// The program without this process's settings, for processes that run beside the test.
pub(crate) fn program(home: &Home) -> Command {
    let mut command = Command::cargo_bin("tallylink").expect("the built program");
    command.current_dir(home.path(".")).env_clear().env("TALLYLINK_DATA", home.path("data"));
    command
}

/// Adds a peer; its key file is NAME.key.
pub(crate) fn add_peer(home: &Home, name: &str) {
    home.ok(&["peer", "add", name, "--out", &format!("{name}.key")]);
}

/// Sends a text's lines and comes back with how that ended.
pub(crate) fn send(home: &Home, args: &[&str], input: &[u8]) -> Ran {
    let mut process = program(home)
        .arg("send")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a sender");
    let mut stdin = process.stdin.take().expect("its input");
    // A sender that refuses reads nothing.
    let _ = stdin.write_all(input);
    drop(stdin);
    let output = process.wait_with_output().expect("ended");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// The payloads of a stream.
pub(crate) fn raw(home: &Home, stream: &str) -> Vec<u8> {
    home.command(&["query", "--stream", stream, "--format", "raw"]).output().expect("a run").stdout
}

pub(crate) fn status(home: &Home) -> Value {
    serde_json::from_str(&home.ok(&["status", "--json"])).expect("JSON")
}

pub(crate) fn count(status: &Value, subject: &str, name: &str) -> u64 {
    status["counters"][subject][name].as_u64().unwrap_or_else(|| panic!("no counter {subject} {name}"))
}

/// Waits until something holds that another process brings about.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    const TRIES: u32 = 2000;
    for _ in 0..TRIES {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("it never came about that {what}");
}
