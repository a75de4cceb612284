//! Backups that are restored and outboxes that are copied: what is gone is told and shown, nothing new is swallowed.

use std::fs::{self, File};
use std::path::Path;

use crate::common::Home;
use crate::gateway::{Gateway, add_peer, count, raw, send, status};

const LINES: u32 = 100;

/// The lines that stand for one letter.
fn lines(letter: char) -> Vec<u8> {
    (0..LINES).flat_map(|n| format!("{letter}{n}\n").into_bytes()).collect()
}

fn all(letters: &str) -> Vec<u8> {
    letters.chars().flat_map(lines).collect()
}

fn copy(from: &Path, to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).expect("removed");
    }
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else if entry.file_type().expect("a type").is_file() {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// A gateway with a log, and a sender with an outbox.
struct World {
    home: Home,
    gateway: Option<Gateway>,
}

impl World {
    fn new() -> Self {
        let home = Home::new();
        add_peer(&home, "roof");
        let mut world = Self { home, gateway: None };
        world.start();
        world
    }

    fn start(&mut self) {
        let log = File::options().create(true).append(true).open(self.home.path("log")).expect("a log");
        self.gateway = Some(Gateway::with_log(&self.home, &["--listen", "127.0.0.1:0"], log));
    }

    fn stop(&mut self) {
        assert_eq!(self.gateway.take().map(Gateway::stop), Some(0));
    }

    fn send(&self, outbox: &str, letter: char) {
        let address = &self.gateway.as_ref().expect("a gateway").address;
        let args = ["--to", address, "--key", "roof.key", "--outbox", outbox, "--stream", "s"];
        let ran = send(&self.home, &args, &lines(letter));
        assert_eq!(ran.code, 0, "{}", ran.err);
    }

    /// Copies the gateway's data while it is stopped.
    fn back_up_gateway(&mut self) {
        self.stop();
        copy(&self.home.path("data"), &self.home.path("data.old"));
        self.start();
    }

    fn restore_gateway(&mut self) {
        self.stop();
        copy(&self.home.path("data.old"), &self.home.path("data"));
        self.start();
    }

    fn copy_outbox(&self, from: &str, to: &str) {
        copy(&self.home.path(from), &self.home.path(to));
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.path("log")).expect("a log")
    }

    /// Reports of an older journal and of an outbox that differs, as this run of the gateway counts them.
    fn reports(&self) -> (u64, u64) {
        let status = status(&self.home);
        (count(&status, "rollbacks", "journal_older"), count(&status, "rollbacks", "outbox_differs"))
    }

    /// How many records `query` shows as missing, and why.
    fn missing(&self) -> (u64, Vec<String>) {
        let shown = self.home.ok(&["query", "--stream", "s", "--json"]);
        let gaps = shown.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
        let gaps: Vec<_> = gaps.filter(|shown| shown.get("missing").is_some()).collect();
        let reasons = gaps.iter().map(|gap| gap["missing"].as_str().unwrap_or("").to_owned()).collect();
        let number = |gap: &serde_json::Value, key: &str| gap[key].as_u64().expect("a number");
        (gaps.iter().map(|gap| number(gap, "end") - number(gap, "index")).sum(), reasons)
    }
}

#[test]
fn without_a_rollback_nothing_is_reported() {
    let mut world = World::new();
    for letter in "abcdef".chars() {
        world.send("box", letter);
        world.stop();
        world.start();
    }
    world.send("box", 'g');
    assert!(raw(&world.home, "s") == all("abcdefg"));
    assert_eq!(world.reports(), (0, 0));
    assert!(!world.log().contains("outbox") && !world.log().contains("older"), "{}", world.log());
}

#[test]
fn an_outbox_restored_from_an_older_copy_is_reported_and_everything_new_arrives() {
    let world = World::new();
    world.send("box", 'a');
    world.copy_outbox("box", "box.old");
    world.send("box", 'b');
    world.copy_outbox("box.old", "box");
    world.send("box", 'c');
    assert!(raw(&world.home, "s") == all("abc"));
    assert_eq!((world.reports(), world.missing()), ((0, 1), (0, vec![])));
    assert!(world.log().contains("the outbox was restored from an older copy, or copied"), "{}", world.log());
    world.send("box", 'd');
    assert!(raw(&world.home, "s") == all("abcd"));
    assert_eq!(world.reports(), (0, 1), "told once");
}

