//! Session set-up and delivery: one device with a ring in memory or an outbox on disk, one gateway, a network that
//! keeps every packet for ever and may deliver any of them at any moment, any number of times.
//!
//! Records have one or two parts and a chunk carries up to two, so chunks split and join records. The gateway's
//! journal is a list with a durable prefix: a power cut keeps the prefix, a process crash any continuation of it
//! (recovery syncs that before it tells anything); [`crate::journal`] models what lies beneath. OPEN travels in
//! every packet with data, and its `first` doubles as SKIP's bound: both are always the ring's head. A device
//! sends long DATA until it has opened a packet of its session.
//!
//! Assumed: seals and tags hold, so a packet is what an honest end made; the device's nonces are fresh (the bug
//! [`Bug::WeakEntropy`] takes that away).

mod device;
mod gateway;
mod packet;

pub use device::Device;
pub use gateway::Gateway;
pub use packet::{Answer, Chunk, Data, Key, Packet, Part};

use crate::explore::Model;
use crate::{Property, Violation};

/// A variant of a rule that breaks a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// A WELCOME counter equal to the last live one makes an ended session live again.
    EqualCounterRevives,
    /// The device's nonces repeat from boot to boot.
    WeakEntropy,
    /// OPENED and delivery start at what is stored, although the writer holds more.
    OpenIgnoresWriter,
    /// STORED tells what is written, before it is synced.
    StoredBeforeSync,
    /// Sessions survive a failed sync, so delivery stays ahead of the writer.
    SessionsSurviveFailedSync,
    /// A packet that the queue has no room for is recorded as received.
    RefusedIsAcknowledged,
    /// A new session continues in the middle of a record, on the strength of the old session's RECEIVED.
    UnfinishedContinues,
    /// STORED counts whatever epoch it is about.
    StoredNamesNoEpoch,
}

/// How often each thing may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Records pushed.
    pub pushes: u8,
    /// Exchanges begun by the device.
    pub exchanges: u8,
    /// WELCOMEs made by the gateway.
    pub welcomes: u8,
    /// Packets with data sent by the device.
    pub device_sends: u8,
    /// Packets sent by the gateway.
    pub gateway_sends: u8,
    /// Restarts of the device; a ring in memory is lost.
    pub device_reboots: u8,
    /// Crashes and power cuts of the gateway.
    pub gateway_crashes: u8,
    /// Sessions ended by the gateway for room.
    pub evictions: u8,
    /// Failed syncs.
    pub sync_failures: u8,
    /// Records overwritten in the ring before they were stored.
    pub overwrites: u8,
}

impl Budget {
    /// Nothing happens at all; bounds name what they allow beyond that.
    pub const NOTHING: Self = Self {
        pushes: 0,
        exchanges: 0,
        welcomes: 3,
        device_sends: 0,
        gateway_sends: 0,
        device_reboots: 0,
        gateway_crashes: 0,
        evictions: 0,
        sync_failures: 0,
        overwrites: 0,
    };
}

/// A session that completes nothing within so many round trips never will.
const MANY_ROUND_TRIPS: u8 = 12;

/// The model, with its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Sessions {
    /// How often each thing may happen.
    pub budget: Budget,
    /// Most parts the gateway keeps unsynced; beyond that it refuses. At least one chunk, two parts.
    pub queue: usize,
    /// Whether the device's ring is an outbox on disk, saved before anything of it is sent.
    pub outbox: bool,
    /// The rule to break, if any.
    pub bug: Option<Bug>,
}

impl Sessions {
    /// Room for every part within the budgets, no bug.
    pub const fn new(budget: Budget) -> Self {
        Self { budget, queue: 16, outbox: false, bug: None }
    }

    /// The same with one rule broken.
    pub const fn with_bug(budget: Budget, bug: Bug) -> Self {
        Self { budget, queue: 16, outbox: false, bug: Some(bug) }
    }

    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }
}

/// Both ends, the network, and what remains allowed.
#[derive(Clone, Debug, Hash)]
pub struct State {
    device: Device,
    gateway: Gateway,
    /// Every packet ever sent, sorted; each may still arrive.
    network: Vec<Packet>,
    pushed: u8,
    left: Budget,
    crashed: bool,
}

