//! Answering `tallylink status` on a socket in the data directory.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tracing::warn;

use super::report::Reporter;
use crate::Error;
use crate::config::Config;
use crate::status::Report;

/// How long one asker may take to read the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long nothing is accepted after that failed, as it does when the process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// The socket.
#[derive(Debug)]
pub(super) struct Server {
    listener: UnixListener,
    path: PathBuf,
}

impl Server {
    /// Binds the socket. The journal is locked by now: a socket that is there is nobody's.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn bind(config: &Config) -> Result<Self, Error> {
        let path = config.status_socket_path();
        let bound = match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => UnixListener::bind(&path),
        };
        let owners = |listener| fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map(|()| listener);
        let listener = bound.and_then(owners).map_err(|error| Error::Status { socket: path.clone(), error })?;
        Ok(Self { listener, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Answers, one asker after the other, as long as the process lives.
    pub(super) fn run(self, reporter: &Reporter) {
        let mut accepts = true;
        for asker in self.listener.incoming() {
            let accepted = asker.is_ok();
            // Without an answer, the asker is told so by the end of the connection.
            let answered = asker.and_then(|asker| reporter.report().map_or(Ok(()), |report| answer(asker, &report)));
            if let Err(why) = answered
                && (accepted || accepts)
            {
                warn!("status was asked for, but could not be told: {why}");
            }
            if !accepted {
                // Whoever asked still waits, so that it would fail again at once.
                thread::sleep(PAUSE);
            }
            accepts = accepted;
        }
    }
}

fn answer(mut asker: UnixStream, report: &Report) -> io::Result<()> {
    asker.set_write_timeout(Some(PATIENCE))?;
    asker.write_all(&serde_json::to_vec(report)?)
}
