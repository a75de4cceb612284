//! A key is shown where it is made, and nowhere else: not in logs, metrics, JSON, sentences, panics or what lies on the disk beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use crate::common::{Home, Ran};
use crate::gateway::{Gateway, add_peer, program, send};

/// A key as the key file has it, and every way in which its bytes may be written.
struct Key {
    digits: String,
    spellings: Vec<Vec<u8>>,
}

impl Key {
    fn of(file: &Path) -> Self {
        let text = fs::read_to_string(file).expect("a key file");
        let (_, rest) = text.split_once("\nkey = \"").expect("a key");
        let digits = rest.split('"').next().expect("digits").to_owned();
        let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("digits"));
        let bytes: Vec<u8> = pairs.map(|pair| u8::from_str_radix(pair, 16).expect("a byte")).collect();
        assert_eq!(bytes.len(), 16);
        let decimal: Vec<String> = bytes.iter().map(u8::to_string).collect();
        let spellings = vec![
            digits.clone().into_bytes(),
            digits.to_uppercase().into_bytes(),
            decimal.join(", ").into_bytes(),
            decimal.join(",").into_bytes(),
            bytes,
        ];
        Self { digits, spellings }
    }

    /// Half of it is too much already.
    #[track_caller]
    fn is_not_in(&self, what: &str, told: &[u8]) {
        for spelling in &self.spellings {
            for half in [&spelling[..spelling.len() / 2], &spelling[spelling.len() / 2..]] {
                let found = told.windows(half.len()).any(|part| part.eq_ignore_ascii_case(half));
                assert!(!found, "a key is in {what}");
            }
        }
    }

    #[track_caller]
    fn is_not_said(&self, what: &str, ran: &Ran) {
        self.is_not_in(what, ran.out.as_bytes());
        self.is_not_in(what, ran.err.as_bytes());
    }
}

/// Every file of a directory, but for what lies in a directory of keys.
fn files(dir: &Path, each: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_owned();
        match fs::symlink_metadata(&path).expect("metadata").file_type() {
            kind if kind.is_dir() && name != "keys" => files(&path, each),
            kind if kind.is_file() && path.extension().is_none_or(|end| end != "key") => each(&path),
            _ => {}
        }
    }
}

#[test]
fn keys_are_in_no_log_metric_json_or_file() {
    let home = Home::new();
    home.file("tallylink.toml", "log = \"trace\"\n");
    add_peer(&home, "roof");
    add_peer(&home, "cellar");
    let keys = [Key::of(&home.path("roof.key")), Key::of(&home.path("cellar.key"))];
    let gateway = Gateway::start(&home, &["--config", "tallylink.toml", "--listen", "127.0.0.1:0"]);
    let to = gateway.address.clone();
    let mut said = vec![
        (
            "send",
            send(&home, &["--to", &to, "--key", "roof.key", "--stream", "s", "--config", "tallylink.toml"], b"1\n2\n"),
        ),
        ("send --json", send(&home, &["--to", &to, "--key", "cellar.key", "--stream", "s", "--json"], b"1\n")),
        (
            "send, durable",
            send(&home, &["--to", &to, "--key", "roof.key", "--stream", "d", "--outbox", "outbox"], b"1\n"),
        ),
    ];
    // A key that is rotated away and one that is removed are still nobody's business.
    for args in [
        &["peer", "list"][..],
        &["peer", "list", "--json"],
        &["peer", "remove", "cellar"],
        &["status"],
        &["status", "--json"],
        &["config"],
        &["check"],
        &["check", "--json"],
        &["query", "--stream", "s"],
        &["query", "--stream", "s", "--format", "json"],
        &["outbox", "--help"],
    ] {
        said.push((args[0], home.run(args)));
    }
    // A sender whose key is gone by now.
    said.push((
        "send, removed",
        send(&home, &["--to", &to, "--key", "cellar.key", "--stream", "s", "--timeout", "1s"], b"1\n"),
    ));
    for path in ["/metrics", "/readyz", "/livez", "/"] {
        let told = gateway.http(path).1;
        keys.iter().for_each(|key| key.is_not_in(path, told.as_bytes()));
    }
    gateway.stop();
    for (what, ran) in &said {
        keys.iter().for_each(|key| key.is_not_said(what, ran));
    }
    assert_eq!(said[0].1.code, 0, "{}", said[0].1.err);
    let mut looked = 0;
    files(&home.path("."), &mut |path| {
        let mut bytes = fs::read(path).expect("readable");
        // What was only reserved is left out.
        bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
        keys.iter().for_each(|key| key.is_not_in(&path.display().to_string(), &bytes));
        looked += 1;
    });
    assert!(looked >= 3, "the log, the configuration and the journal");
}

/// Whoever reports a mistake in a key file must not give the key away with it.
#[test]
fn a_mistake_in_a_key_file_is_named_without_the_key() {
    let home = Home::new();
    add_peer(&home, "roof");
    let key = Key::of(&home.path("roof.key"));
    let whole = fs::read_to_string(home.path("roof.key")).expect("a key file");
    let quoted = format!("\"{}\"", key.digits);
    let wrong = [
        whole.replace(&quoted, &format!("\"{}0\"", key.digits)),
        whole.replace(&quoted, &format!("\"{}x\"", &key.digits[..31])),
        whole.replace(&quoted, &key.digits),
        whole.replace(&quoted, &format!("\"{}", key.digits)),
        whole.replace("key = ", "kee = "),
        format!("{whole}{}\n", key.digits),
        format!("{whole}key = {quoted}\n"),
    ];
    for (number, text) in wrong.iter().enumerate() {
        assert_ne!(text, &whole, "mistake {number}");
        let path = home.file("wrong.key", text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its mode");
        let ran = send(&home, &["--to", "127.0.0.1:9", "--key", "wrong.key", "--stream", "s", "--timeout", "1s"], b"");
        assert!(ran.code != 0, "mistake {number}: {}", ran.err);
        key.is_not_said(&format!("what is said of mistake {number}: {}", ran.err), &ran);
    }
    // A damaged line of the key store, too.
    let peers = fs::read_to_string(home.peers()).expect("the key store");
    fs::write(home.peers(), peers.replace(" roof ", " r00f ")).expect("written");
    for args in [&["peer", "list"][..], &["peer", "list", "--json"], &["check"], &["peer", "add", "b"]] {
        let mut ran = home.run(args);
        if args[1..].first() == Some(&"add") {
            // What is added is shown; the damaged line is not.
            ran.out.clear();
        }
        key.is_not_said(&args.join(" "), &ran);
    }
}

/// A panic and its backtrace show arguments of nobody: types that hold keys hide them.
#[test]
fn a_sender_that_dies_says_nothing_of_its_key() {
    let home = Home::new();
    add_peer(&home, "roof");
    let key = Key::of(&home.path("roof.key"));
    // Its standard output is closed, which ends it in the middle of what it says.
    let mut command = program(&home);
    command.args(["send", "--to", "127.0.0.1:9", "--key", "roof.key", "--stream", "s", "--timeout", "1s", "--json"]);
    command.env("RUST_BACKTRACE", "full").stdin(Stdio::null()).stdout(Stdio::null());
    let ended = command.output().expect("a run");
    key.is_not_in("what it says at its end", &ended.stderr);
    let told = format!("{:?}", tallylink_gateway::Secret::new([0x5a; 16]));
    assert!(!told.contains("5a") && !told.contains("90"), "{told}");
}
