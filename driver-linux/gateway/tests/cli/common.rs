//! Running the built program on a data directory of its own.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

/// A data directory that vanishes with it.
pub(crate) struct Home {
    dir: TempDir,
}

/// How a run ended.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file in the temporary directory");
        path
    }

    /// The key store's file.
    pub(crate) fn peers(&self) -> PathBuf {
        self.path("data/keys/peers")
    }

    /// The program, with its arguments and nothing of this process's environment that concerns it.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::cargo_bin("tallylink").expect("the built program");
        command.current_dir(self.dir.path());
        command.env_clear().env("TALLYLINK_DATA", self.path("data")).args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Runs and expects success; standard output comes back.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        ran.out
    }

    /// Runs and expects one sentence and a code; the sentence comes back.
    pub(crate) fn refused(&self, args: &[&str], code: i32) -> String {
        let ran = self.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.starts_with("tallylink: ") && ran.err.ends_with('\n'), "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        ran.err
    }
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().expect("a run");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }
}

/// Whether only its owner has rights to a file.
pub(crate) fn is_private(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).expect("metadata").permissions().mode() & 0o777 == 0o600
}
