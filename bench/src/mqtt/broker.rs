//! mosquitto, on loopback, with a database of its own.
use std::{
    fs::{self, File},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};

/// Killed when it goes out of scope.
pub(super) struct Broker {
    process: Child,
    pub(super) port: u16,
}

impl Broker {
    /// Starts one and waits until it takes connections.
    pub(super) fn start(program: &Path, home: &Path, log: &File) -> Result<Self> {
        let data = home.join("broker");
        fs::create_dir(&data)?;
        // Free a moment ago; nobody else takes ports here.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let file = home.join("mosquitto.conf");
        // It leaves its own user alone when it is not root; as root it would change to one that cannot write here.
        let settings = format!(
            "listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {}/\n\
             autosave_interval 1\nmax_queued_messages 0\nmax_inflight_messages 100\nset_tcp_nodelay true\nuser root\n\
             log_dest stderr\nlog_type error\n",
            data.display()
        );
        fs::write(&file, settings)?;
        let mut command = Command::new(program);
        command.arg("-c").arg(&file).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
        let process = command.spawn().with_context(|| {
            format!(
                "cannot start {}; `apt-get install mosquitto` brings it, or name it with --mosquitto",
                program.display()
            )
        })?;
        let broker = Self { process, port };
        for _ in 0..500 {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Ok(broker);
            }
            thread::sleep(Duration::from_millis(10));
        }
        bail!("the broker does not listen")
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