#[test]
fn an_outbox_restored_with_records_that_were_delivered_meanwhile_repeats_none() {
    let world = World::new();
    let away = ["--to", "127.0.0.1:9", "--key", "roof.key", "--outbox", "box", "--stream", "s", "--timeout", "100ms"];
    assert_eq!(send(&world.home, &away, &lines('a')).code, 12);
    world.copy_outbox("box", "box.old");
    world.send("box", 'b');
    world.copy_outbox("box.old", "box");
    world.send("box", 'c');
    assert!(raw(&world.home, "s") == all("abc"));
    assert_eq!((world.reports(), world.missing()), ((0, 1), (0, vec![])));
}

#[test]
fn an_outbox_and_its_copy_that_both_go_on_lose_nothing_and_are_reported() {
    let world = World::new();
    world.send("box", 'a');
    world.copy_outbox("box", "box2");
    for (outbox, letter) in [("box", 'b'), ("box2", 'c'), ("box", 'd'), ("box2", 'e')] {
        world.send(outbox, letter);
    }
    assert!(raw(&world.home, "s") == all("abcde"));
    let (older, differs) = world.reports();
    assert!(older == 0 && differs >= 3, "{older} {differs}");
    assert_eq!(world.missing(), (0, vec![]));
    assert!(world.log().contains("the outbox was restored from an older copy, or copied"), "{}", world.log());
}

#[test]
fn a_gateway_restored_from_an_older_copy_shows_what_it_lost() {
    let mut world = World::new();
    world.send("box", 'a');
    world.back_up_gateway();
    world.send("box", 'b');
    world.restore_gateway();
    world.send("box", 'c');
    assert!(raw(&world.home, "s") == all("ac"));
    assert_eq!((world.reports(), world.missing()), ((1, 0), (u64::from(LINES), vec!["before_first".into()])));
    assert!(world.log().contains("this journal is older than its sender"), "{}", world.log());
    world.send("box", 'd');
    assert_eq!((world.reports(), world.missing().0), ((1, 0), u64::from(LINES)), "told once");
    assert!(raw(&world.home, "s") == all("acd"));
}

#[test]
fn a_gateway_that_lost_everything_shows_what_its_sender_last_delivered_as_missing() {
    let mut world = World::new();
    world.send("box", 'a');
    world.stop();
    fs::remove_dir_all(world.home.path("data/journal")).expect("removed");
    world.start();
    world.send("box", 'b');
    assert!(raw(&world.home, "s") == all("b"));
    assert_eq!((world.reports(), world.missing().0), ((1, 0), u64::from(LINES)));
}

#[test]
fn both_restored_the_gateway_to_the_older_state_shows_what_is_gone() {
    let mut world = World::new();
    world.send("box", 'a');
    world.back_up_gateway();
    world.send("box", 'b');
    world.copy_outbox("box", "box.old");
    world.send("box", 'c');
    world.copy_outbox("box.old", "box");
    world.restore_gateway();
    world.send("box", 'd');
    assert!(raw(&world.home, "s") == all("ad"));
    // Of c neither of them knows any more.
    assert_eq!((world.reports(), world.missing().0), ((1, 0), u64::from(LINES)));
    assert!(world.log().contains("this journal is older than its sender"), "{}", world.log());
}

#[test]
fn both_restored_the_outbox_to_the_older_state_is_reported() {
    let mut world = World::new();
    world.send("box", 'a');
    world.copy_outbox("box", "box.old");
    world.send("box", 'b');
    world.back_up_gateway();
    world.send("box", 'c');
    world.copy_outbox("box.old", "box");
    world.restore_gateway();
    world.send("box", 'd');
    assert!(raw(&world.home, "s") == all("abd"));
    assert_eq!((world.reports(), world.missing()), ((0, 1), (0, vec![])));
}
