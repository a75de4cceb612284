//! Someone elsewhere, who sees what the sender sends: replays old packets of it from another address, and tells it lies about
//! the path.
use std::{collections::VecDeque, time::Duration};

use super::{
    Script, addresses,
    counters::Counters,
    icmp,
    ip::{self, Header, Which},
    script::Forgery,
};
use crate::transport::side::End;

/// Copies that are kept.
const KEPT: usize = 64;
/// A copy is at least this old when it is replayed: the original has arrived by then.
const OLD: Duration = Duration::from_secs(1);

pub(super) struct Elsewhere {
    replay: Option<Every>,
    forgery: Option<(Every, Forgery)>,
    /// One copy every so often, the oldest first.
    kept: VecDeque<(Duration, Vec<u8>)>,
    /// The sender's last packet, as it was at its own side of the translator.
    last: Vec<u8>,
    lies: usize,
}

/// Something that is done again and again.
struct Every {
    next: Duration,
    period: Duration,
}

/// A packet that neither end sent.
pub(super) struct Injected {
    pub(super) to: End,
    pub(super) packet: Vec<u8>,
}

impl Elsewhere {
    pub(super) fn new(script: &Script) -> Self {
        let every = |period| Every { next: period, period };
        Self {
            replay: script.replay_every.map(every),
            forgery: script.forgery.clone().map(|forgery| (every(forgery.every), forgery)),
            kept: VecDeque::new(),
            last: Vec::new(),
            lies: 0,
        }
    }

    /// Sees a packet that the sender sent.
    pub(super) fn see(&mut self, now: Duration, packet: &[u8]) {
        if self.forgery.is_some() {
            self.last.clear();
            self.last.extend_from_slice(packet);
        }
        let Some(replay) = &self.replay else {
            return;
        };
        let due = self.kept.back().is_none_or(|(at, _)| *at + replay.period / 2 <= now);
        if due && self.kept.len() < KEPT {
            self.kept.push_back((now, packet.to_vec()));
        }
    }

    /// When it sends next.
    pub(super) fn next(&self) -> Option<Duration> {
        let replay = self.replay.as_ref().map(|every| every.next);
        let forgery = self.forgery.as_ref().map(|(every, _)| every.next);
        replay.into_iter().chain(forgery).min()
    }

    /// What it sends now.
    pub(super) fn inject(&mut self, now: Duration, counters: &mut Counters) -> Option<Injected> {
        if self.replay.as_mut().is_some_and(|every| every.due(now))
            && let Some(packet) = self.replay(now)
        {
            counters.replayed += 1;
            return Some(Injected { to: End::Receiver, packet });
        }
        if self.forgery.as_mut().is_some_and(|(every, _)| every.due(now))
            && let Some(packet) = self.lie()
        {
            counters.forged += 1;
            return Some(Injected { to: End::Sender, packet });
        }
        None
    }

    fn replay(&mut self, now: Duration) -> Option<Vec<u8>> {
        let old = self.kept.front().is_some_and(|(at, _)| *at + OLD <= now);
        let (_, mut packet) = old.then(|| self.kept.pop_front()).flatten()?;
        let source = Header::parse(&packet)?.source;
        ip::readdress(&mut packet, Which::Source, addresses::elsewhere(source));
        Some(packet)
    }

    fn lie(&mut self) -> Option<Vec<u8>> {
        let (_, forgery) = self.forgery.as_ref()?;
        let mtu = *forgery.mtus.get(self.lies % forgery.mtus.len().max(1))?;
        let source = Header::parse(&self.last)?.source;
        // The sender knows itself by its inner address only.
        let inner = addresses::sender(source);
        ip::readdress(&mut self.last, Which::Source, inner);
        self.lies += 1;
        icmp::too_big(&self.last, mtu, addresses::elsewhere(source), inner)
    }
}

impl Every {
    fn due(&mut self, now: Duration) -> bool {
        let due = self.next <= now;
        if due {
            self.next += self.period;
        }
        due
    }
}
