//! Records that flow through a gateway while something happens to it, and that all of them arrive once.

use std::io::Write;
use std::process::{Child, ChildStdin, Stdio};

use crate::common::Home;
use crate::gateway::{Gateway, add_peer, program, raw, until};

/// Bytes of a record, so that a segment of the least size fills soon.
const RECORD: usize = 1000;

/// Killed when it goes out of scope.
struct Sender(Child);

impl Drop for Sender {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A gateway, a sender, and what that was given.
pub(crate) struct Torrent {
    pub(crate) home: Home,
    gateway: Option<Gateway>,
    sender: Sender,
    input: Option<ChildStdin>,
    given: Vec<u8>,
}

impl Torrent {
    /// On a data directory of its own, the segments as small as they get.
    pub(crate) fn new() -> Self {
        Self::on(Home::new(), "")
    }

    pub(crate) fn on(home: Home, config: &str) -> Self {
        add_peer(&home, "roof");
        home.file("tallylink.toml", &format!("segment = \"1 MiB\"\n{config}"));
        let gateway = Gateway::start(&home, &["--config", "tallylink.toml", "--listen", "127.0.0.1:0"]);
        let mut sender = program(&home)
            .args(["send", "--to", &gateway.address, "--key", "roof.key", "--stream", "s"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a sender");
        let input = sender.stdin.take();
        Self { home, gateway: Some(gateway), sender: Sender(sender), input, given: Vec::new() }
    }

    pub(crate) fn gateway(&self) -> &Gateway {
        self.gateway.as_ref().expect("a gateway")
    }

    /// Gives the sender so many records more.
    pub(crate) fn give(&mut self, records: usize) {
        let input = self.input.as_mut().expect("its input");
        for _ in 0..records {
            let record = format!("{:0width$}\n", self.given.len() / RECORD, width = RECORD - 1);
            input.write_all(record.as_bytes()).expect("taken");
            self.given.extend_from_slice(record.as_bytes());
        }
        input.flush().expect("taken");
    }

    /// Waits until everything given is stored.
    pub(crate) fn all_stored(&self) {
        until("everything is stored", || raw(&self.home, "s").len() >= self.given.len());
    }

    pub(crate) fn ready(&self) -> bool {
        self.gateway().http("/readyz").0 == 200
    }

    /// The gateway's exit code, once it ends by itself. Another takes its place.
    pub(crate) fn gateway_ends(&mut self) -> i32 {
        let gateway = self.gateway.take().expect("a gateway");
        let address = gateway.address.clone();
        let code = gateway.ended();
        self.gateway = Some(Gateway::start(&self.home, &["--config", "tallylink.toml", "--listen", &address]));
        code
    }

    /// No more is given: the sender ends well, what is stored is what was given, and the gateway is ready and stops.
    pub(crate) fn expect_exact_end(mut self) {
        drop(self.input.take());
        assert!(self.sender.0.wait().expect("ended").success());
        let stored = raw(&self.home, "s");
        assert!(stored == self.given, "{} bytes stored of {}", stored.len(), self.given.len());
        let gateway = self.gateway.take().expect("a gateway");
        until("the gateway is ready", || gateway.http("/readyz") == (200, "ready\n".to_owned()));
        assert_eq!(gateway.stop(), 0);
    }

    /// No more is given: the sender ends well. Back comes what is stored, which retention has cut.
    pub(crate) fn end(mut self) -> (Vec<u8>, Vec<u8>) {
        drop(self.input.take());
        assert!(self.sender.0.wait().expect("ended").success());
        (raw(&self.home, "s"), std::mem::take(&mut self.given))
    }
}
