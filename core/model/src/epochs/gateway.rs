//! The gateway's memory of a stream's epochs, and what it finds when an OPEN arrives.

use super::outbox::{Offer, Outbox};
use super::{Bug, Epochs};
use crate::rules::{OpenFinding, open_known, open_unknown};
use crate::{Property, Violation};

/// What is stored: epochs in the order in which they came, each with its contents by number; `None` is a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Gateway {
    stored: Vec<(u8, Vec<Option<u8>>)>,
}

/// What came of an offer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) report: bool,
    /// Whether the epoch was unknown before.
    pub(super) new_epoch: bool,
    /// stored_below as OPENED told it.
    pub(super) opened: u8,
    /// stored_below after the record.
    pub(super) stored_below: u8,
}

impl Gateway {
    pub(super) fn epochs(&self) -> usize {
        self.stored.len()
    }

    pub(super) fn knows_more_than(&self, outbox: &Outbox) -> bool {
        self.stored.iter().any(|(id, contents)| contents.len() as u8 > outbox.saved_end(*id))
    }

    /// Whether records that were confirmed to this outbox are not here any more.
    pub(super) fn forgot_what_it_confirmed_to(&self, outbox: &Outbox) -> bool {
        let end = |id| self.stored.iter().find(|(of, _)| *of == id).map_or(0, |(_, contents)| contents.len());
        outbox.confirmed().any(|(id, below)| usize::from(below) > end(id))
    }

    /// Takes an OPEN and the first record that is not stored.
    pub(super) fn take(&mut self, offer: &Offer, model: &Epochs) -> Result<Taken, Violation> {
        let end = offer.contents.len() as u8;
        let forgotten = self.stored.len().saturating_sub(model.remembered);
        let known = self.stored.iter().skip(forgotten).position(|(id, _)| *id == offer.epoch);
        let place = known.map(|place| place + forgotten);
        let (finding, place) = match place {
            Some(place) => (open_known(offer.first, end, self.stored[place].1.len() as u8), place),
            None => {
                let newest = self.stored.last().map(|(id, contents)| (*id, contents.len() as u8));
                let previous = if model.has(Bug::PredecessorIgnored) { newest } else { offer.previous };
                self.stored.push((offer.epoch, Vec::new()));
                (open_unknown(offer.first, previous, newest), self.stored.len() - 1)
            }
        };
        let contents = &mut self.stored[place].1;
        let opened = contents.len() as u8;
        let freed = contents.iter().zip(&offer.contents).enumerate().skip(usize::from(offer.first));
        for (number, (stored, offered)) in freed {
            if stored.is_some_and(|stored| stored != *offered) {
                let seen = format!("record {number} of epoch {} is confirmed, another is stored", offer.epoch);
                return Err(Violation::new(Property::OneContentPerName, seen));
            }
        }
        while contents.len() < usize::from(offer.first) {
            contents.push(None);
        }
        if let Some(content) = offer.contents.get(contents.len()) {
            contents.push(Some(*content));
        }
        Ok(Taken {
            report: finding == OpenFinding::Differs,
            new_epoch: known.is_none(),
            opened,
            stored_below: contents.len() as u8,
        })
    }

    pub(super) fn stored_twice(&self) -> Option<u8> {
        let mut seen = 0_u32;
        self.stored.iter().flat_map(|(_, contents)| contents).flatten().copied().find(|content| {
            let before = seen;
            seen |= 1 << content;
            before >> content & 1 == 1
        })
    }
}
