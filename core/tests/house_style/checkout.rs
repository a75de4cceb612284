//! The text files of the checkout that the test was compiled from.

use std::fs;
use std::path::{Path, PathBuf};

/// What holds no text of ours, wherever it stands. (In a linked worktree, `.git` is a file.)
const SKIPPED: [&str; 5] = [".git", "target", "corpus", "artifacts", "coverage"];

/// Every text file of the project.
pub(crate) struct Checkout {
    /// The folder that holds the workspace's manifest.
    pub(crate) top: PathBuf,
    /// In the order of their paths.
    pub(crate) files: Vec<TextFile>,
}

/// One file and what it says.
pub(crate) struct TextFile {
    /// Relative to the top of the checkout, with `/` between folders.
    pub(crate) path: String,
    /// All of it.
    pub(crate) text: String,
}

impl Checkout {
    /// Reads all files that are UTF-8, lock files apart.
    pub(crate) fn read() -> Self {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = Vec::new();
        read_folder(&top, "", &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { top, files }
    }

    /// The files whose name ends in one of these extensions.
    pub(crate) fn with_extension<'a>(&'a self, extensions: &'a [&str]) -> impl Iterator<Item = &'a TextFile> {
        self.files.iter().filter(move |file| extensions.contains(&file.extension()))
    }

    /// The file at this path, if there is one.
    pub(crate) fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl TextFile {
    /// What follows the last dot of the name; nothing for a name without one.
    pub(crate) fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

fn read_folder(folder: &Path, prefix: &str, into: &mut Vec<TextFile>) {
    for entry in fs::read_dir(folder).expect("the checkout is readable") {
        let entry = entry.expect("the checkout is readable");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().expect("the checkout is readable");
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            read_folder(&entry.path(), &format!("{path}/"), into);
        } else if kind.is_file()
            && name != "Cargo.lock"
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            into.push(TextFile { path, text });
        }
    }
}
