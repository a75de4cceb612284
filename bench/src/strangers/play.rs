//! The attacks, one after the other, on one journal.
use std::{fs, net::SocketAddr};

use anyhow::{Context, Result, ensure};
use tallylink_core::wire::packet::kind;

use super::{
    attack::Attack,
    gateway::{Gateway, Home},
    noise::Noise,
    relay::Relay,
};

/// Records of the session that is replayed.
const RECORDS: u64 = 20_000;
/// How often a capture is replayed.
const REPLAYS: u64 = 3;
/// `send` ends with this code when not everything is stored.
const NOT_STORED: i32 = tallylink_gateway::Exit::NotStored as i32;

/// Plays all attacks, with `datagrams` random datagrams.
pub(super) fn all(datagrams: u64, seed: u64) -> Result<Vec<Attack>> {
    let home = Home::new()?;
    home.add_peer("roof")?;
    let mut stage = Stage { gateway: Gateway::start(&home)?, home, attacks: Vec::new(), stored: Vec::new() };

    let lines: Vec<u8> = (0..RECORDS).flat_map(|number| format!("{number}\n").into_bytes()).collect();
    let session = stage.send(&lines)?;

    let hellos = datagrams / 100;
    let forged = stage.with_wrong_key()?;
    stage.repeat("wrong key", &["forged"], &forged, hellos)?;
    let strange = stage.of_unknown_peer()?;
    stage.repeat("unknown peer", &["unknown_peer"], &strange, hellos)?;

    stage.replay("replay", &["duplicate"], &session)?;
    stage.send(b"a session later\n")?;
    stage.replay("replay, a session later", &["unknown_label", "ended_session"], &session)?;
    stage.restart()?;
    stage.replay("replay, a restart later", &["unknown_label", "other_boot"], &session)?;

    let session = stage.send(&lines)?;
    let mut noise = Noise::new(seed, &session)?;
    let expected = &["malformed", "forged", "unknown_label", "unknown_peer"];
    stage.attack("random", expected, datagrams, |datagram| noise.fill(datagram))?;

    // Whoever holds the key is served as before.
    stage.send(b"served\n")?;
    ensure!(stage.journal()? == stage.stored, "the last records are not in the journal");
    Ok(stage.attacks)
}

/// A gateway, and what it must hold.
struct Stage {
    gateway: Gateway,
    home: Home,
    attacks: Vec<Attack>,
    stored: Vec<u8>,
}

impl Stage {
    /// Sends lines as the peer and returns the capture of it.
    fn send(&mut self, lines: &[u8]) -> Result<Vec<Vec<u8>>> {
        let relay = Relay::to(self.gateway.address)?;
        self.home.ok(&["send", "--to", &relay.address.to_string(), "--key", "roof.key", "--stream", "s"], lines)?;
        self.stored.extend_from_slice(lines);
        relay.capture()
    }

    /// The capture of a sender whose key is not the peer's.
    fn with_wrong_key(&self) -> Result<Vec<Vec<u8>>> {
        let text = fs::read_to_string(self.home.path("roof.key"))?;
        let (before, digits) = text.split_once("\nkey = \"").context("no key in the key file")?;
        let other = if digits.starts_with('0') { '1' } else { '0' };
        fs::copy(self.home.path("roof.key"), self.home.path("wrong.key"))?;
        fs::write(self.home.path("wrong.key"), format!("{before}\nkey = \"{other}{}", &digits[1..]))?;
        self.refused(&self.home, "wrong.key")
    }

    /// The capture of a sender that the gateway does not know.
    fn of_unknown_peer(&self) -> Result<Vec<Vec<u8>>> {
        let elsewhere = Home::new()?;
        elsewhere.add_peer("stranger")?;
        self.refused(&elsewhere, "stranger.key")
    }

    fn refused(&self, home: &Home, key: &str) -> Result<Vec<Vec<u8>>> {
        let relay = Relay::to(self.gateway.address)?;
        let to: SocketAddr = relay.address;
        let arguments = ["send", "--to", &to.to_string(), "--stream", "s", "--timeout", "300ms", "--key", key];
        let code = home.run(&arguments, b"not for you\n")?.status.code();
        ensure!(code == Some(NOT_STORED), "a sender with {key} ended with {code:?}");
        relay.capture()
    }

    /// Throws captured datagrams in their order, over and over, until the gateway has seen `count`.
    fn repeat(
        &mut self,
        name: &'static str,
        expected: &'static [&'static str],
        capture: &[Vec<u8>],
        count: u64,
    ) -> Result<()> {
        let mut datagrams = capture.iter().cycle();
        self.attack(name, expected, count, |datagram| {
            datagram.clear();
            datagram.extend(datagrams.next().into_iter().flatten());
        })
    }

    /// Replays the capture of a whole session of the peer.
    fn replay(&mut self, name: &'static str, expected: &'static [&'static str], capture: &[Vec<u8>]) -> Result<()> {
        self.repeat(name, expected, capture, REPLAYS * capture.len() as u64)?;
        let hellos = capture.iter().filter(|datagram| datagram.starts_with(&kind::HELLO)).count() as u64;
        if let Some(attack) = self.attacks.last_mut() {
            attack.genuine_hellos = REPLAYS * hellos;
        }
        Ok(())
    }

    fn attack(
        &mut self,
        name: &'static str,
        expected: &'static [&'static str],
        count: u64,
        next: impl FnMut(&mut Vec<u8>),
    ) -> Result<()> {
        let mut attack = Attack::run(name, expected, &self.gateway, count, next)?;
        attack.journal_changed = self.journal()? != self.stored;
        self.attacks.push(attack);
        Ok(())
    }

    /// The payloads in the journal, read by a process of its own.
    fn journal(&self) -> Result<Vec<u8>> {
        self.home.ok(&["query", "--stream", "s", "--format", "raw"], b"")
    }

    /// Ends the gateway and starts it again on the same data.
    fn restart(&mut self) -> Result<()> {
        self.gateway.stop()?;
        self.gateway = Gateway::start(&self.home)?;
        Ok(())
    }
}
