//! Escapes, literally.

fn made(form: fn(&mut Vec<u8>, &[u8]), bytes: &[u8]) -> String {
    let mut out = Vec::new();
    form(&mut out, bytes);
    String::from_utf8(out).expect("a line of text")
}

#[test]
fn text_keeps_what_a_line_can_show_and_escapes_the_rest() {
    for (bytes, shown) in [
        (&b""[..], ""),
        (b"21.5 C\n", r"21.5 C\n"),
        (b"C:\\x41", r"C:\\x41"),
        ("20 °C\u{1b}[0m".as_bytes(), r"20 °C\x1b[0m"),
        (b"caf\xe9\xff\x00", r"caf\xe9\xff\x00"),
        ("\u{85}".as_bytes(), r"\xc2\x85"),
        ("é\\".as_bytes(), r"é\\"),
    ] {
        assert_eq!(made(super::text, bytes), shown);
    }
}

#[test]
fn text_can_be_read_back_byte_by_byte() {
    let all: Vec<u8> = (0..=255).chain("é𝄞\\x41".bytes()).collect();
    let shown = made(super::text, &all);
    assert!(!shown.chars().any(char::is_control));
    assert_eq!(read_back(&shown), all);
}

#[test]
fn a_word_has_no_blanks() {
    assert_eq!(made(super::word, b"room 1/\t"), r"room\x201/\t");
}

#[test]
fn json_strings_are_read_back_by_a_json_parser() {
    let all: String = ('\0'..='\u{ff}').chain(['𝄞', '\u{2028}']).collect();
    let made = made(|out, bytes| super::json(out, std::str::from_utf8(bytes).expect("UTF-8")), all.as_bytes());
    assert_eq!(serde_json::from_str::<String>(&made).expect("JSON"), all);
}

#[test]
fn csv_fields_are_quoted_where_they_must_be() {
    for (field, shown) in [("a", "a"), ("", ""), ("a,b", "\"a,b\""), ("say \"x\"\n", "\"say \"\"x\"\"\n\"")] {
        assert_eq!(made(super::csv, field.as_bytes()), shown);
    }
}

fn read_back(shown: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = shown.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            bytes.push(first);
            continue;
        }
        let (kind, after) = rest.split_first().expect("an escape");
        rest = after;
        match kind {
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            b'\\' => bytes.push(b'\\'),
            _ => {
                let digits = std::str::from_utf8(&rest[..2]).expect("two digits");
                bytes.push(u8::from_str_radix(digits, 16).expect("two digits"));
                rest = &rest[2..];
            }
        }
    }
    bytes
}
