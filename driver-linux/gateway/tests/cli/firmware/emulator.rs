//! The firmware's image, and a board that QEMU emulates to run it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use defmt_decoder::{DecodeError, Table};

use crate::common::Home;
use crate::gateway::until;
use crate::strace::have;

/// What `driver-smoltcp/firmware/build.sh` ends with where there is no compiler.
const NO_COMPILER: i32 = 77;

/// A board.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Machine {
    /// Cortex-M3, LAN9118.
    Mps2An385,
    /// Cortex-M4, LAN9118.
    Mps2An386,
    /// Cortex-M3, Stellaris Ethernet.
    Lm3s6965,
}

impl Machine {
    const fn name(self) -> &'static str {
        match self {
            Self::Mps2An385 => "mps2-an385",
            Self::Mps2An386 => "mps2-an386",
            Self::Lm3s6965 => "lm3s6965evb",
        }
    }
}

/// The firmware for a board.
pub(crate) struct Image {
    machine: Machine,
    path: PathBuf,
}

/// Builds it; `None` where this machine has no emulator or no compiler for it.
pub(crate) fn image(machine: Machine) -> Option<Image> {
    // One at a time: tests run in threads of one process, and cargo waits for a lock of its own anyway.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _one = BUILDING.lock();
    let emulator = Command::new("qemu-system-arm").arg("--version").stdout(Stdio::null()).status();
    if !have("qemu-system-arm", emulator.is_ok_and(|ran| ran.success())) {
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../driver-smoltcp/firmware/build.sh");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware");
    let built = Command::new(script)
        .arg(machine.name())
        .env("CARGO_TARGET_DIR", target)
        // This is run by a cargo, whose settings are not those of the firmware.
        .env_remove("CARGO")
        .env_remove("RUSTC")
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&built.stderr);
    let compiler = built.status.code() != Some(NO_COMPILER);
    if !have("a compiler for Cortex-M", compiler) {
        return None;
    }
    assert!(built.status.success(), "{said}");
    let path = PathBuf::from(String::from_utf8(built.stdout).expect("UTF-8").trim());
    Some(Image { machine, path })
}

/// A provisioned device.
pub(crate) struct Device {
    peer: String,
    key: String,
}

impl Device {
    /// Adds it to a home's gateway. The constants are those that firmware is given.
    pub(crate) fn add(home: &Home, name: &str) -> Self {
        let constants = home.ok(&["peer", "add", name, "--format", "rust"]);
        let hex = |name: &str| {
            let line = constants.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{constants}"));
            line.split("0x").skip(1).filter_map(|byte| byte.get(..2)).collect::<String>()
        };
        Self { peer: hex("TALLYLINK_PEER_ID:"), key: hex("TALLYLINK_KEY:") }
    }

    /// Starts a board; the gateway or what stands before it has this port. `boots` is what a board counts in flash.
    pub(crate) fn boot(&self, image: &Image, port: u16, boots: u64, arguments: &[String]) -> Running {
        let fixed = [
            "firmware".to_owned(),
            format!("gateway=10.0.2.2:{port}"),
            format!("peer={}", self.peer),
            format!("key={}", self.key),
            format!("boots={boots}"),
        ];
        let words: String = fixed.iter().chain(arguments).map(|word| format!(",arg={word}")).collect();
        let mut process = Command::new("qemu-system-arm")
            .args(["-M", image.machine.name(), "-nographic", "-monitor", "none", "-serial", "none", "-nic", "user"])
            .args(["-semihosting-config", &format!("enable=on,target=native{words}"), "-kernel"])
            .arg(&image.path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("an emulator");
        let elf = fs::read(&image.path).expect("the image");
        let table = Table::parse(&elf).expect("a table of messages").expect("messages in the image");
        let log = Arc::new(Mutex::new(Vec::new()));
        let frames = process.stdout.take().expect("its output");
        let decoder = thread::spawn({
            let log = Arc::clone(&log);
            move || decode(&table, frames, &log)
        });
        Running { process, decoder: Some(decoder), log }
    }
}

/// A board that is on.
pub(crate) struct Running {
    process: Child,
    decoder: Option<JoinHandle<()>>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Running {
    /// Waits until the firmware has ended well; its messages come back.
    pub(crate) fn ended(mut self) -> Vec<String> {
        let mut ended = None;
        for _ in 0..12 {
            // Each of these waits is bounded; an emulator on a busy machine takes its time.
            ended = ended.or_else(|| self.wait());
        }
        let log = self.messages();
        assert!(ended.is_some_and(|status| status.success()), "{ended:?}: {log:?}");
        log
    }

    fn wait(&mut self) -> Option<std::process::ExitStatus> {
        for _ in 0..2000 {
            if let Some(status) = self.process.try_wait().expect("a process") {
                return Some(status);
            }
            thread::sleep(std::time::Duration::from_millis(10));
        }
        None
    }

    fn messages(&mut self) -> Vec<String> {
        if let Some(decoder) = self.decoder.take() {
            // The output ends with the process.
            let _ = self.process.kill();
            let _ = self.process.wait();
            decoder.join().expect("decoded");
        }
        self.log.lock().expect("the log").clone()
    }

    /// Pulls the plug; the messages until then come back. The firmware must have been running until now.
    pub(crate) fn cut_off(mut self) -> Vec<String> {
        until("it is off", || {
            let running = self.process.try_wait().expect("a process").is_none();
            assert!(running, "it ended by itself: {:?}", self.messages());
            self.process.kill().is_ok()
        });
        self.messages()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Turns defmt's frames into lines.
fn decode(table: &Table, mut frames: impl Read, log: &Mutex<Vec<String>>) {
    let mut decoder = table.new_stream_decoder();
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = frames.read(&mut bytes) {
        decoder.received(&bytes[..read]);
        loop {
            match decoder.decode() {
                Ok(frame) => log.lock().expect("the log").push(frame.display_message().to_string()),
                Err(DecodeError::UnexpectedEof) => break,
                Err(DecodeError::Malformed) => panic!("not a frame of defmt"),
            }
        }
    }
}
