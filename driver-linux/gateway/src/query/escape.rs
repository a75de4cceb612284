//! Payloads inside lines: every form can be read back to the same bytes.

use crate::hex;

/// Appends bytes to a line of text: printable UTF-8 as it is; a backslash, controls and other bytes escaped.
pub(super) fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    each_run(
        bytes,
        |byte| byte == b'\\',
        out,
        |out, byte| match byte {
            b'\\' => out.extend_from_slice(br"\\"),
            b'\n' => out.extend_from_slice(br"\n"),
            b'\r' => out.extend_from_slice(br"\r"),
            b'\t' => out.extend_from_slice(br"\t"),
            byte => {
                out.extend_from_slice(br"\x");
                hex::push(out, &[byte]);
            }
        },
    );
}

/// Appends a word to a line of text: as [`text`], and blanks escaped too.
pub(super) fn word(out: &mut Vec<u8>, bytes: &[u8]) {
    for (i, part) in bytes.split(|byte| *byte == b' ').enumerate() {
        if i > 0 {
            out.extend_from_slice(br"\x20");
        }
        text(out, part);
    }
}

/// Appends a JSON string (RFC 8259 §7) with its quotes.
pub(crate) fn json(out: &mut Vec<u8>, utf8: &str) {
    out.push(b'"');
    let mut rest = utf8.as_bytes();
    while let Some(at) = rest.iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\' | 0x7f)) {
        let (plain, from) = rest.split_at(at);
        out.extend_from_slice(plain);
        match from[0] {
            b'"' => out.extend_from_slice(br#"\""#),
            b'\\' => out.extend_from_slice(br"\\"),
            b'\n' => out.extend_from_slice(br"\n"),
            b'\r' => out.extend_from_slice(br"\r"),
            b'\t' => out.extend_from_slice(br"\t"),
            byte => {
                out.extend_from_slice(br"\u00");
                hex::push(out, &[byte]);
            }
        }
        rest = &from[1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends a CSV field (RFC 4180 §2), quoted where it must be.
pub(super) fn csv(out: &mut Vec<u8>, field: &[u8]) {
    let plain = |byte: &u8| !matches!(byte, b'"' | b',' | b'\n' | b'\r' | b' ');
    if field.iter().all(plain) {
        out.extend_from_slice(field);
        return;
    }
    out.push(b'"');
    for (i, part) in field.split(|byte| *byte == b'"').enumerate() {
        if i > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(part);
    }
    out.push(b'"');
}

/// Copies runs of printable text; every other byte, and those that `special` names, go to `escape`.
fn each_run(bytes: &[u8], special: impl Fn(u8) -> bool, out: &mut Vec<u8>, escape: impl Fn(&mut Vec<u8>, u8)) {
    let mut rest = bytes;
    // Plain ASCII, by far the most, without looking at characters.
    loop {
        let plain = rest.iter().position(|byte| !matches!(byte, 0x20..0x7f) || special(*byte)).unwrap_or(rest.len());
        out.extend_from_slice(&rest[..plain]);
        rest = &rest[plain..];
        match rest.first() {
            None => return,
            Some(byte) if byte.is_ascii() => {
                escape(out, *byte);
                rest = &rest[1..];
            }
            Some(_) => break,
        }
    }
    for chunk in rest.utf8_chunks() {
        for character in chunk.valid().chars() {
            let mut buffer = [0; 4];
            let encoded = character.encode_utf8(&mut buffer).as_bytes();
            let odd = character.is_control() || encoded.len() == 1 && special(encoded[0]);
            if !odd {
                out.extend_from_slice(encoded);
            } else {
                encoded.iter().for_each(|byte| escape(out, *byte));
            }
        }
        chunk.invalid().iter().for_each(|byte| escape(out, *byte));
    }
}

#[cfg(test)]
mod tests;
