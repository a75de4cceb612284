//! Where each stream's outbox is (storage §10.1).

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;

/// The directory of a stream's outbox in `dir`: the stream's name, with `%` and two hexadecimal digits for every byte that is
/// not a letter, a digit, `-`, `_` or a dot after the first character.
pub(crate) fn dir_of(dir: &Path, stream: &str) -> PathBuf {
    let mut name = String::new();
    for byte in stream.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(name, "%{byte:02X}");
            }
        }
    }
    dir.join(name)
}

/// The streams that have an outbox in `dir`, with its place, by name.
///
/// # Errors
/// The directory cannot be read, or holds no outbox.
pub(crate) fn streams_in(dir: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let failed = |error| Error::NoOutbox { dir: dir.to_owned(), error };
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let stream = entry.file_name().to_str().and_then(stream_of);
        if let Some(stream) = stream.filter(|stream| dir_of(dir, stream) == entry.path())
            && entry.path().join("lock").is_file()
        {
            found.push((stream, entry.path()));
        }
    }
    if found.is_empty() {
        return Err(failed(io::ErrorKind::NotFound.into()));
    }
    found.sort();
    Ok(found)
}

/// The stream whose directory is called that.
pub(crate) fn stream_of(name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{dir_of, stream_of};
    use std::path::Path;

    #[test]
    fn every_name_has_a_directory_of_its_own_and_is_found_again() {
        let names = ["temperature", "a.b", ".", "..", "a/b", "a%2Fb", "Ä", " ", "\0", "%", &"\u{1F300}".repeat(16)];
        let mut dirs: Vec<_> = names.iter().map(|name| dir_of(Path::new("d"), name)).collect();
        for (name, dir) in names.iter().zip(&dirs) {
            assert_eq!(dir.parent(), Some(Path::new("d")), "{name:?}");
            let file = dir.file_name().and_then(|f| f.to_str()).expect("UTF-8");
            assert!(file.len() <= 255 && !file.starts_with('.'));
            assert_eq!(stream_of(file).as_deref(), Some(*name));
        }
        dirs.dedup();
        assert_eq!(dirs.len(), names.len());
        assert_eq!(dir_of(Path::new("d"), "a/b c"), Path::new("d/a%2Fb%20c"));
    }
}