/// One thing that may happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The application pushes the next record.
    Push,
    /// The full ring overwrites its oldest record.
    Overwrite,
    /// The device begins an exchange with a HELLO.
    Hello,
    /// The device sends this many parts from where it stands.
    SendNew(u8),
    /// The device sends anew what it sent and has not seen acknowledged.
    SendAgain,
    /// The gateway answers with ACK, OPENED and STORED.
    Answer,
    /// The journal writer syncs.
    Sync,
    /// The sync fails: all that was unsynced is lost.
    SyncFails,
    /// The gateway ends its session to free room.
    Evict,
    /// The device restarts.
    DeviceReboots,
    /// The gateway restarts; this many unsynced parts reached the disk and are recovered.
    GatewayCrashes(u8),
    /// The network delivers its packet at this place.
    Deliver(u8),
}

impl State {
    fn put(&mut self, packet: Packet) -> Result<(), Violation> {
        for other in &self.network {
            if other.same_number_other_text(&packet) {
                let seen = format!("{other} and {packet}");
                return Err(Violation::new(Property::OnePlaintextPerNumber, seen));
            }
        }
        if let Err(place) = self.network.binary_search(&packet) {
            self.network.insert(place, packet);
        }
        Ok(())
    }

    fn deliverable(&self, packet: &Packet) -> bool {
        match packet {
            Packet::Hello(_) => self.left.welcomes > 0,
            Packet::Welcome(key) => self.device.awaits(key.nonce),
            Packet::Data(data) => self.gateway.may_take(data.key, data.number),
            Packet::Answer(answer) => self.device.may_take(answer.key, answer.number),
        }
    }
}

impl Model for Sessions {
    type State = State;
    type Event = Event;

    fn initial(&self) -> State {
        State {
            device: Device::default(),
            gateway: Gateway::default(),
            network: Vec::new(),
            pushed: 0,
            left: self.budget,
            crashed: false,
        }
    }

    fn events(&self, state: &State, into: &mut Vec<Event>) {
        let left = &state.left;
        let mut offer = |possible: bool, event| {
            if possible {
                into.push(event);
            }
        };
        offer(left.pushes > 0 && state.device.may_push(self.outbox), Event::Push);
        offer(left.overwrites > 0 && state.device.holds_records(), Event::Overwrite);
        offer(left.exchanges > 0, Event::Hello);
        if left.device_sends > 0 {
            let unsent = state.device.unsent_parts();
            offer(unsent >= 1, Event::SendNew(1));
            offer(unsent >= 2, Event::SendNew(2));
            offer(state.device.has_unacknowledged(), Event::SendAgain);
        }
        offer(left.gateway_sends > 0 && state.gateway.is_live(), Event::Answer);
        offer(state.gateway.unsynced() > 0, Event::Sync);
        offer(left.sync_failures > 0 && state.gateway.unsynced() > 0, Event::SyncFails);
        offer(left.evictions > 0 && state.gateway.is_live(), Event::Evict);
        offer(left.device_reboots > 0, Event::DeviceReboots);
        if left.gateway_crashes > 0 {
            (0..=state.gateway.unsynced()).for_each(|kept| offer(true, Event::GatewayCrashes(kept as u8)));
        }
        for (place, packet) in state.network.iter().enumerate() {
            offer(state.deliverable(packet), Event::Deliver(place as u8));
        }
    }

