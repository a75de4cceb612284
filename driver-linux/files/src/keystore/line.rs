//! One line of the key store, to and from bytes.

use zeroize::Zeroizing;

use crate::{PeerId, PeerName, Secret, hex};

/// Tells a peer's keys apart.
pub type KeyId = u8;

/// A key and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The peer's id.
    pub peer: PeerId,
    /// The peer's name.
    pub name: PeerName,
    /// Which of its keys.
    pub key_id: KeyId,
    /// The key.
    pub secret: Secret,
    /// When it was made, in seconds since 1970 by the clock of then.
    pub created: u64,
}

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Key(Entry),
    Gone { peer: PeerId, key_id: KeyId },
    Comment,
}

/// Why a line says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    /// It ends in a checksum of something else.
    #[error("its checksum does not match")]
    Checksum,
    /// One bad bit has made another byte of the line's end; the lines on either side of it are read all the same.
    #[error("its end is damaged")]
    End,
    /// It carries a right checksum, but not what this version writes.
    #[error("it was written by another version")]
    Foreign,
}

/// Bytes of the longest line that is ever written, its end included.
pub(super) const LONGEST: usize = 4 + 17 + 4 + 33 + 21 + PeerName::LONGEST + 1 + 8 + 1;

/// Bytes of a key's line with a short name.
pub(super) const USUAL: usize = 80;

/// Appends a key's line.
pub(super) fn push_key(out: &mut Zeroizing<Vec<u8>>, entry: &Entry) {
    let begin = out.len();
    out.extend_from_slice(b"key ");
    hex::push(out, &entry.peer.0);
    out.extend_from_slice(format!(" {} ", entry.key_id).as_bytes());
    hex::push(out, entry.secret.expose());
    out.extend_from_slice(format!(" {} {}", entry.created, entry.name).as_bytes());
    finish(out, begin);
}

/// Appends the line that takes a key away.
pub(super) fn push_gone(out: &mut Zeroizing<Vec<u8>>, peer: PeerId, key_id: KeyId) {
    let begin = out.len();
    out.extend_from_slice(format!("gone {peer} {key_id}").as_bytes());
    finish(out, begin);
}

/// What a line says; `None` stands for one longer than any that was ever written.
pub(super) fn decode(text: Option<&[u8]>) -> Result<Line, BadLine> {
    let text = text.ok_or(BadLine::Checksum)?;
    // An empty line has no byte that could be made the beginning of a comment, so it is one.
    if matches!(text.first(), None | Some(b'#')) {
        return Ok(Line::Comment);
    }
    let (body, sum) = text.split_last_chunk::<9>().ok_or(BadLine::Checksum)?;
    let (b' ', sum) = (sum[0], &sum[1..]) else {
        return Err(BadLine::Checksum);
    };
    // One spelling only: a fault in a digit's case is a fault.
    let written = hex::decode(sum).filter(|_| !sum.iter().any(u8::is_ascii_uppercase));
    if written.map(u32::from_be_bytes) != Some(crc_fast::crc32_iscsi(body)) {
        return Err(BadLine::Checksum);
    }
    said(body).ok_or(BadLine::Foreign)
}

/// Where in `text` a line begins, the last one that does, if the end of the line before it has one bad bit: without a
/// second look both would be lost, or a comment would swallow a key.
pub(super) fn joined_at(text: &[u8]) -> Option<usize> {
    let begins = |rest: &[u8]| [&b"key "[..], b"gone ", b"#"].iter().any(|word| rest.starts_with(word));
    (1..text.len()).rev().find(|&at| {
        is_broken_end(text[at - 1]) && begins(&text[at..]) && (is_said(&text[at..]) || is_said(&text[..at - 1]))
    })
}

/// Whether the last byte of `text` should be a line's end.
pub(super) fn ends_broken(text: &[u8]) -> bool {
    text.split_last().is_some_and(|(end, line)| is_broken_end(*end) && is_said(line))
}

fn is_broken_end(byte: u8) -> bool {
    (byte ^ b'\n').is_power_of_two()
}

fn is_said(text: &[u8]) -> bool {
    matches!(decode(Some(text)), Ok(Line::Key(_) | Line::Gone { .. }))
}

fn said(body: &[u8]) -> Option<Line> {
    let fields: Vec<&str> = str::from_utf8(body).ok()?.split(' ').collect();
    let peer = |digits: &str| hex::decode(digits.as_bytes()).map(PeerId);
    match *fields.as_slice() {
        ["key", id, key_id, key, created, name] => Some(Line::Key(Entry {
            peer: peer(id)?,
            name: name.parse().ok()?,
            key_id: key_id.parse().ok()?,
            secret: Secret::new(hex::decode(key.as_bytes())?),
            created: created.parse().ok()?,
        })),
        ["gone", id, key_id] => Some(Line::Gone { peer: peer(id)?, key_id: key_id.parse().ok()? }),
        _ => None,
    }
}

fn finish(out: &mut Vec<u8>, begin: usize) {
    let sum = crc_fast::crc32_iscsi(&out[begin..]);
    out.extend_from_slice(format!(" {sum:08x}\n").as_bytes());
}
