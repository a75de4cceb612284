//! What must be in the gateway's journal: what senders were told, and what they say they pushed.
use std::collections::BTreeMap;

/// Names one numbering of a stream.
pub(super) type EpochId = [u8; 8];

/// What a sender was told of one epoch. Only ever more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Claim {
    /// The opening that pushed it. Of one that died before it said so, its records tell.
    pub(super) life: Option<u32>,
    /// Records pushed, as far as it said.
    pub(super) pushed: u64,
    /// Below this the outbox has them on disk.
    pub(super) durable: u64,
    /// Below this they are STORED.
    pub(super) stored: u64,
    /// An outbox that was opened again had fewer than were durable.
    pub(super) shrunk_to: Option<u64>,
}

/// All claims of one sender, by stream and epoch.
pub(super) type Claims = BTreeMap<(u32, EpochId), Claim>;

/// One line of a sender: what it was told of one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) stream: u32,
    pub(super) epoch: EpochId,
    pub(super) claim: Claim,
}

impl Said {
    pub(super) fn line(&self) -> String {
        let Claim { life, pushed, durable, stored, shrunk_to: _ } = self.claim;
        let epoch = u64::from_be_bytes(self.epoch);
        let life = life.map_or_else(|| "-".to_owned(), |life| life.to_string());
        format!("{} {epoch:016x} {life} {pushed} {durable} {stored} .", self.stream)
    }

    /// `None` for anything else, such as a line that was cut by the sender's death.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [stream, epoch, life, pushed, durable, stored, "."] = words[..] else { return None };
        let number = |word: &str| word.parse().ok();
        Some(Self {
            stream: stream.parse().ok()?,
            epoch: u64::from_str_radix(epoch, 16).ok()?.to_be_bytes(),
            claim: Claim {
                life: life.parse().ok(),
                pushed: number(pushed)?,
                durable: number(durable)?,
                stored: number(stored)?,
                shrunk_to: None,
            },
        })
    }

    pub(super) fn add_to(&self, claims: &mut Claims) {
        let claim = claims.entry((self.stream, self.epoch)).or_default();
        if self.claim.life.is_none() && self.claim.durable < claim.durable {
            claim.shrunk_to = Some(self.claim.durable);
        }
        claim.life = claim.life.or(self.claim.life);
        claim.pushed = claim.pushed.max(self.claim.pushed);
        claim.durable = claim.durable.max(self.claim.durable);
        claim.stored = claim.stored.max(self.claim.stored);
    }
}

/// Which opening each epoch of each sender's streams belongs to: once known, for ever.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    known: BTreeMap<(u32, u32, EpochId), u32>,
}

impl Epochs {
    /// Notes one. False if the epoch is another opening's, or the opening has another epoch.
    pub(super) fn note(&mut self, sender: u32, stream: u32, epoch: EpochId, life: u32) -> bool {
        let others = self.known.iter().filter(|(known, _)| (known.0, known.1) == (sender, stream) && known.2 != epoch);
        let only = others.map(|(_, other)| *other).all(|other| other != life);
        only && *self.known.entry((sender, stream, epoch)).or_insert(life) == life
    }

    pub(super) fn life(&self, sender: u32, stream: u32, epoch: EpochId) -> Option<u32> {
        self.known.get(&(sender, stream, epoch)).copied()
    }
}

#[cfg(test)]
mod tests;
