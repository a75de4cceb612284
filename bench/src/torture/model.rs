//! What must be in the gateway's journal: what senders were told, and what they say they pushed.
use std::collections::BTreeMap;

/// Names one numbering of a stream.
pub(super) type EpochId = [u8; 8];

/// What a claim is about: an epoch of a stream, by what the sender knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// A sender with an outbox knows its epochs, those of earlier openings too.
    Epoch(EpochId),
    /// One without knows that it has one.
    Life(u32),
}

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
}

/// All claims of one sender, by stream.
pub(super) type Claims = BTreeMap<(u32, Key), Claim>;

/// One line of a sender: what it was told of one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) stream: u32,
    pub(super) epoch: Option<EpochId>,
    pub(super) claim: Claim,
}

impl Said {
    pub(super) fn line(&self) -> String {
        let Claim { life, pushed, durable, stored } = self.claim;
        let epoch = self.epoch.map_or_else(|| "-".into(), |epoch| format!("{:016x}", u64::from_be_bytes(epoch)));
        let life = life.map_or_else(|| "-".into(), |life| life.to_string());
        format!("{} {epoch} {life} {pushed} {durable} {stored} .", self.stream)
    }

    /// `None` for anything else, such as a line that was cut by the sender's death.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [stream, epoch, life, pushed, durable, stored, "."] = words[..] else { return None };
        let number = |word: &str| word.parse().ok();
        let epoch = (epoch != "-").then_some(epoch);
        let epoch = epoch.map(|epoch| u64::from_str_radix(epoch, 16).map(u64::to_be_bytes));
        Some(Self {
            stream: stream.parse().ok()?,
            epoch: epoch.transpose().ok()?,
            claim: Claim {
                life: life.parse().ok(),
                pushed: number(pushed)?,
                durable: number(durable)?,
                stored: number(stored)?,
            },
        })
    }

    pub(super) fn add_to(&self, claims: &mut Claims) {
        let key = match (self.epoch, self.claim.life) {
            (Some(epoch), _) => Key::Epoch(epoch),
            (None, life) => Key::Life(life.unwrap_or_default()),
        };
        let claim = claims.entry((self.stream, key)).or_default();
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
        let only = self.epoch(sender, stream, life).is_none_or(|known| known == epoch);
        only && *self.known.entry((sender, stream, epoch)).or_insert(life) == life
    }

    pub(super) fn life(&self, sender: u32, stream: u32, epoch: EpochId) -> Option<u32> {
        self.known.get(&(sender, stream, epoch)).copied()
    }

    pub(super) fn epoch(&self, sender: u32, stream: u32, life: u32) -> Option<EpochId> {
        let of_stream = self.known.iter().filter(|(known, _)| (known.0, known.1) == (sender, stream));
        of_stream.filter(|(_, known)| **known == life).map(|(known, _)| known.2).next()
    }
}

#[cfg(test)]
mod tests;
