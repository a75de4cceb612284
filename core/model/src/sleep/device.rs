//! The device end: what its memory holds while it runs, and the application behind it.

use super::packet::{Down, Up, What};
use super::{Bug, Sleep};
use crate::sessions::Key;
use crate::{Property, Violation};

/// The device, its retained memory, and what really happened.
#[derive(Clone, Debug, Hash)]
pub struct Device {
    pub(super) power: Power,
    /// Retained memory.
    pub(super) image: Option<Image>,
    /// Lines begun, and nonces drawn: both are fresh at every start.
    lines: u8,
    nonces: u8,
    /// Contents told STORED, as bits.
    confirmed: u16,
    /// ... when the device last woke up.
    pub(super) confirmed_before: u16,
    /// What the application took, and in which line.
    taken: Vec<(u8, u8)>,
    pub(super) taken_before: usize,
    pub(super) resumed: bool,
    /// Packets accepted, in all lives.
    accepted: Vec<(Key, u8)>,
}

/// What the device is doing.
#[derive(Clone, Debug, Hash)]
pub(super) enum Power {
    Off,
    Runs(Life),
    /// The image is being written.
    Writes(Life),
    /// The image was read, and is still there.
    Reads(Life),
}

/// What is in retained memory.
#[derive(Clone, Debug, Hash)]
pub(super) struct Image {
    pub(super) life: Life,
    /// It was cut off while it was written: a check would tell.
    pub(super) torn: bool,
}

/// What a running device's memory holds.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Life {
    line: u8,
    pub(super) exchange: Option<u8>,
    pub(super) session: Option<Session>,
    epoch: Option<Key>,
    /// Number of the oldest record in the ring.
    head: u8,
    /// Contents of the ring.
    pub(super) ring: Vec<u8>,
    /// The gateway's next record.
    pub(super) next: u8,
    /// What was delivered and not taken yet.
    pub(super) untaken: Vec<u8>,
}

#[derive(Clone, Debug, Hash)]
pub(super) struct Session {
    key: Key,
    /// The next packet number.
    pub(super) number: u8,
    /// Packets of the gateway seen, as bits. Any seen means that packets may be short.
    pub(super) seen: u16,
    pub(super) heard: bool,
    /// The record that each packet carried, by packet number.
    pub(super) sent: Vec<Option<u8>>,
    /// Records RECEIVED, as bits.
    pub(super) received: u16,
    /// The first record never sent in this session.
    pub(super) next: u8,
}

impl Life {
    fn records(&self) -> impl Iterator<Item = (u8, u8)> {
        (self.head..).zip(self.ring.iter().copied())
    }

    /// The oldest record that is not RECEIVED, of those that were sent or of those that were not.
    pub(super) fn waiting(&self, sent: bool) -> Option<(u8, u8)> {
        let session = self.session.as_ref()?;
        self.records().find(|(number, _)| (*number < session.next) == sent && session.received >> number & 1 == 0)
    }

    fn taken_below(&self) -> u8 {
        self.next - self.untaken.len() as u8
    }
}

impl Device {
    pub(super) fn started() -> Self {
        let mut device = Self {
            power: Power::Off,
            image: None,
            lines: 0,
            nonces: 0,
            confirmed: 0,
            confirmed_before: 0,
            taken: Vec::new(),
            taken_before: 0,
            resumed: false,
            accepted: Vec::new(),
        };
        device.begin_line();
        device
    }

    /// A start without an image: new nonces, a new epoch, nothing known.
    pub(super) fn begin_line(&mut self) {
        self.resumed = false;
        self.lines += 1;
        self.power = Power::Runs(Life { line: self.lines, ..Life::default() });
    }

    pub(super) fn life(&self) -> Option<&Life> {
        match &self.power {
            Power::Runs(life) | Power::Writes(life) => Some(life),
            Power::Off | Power::Reads(_) => None,
        }
    }

    fn life_mut(&mut self) -> Option<&mut Life> {
        match &mut self.power {
            Power::Runs(life) | Power::Writes(life) => Some(life),
            Power::Off | Power::Reads(_) => None,
        }
    }

    /// # Panics
    /// If the device does not run; events say when it must.
    fn running(&mut self) -> &mut Life {
        self.life_mut().expect("only a device that runs does this")
    }

    /// Whether the application and the network are served.
    pub(super) fn runs(&self, model: &Sleep) -> bool {
        match self.power {
            Power::Runs(_) => true,
            Power::Writes(_) => model.has(Bug::SendsOn),
            Power::Off | Power::Reads(_) => false,
        }
    }

    pub(super) fn confirmed(&self) -> u16 {
        self.confirmed
    }

    pub(super) fn taken_contents(&self) -> u16 {
        self.taken.iter().fold(0, |set, (_, content)| set | 1 << content)
    }

    pub(super) fn resumed(&self) -> bool {
        self.resumed
    }

    pub(super) fn confirmed_since_waking(&self) -> u16 {
        self.confirmed & !self.confirmed_before
    }

    pub(super) fn taken_since_waking(&self) -> bool {
        self.taken.len() > self.taken_before
    }