    fn apply(&self, state: &State, event: Event) -> Result<State, Violation> {
        let mut s = state.clone();
        match event {
            Event::Push => {
                s.left.pushes -= 1;
                s.device.push(s.pushed, self.outbox);
                s.pushed += 1;
            }
            Event::Overwrite => {
                s.left.overwrites -= 1;
                s.device.overwrite_oldest();
            }
            Event::Hello => {
                s.left.exchanges -= 1;
                let nonce = s.device.begin_exchange(self.has(Bug::WeakEntropy));
                s.put(Packet::Hello(nonce))?;
            }
            Event::SendNew(parts) => {
                s.left.device_sends -= 1;
                let data = s.device.send_new(usize::from(parts));
                s.put(Packet::Data(data))?;
            }
            Event::SendAgain => {
                s.left.device_sends -= 1;
                let data = s.device.send_again();
                s.put(Packet::Data(data))?;
            }
            Event::Answer => {
                s.left.gateway_sends -= 1;
                let answer = s.gateway.answer(self);
                s.put(Packet::Answer(answer))?;
            }
            Event::Sync => s.gateway.sync(self)?,
            Event::SyncFails => {
                s.left.sync_failures -= 1;
                s.gateway.sync_fails(self);
            }
            Event::Evict => {
                s.left.evictions -= 1;
                s.gateway.end_session();
            }
            Event::DeviceReboots => {
                s.left.device_reboots -= 1;
                s.device.reboot(self.outbox);
            }
            Event::GatewayCrashes(kept) => {
                s.left.gateway_crashes -= 1;
                s.crashed = true;
                s.gateway.crash(usize::from(kept));
            }
            Event::Deliver(place) => self.deliver(&mut s, usize::from(place))?,
        }
        Ok(s)
    }

    fn check(&self, state: &State) -> Result<(), Violation> {
        state.gateway.check_journal()?;
        let lost = state.device.confirmed() & !state.gateway.durable_contents();
        if lost != 0 {
            let seen = format!("confirmed and not on disk: contents {lost:#b}");
            return Err(Violation::new(Property::NothingConfirmedLost, seen));
        }
        Ok(())
    }

    fn complete(&self, state: &State) -> bool {
        !state.device.holds_records()
    }

    /// One round trip in which nothing is lost: what is queued is synced, the device sends what it must, the
    /// gateway answers. A device whose session is unknown to the gateway gets a new one first.
    fn calm(&self, state: &State, into: &mut Vec<State>) -> Result<(), Violation> {
        let mut s = state.clone();
        s.network.clear();
        s.left = Budget::NOTHING;
        self.round_trip(&mut s)?;
        if s.device.packets_sent() < MANY_ROUND_TRIPS {
            into.push(s);
        }
        Ok(())
    }

    fn describe(&self, state: &State, event: Event) -> String {
        match event {
            Event::Deliver(place) => format!("arrives: {}", state.network[usize::from(place)]),
            Event::GatewayCrashes(kept) => {
                format!("gateway crashes, {kept} unsynced parts reach the disk")
            }
            other => format!("{other:?}"),
        }
    }

    fn landmarks(&self, state: &State) -> u32 {
        let stored = state.device.confirmed() != 0;
        u32::from(stored)
            | u32::from(stored && state.crashed) << 1
            | u32::from(state.gateway.voided_part()) << 2
            | u32::from(state.gateway.holds_ahead()) << 3
            | u32::from(stored && state.gateway.epochs() > 1) << 4
    }

    fn landmark_names(&self) -> &'static [&'static str] {
        &[
            "stored",
            "stored after a gateway crash",
            "unfinished record void",
            "packet held ahead of a gap",
            "two epochs stored",
        ]
    }
}

impl Sessions {
    fn deliver(&self, s: &mut State, place: usize) -> Result<(), Violation> {
        match s.network[place] {
            Packet::Hello(nonce) => {
                s.left.welcomes -= 1;
                let key = s.gateway.welcome(nonce);
                s.put(Packet::Welcome(key))
            }
            Packet::Welcome(key) => {
                s.device.enter(key, self);
                Ok(())
            }
            Packet::Data(data) => s.gateway.take(&data, self).map(|_| ()),
            Packet::Answer(answer) => {
                s.device.take(&answer, self);
                Ok(())
            }
        }
    }

    fn round_trip(&self, s: &mut State) -> Result<(), Violation> {
        s.gateway.sync(self)?;
        let data = s.device.send_anything();
        let known = match data {
            Some(data) => s.gateway.take(&data, self)?,
            None => false,
        };
        if !known {
            let nonce = s.device.begin_exchange(false);
            let key = s.gateway.welcome(nonce);
            s.device.enter(key, self);
            return Ok(());
        }
        s.gateway.sync(self)?;
        let answer = s.gateway.answer(self);
        s.device.take(&answer, self);
        Ok(())
    }
}
