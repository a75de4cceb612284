//! Key files and the other forms of a key.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::Exit;

fn device() -> DeviceKey {
    DeviceKey {
        name: "roof".parse().unwrap(),
        peer: PeerId([0x70, 0xb3, 0xd5, 0xff, 0xfe, 0, 0, 1]),
        key_id: 3,
        secret: Secret::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]),
        gateway: Some("gw.example:7433".parse().unwrap()),
    }
}

fn form(device: &DeviceKey, form: Form) -> String {
    let mut out = Vec::new();
    device.write(form, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn read(text: &str, mode: u32) -> Result<DeviceKey, DeviceKeyError> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("roof.key");
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    DeviceKey::read(&file)
}

#[test]
fn a_key_file_reads_back_as_it_was_written() {
    let with = device();
    let without = DeviceKey { gateway: None, ..device() };
    for device in [with, without] {
        assert_eq!(read(&form(&device, Form::Toml), 0o600).unwrap(), device);
    }
}

#[test]
fn constants_are_as_a_compiler_wants_them() {
    assert_eq!(
        form(&device(), Form::Rust),
        "pub const TALLYLINK_PEER_ID: [u8; 8] = [0x70, 0xb3, 0xd5, 0xff, 0xfe, 0x00, 0x00, 0x01];\n\
         pub const TALLYLINK_KEY_ID: u8 = 3;\n\
         pub const TALLYLINK_KEY: [u8; 16] = [0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, \
         0x0c, 0x0d, 0x0e, 0xff];\n"
    );
    assert_eq!(
        form(&device(), Form::C),
        "#include <stdint.h>\n\
         static const uint8_t TALLYLINK_PEER_ID[8] = {0x70, 0xb3, 0xd5, 0xff, 0xfe, 0x00, 0x00, 0x01};\n\
         static const uint8_t TALLYLINK_KEY_ID = 3;\n\
         static const uint8_t TALLYLINK_KEY[16] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, \
         0x0b, 0x0c, 0x0d, 0x0e, 0xff};\n"
    );
}

#[test]
fn the_send_form_makes_the_key_file_and_names_the_gateway() {
    let text = form(&device(), Form::Send);
    assert!(text.starts_with("install -m 600 /dev/stdin roof.key <<'END'\nname = \"roof\"\n"), "{text}");
    assert!(text.ends_with("END\ntallylink send --to gw.example:7433 --key roof.key --stream NAME\n"), "{text}");
}

#[test]
fn a_key_file_that_others_may_read_is_refused() {
    let error = read(&form(&device(), Form::Toml), 0o644).unwrap_err();
    assert_eq!(error.exit(), Exit::Permission);
    assert!(error.to_string().contains("chmod 600"), "{error}");
}

#[test]
fn each_mistake_names_its_field_and_never_the_key() {
    let good = form(&device(), Form::Toml);
    let key = "000102030405060708090a0b0c0d0eff";
    for (from, to, names) in [
        ("peer = \"70b3d5fffe000001\"\n", "", "has no peer; add: peer = \"70b3d5fffe000001\""),
        ("key = ", "kee = ", "unknown field \"kee\""),
        ("70b3d5", "zz", "peer is not well formed"),
        ("key_id = 3", "key_id = 256", "key_id is not well formed"),
        (key, "000102030405060708090a0b0c0d0e", "key is not well formed"),
        ("gw.example:7433", "gw.example", "gateway is not well formed"),
        ("\"roof\"", "\"roof", "line 1: this is not TOML"),
        ("\"\nkey_id", "\nkey_id", "line 2: this is not TOML"),
        ("name = ", "x = \"000102030405060708090a0b0c0d0eff\"\nname = ", "unknown field \"x\""),
    ] {
        let error = read(&good.replacen(from, to, 1), 0o600).unwrap_err();
        assert_eq!(error.exit(), Exit::DeviceKey);
        let (shown, debug) = (error.to_string(), format!("{error:?}"));
        assert!(shown.contains(names), "{shown}");
        assert!(!shown.contains(&key[..30]) && !debug.contains(&key[..30]), "{debug}");
    }
}

#[test]
fn a_file_that_is_no_key_file_at_all_is_refused() {
    assert!(matches!(read(&"#\n".repeat(4000), 0o600), Err(DeviceKeyError::Large(_))));
    assert!(matches!(read("\u{0}", 0o600), Err(DeviceKeyError::Syntax { .. })));
    let missing = DeviceKey::read(Path::new("no-such.key")).unwrap_err();
    assert_eq!(missing.exit(), Exit::DeviceKey);
    assert!(missing.to_string().contains("no-such.key"), "{missing}");
}