    pub(super) fn taken_count(&self) -> usize {
        self.taken.len()
    }

    pub(super) fn exchanges(&self) -> u8 {
        self.nonces
    }

    pub(super) fn packets_sent(&self) -> u8 {
        self.life().and_then(|life| life.session.as_ref()).map_or(0, |session| session.number)
    }

    pub(super) fn has_untaken(&self) -> bool {
        self.life().is_some_and(|life| !life.untaken.is_empty())
    }

    pub(super) fn awaits(&self, nonce: u8) -> bool {
        matches!(&self.power, Power::Runs(life) if life.exchange == Some(nonce))
    }

    pub(super) fn may_take(&self, key: Key, number: u8) -> bool {
        let Power::Runs(life) = &self.power else { return false };
        life.session.as_ref().is_some_and(|session| session.key == key && session.seen >> number & 1 == 0)
    }

    pub(super) fn can_send(&self, what: What) -> bool {
        let Some(life) = self.life() else { return false };
        match what {
            What::New => life.waiting(false).is_some(),
            What::Again => life.waiting(true).is_some(),
            What::Nothing => life.session.is_some(),
        }
    }

    pub(super) fn push(&mut self, content: u8) {
        self.running().ring.push(content);
    }

    pub(super) fn begin_exchange(&mut self) -> u8 {
        self.nonces += 1;
        let nonce = self.nonces;
        self.running().exchange = Some(nonce);
        nonce
    }

    /// Moves to the session of a WELCOME; the line's first session names the epoch.
    pub(super) fn enter(&mut self, key: Key) {
        let life = self.running();
        life.exchange = None;
        life.epoch.get_or_insert(key);
        let next = life.head;
        life.session = Some(Session { key, number: 0, seen: 0, heard: false, sent: Vec::new(), received: 0, next });
    }

    /// # Panics
    /// Without a session; [`Device::can_send`] says whether there is one.
    pub(super) fn send(&mut self, what: What) -> Up {
        self.seal(what).expect("only a device with a session sends")
    }

    /// What a device sends when its timers run. `None` without a session.
    pub(super) fn send_anything(&mut self) -> Option<Up> {
        let what = [What::Again, What::New].into_iter().find(|what| self.can_send(*what));
        self.seal(what.unwrap_or(What::Nothing))
    }

    fn seal(&mut self, what: What) -> Option<Up> {
        let life = self.life_mut()?;
        let record = match what {
            What::New => life.waiting(false),
            What::Again => life.waiting(true),
            What::Nothing => None,
        };
        let (epoch, first, taken_below) = (life.epoch?, life.head, life.taken_below());
        let session = life.session.as_mut()?;
        let number = session.number;
        session.number += 1;
        session.sent.push(record.map(|(record, _)| record));
        if let Some((record, _)) = record {
            session.next = session.next.max(record + 1);
        }
        let (key, acked, long) = (session.key, session.seen, !session.heard);
        Some(Up { key, number, long, epoch, first, record, acked, taken_below })
    }

    pub(super) fn take(&mut self, down: &Down) -> Result<(), Violation> {
        let Power::Runs(life) = &mut self.power else { return Ok(()) };
        let (epoch, head) = (life.epoch, life.head);
        let Some(session) = life.session.as_mut().filter(|session| session.key == down.key) else {
            return Ok(());
        };
        if self.accepted.contains(&(down.key, down.number)) {
            let seen = format!("packet {} of {} accepted again", down.number, down.key);
            return Err(Violation::new(Property::AcceptedOnce, seen));
        }
        let next = life.next.max(down.first);
        if down.record.is_some_and(|(number, _)| number > next) {
            // Ahead of a gap: not accepted.
            return Ok(());
        }
        self.accepted.push((down.key, down.number));
        self.accepted.sort_unstable();
        (session.seen, session.heard) = (session.seen | 1 << down.number, true);
        for (sent, record) in session.sent.iter().enumerate() {
            if let Some(record) = record
                && down.acked >> sent & 1 == 1
            {
                session.received |= 1 << record;
            }
        }
        if let Some((of, below)) = down.stored
            && Some(of) == epoch
        {
            for _ in head..below.min(head + life.ring.len() as u8) {
                self.confirmed |= 1 << life.ring.remove(0);
                life.head += 1;
            }
            session.next = session.next.max(life.head);
        }
        life.next = next;
        if let Some((number, content)) = down.record
            && number == next
        {
            life.untaken.push(content);
            life.next += 1;
        }
        Ok(())
    }

    /// The application takes everything that was delivered.
    pub(super) fn take_all(&mut self) -> Result<(), Violation> {
        let Some(life) = self.life_mut() else { return Ok(()) };
        let (line, untaken) = (life.line, std::mem::take(&mut life.untaken));
        for content in untaken {
            if self.taken.contains(&(line, content)) {
                return Err(Violation::new(Property::ExactlyOnce, format!("content {content} taken twice")));
            }
            self.taken.push((line, content));
        }
        Ok(())
    }
}
