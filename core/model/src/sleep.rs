//! Deep sleep: a device that keeps its session and its ring in retained memory while everything else is off.
//!
//! Going to sleep is two steps (an image is begun, an image is whole), waking up is two (it is read, it is destroyed);
//! the power may be lost between any two of them, with the retained memory or without. Both ends send: the device from
//! a ring in memory, the gateway from a spool on disk to an application that has no memory of its own. Every packet may
//! arrive at any moment, any number of times. While the device sleeps the gateway may restart or end the session; a
//! packet of a session that is not known has no effect, whether its label is free or another's by then.
//!
//! Records have one part, and what is appended is durable at once: cuts and disks are the matter of
//! [`crate::sessions`] and [`crate::journal`]. The gateway remembers one epoch of the device.
//!
//! A *line* is what resumption joins: the guarantees of an end without storage span a boot, and with it all lives of
//! one line.

mod device;
mod gateway;
mod image;
mod packet;

pub use device::Device;
pub use gateway::Gateway;
pub use packet::{Down, Packet, Record, Up, What};

use crate::explore::Model;
use crate::{Property, Violation};

/// A variant of a rule that breaks a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Waking up leaves the image where it is.
    ImageKept,
    /// The image is destroyed some time after waking up, perhaps after the first packet.
    DestroyedLate,
    /// The device goes on sending when its image is whole.
    SendsOn,
    /// An image that was cut off while it was written is taken for whole.
    TornTaken,
    /// A start that does not resume leaves the image for a later one.
    StaleKept,
    /// The image holds positions, but not the records in the ring.
    RingLeftOut,
    /// What is in flight when the image is written counts as received.
    FlightForgotten,
    /// The image lacks the window of received packets.
    WindowLeftOut,
    /// The image lacks the position of what is received.
    PositionLeftOut,
    /// The device falls asleep with records that its application has not taken yet.
    UntakenForgotten,
}

/// How often each thing may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Records pushed at the device.
    pub pushes: u8,
    /// Records pushed at the gateway.
    pub down_pushes: u8,
    /// Exchanges begun by the device.
    pub exchanges: u8,
    /// Packets sent by the device.
    pub device_sends: u8,
    /// Packets sent by the gateway.
    pub gateway_sends: u8,
    /// Times the device begins to write its image.
    pub suspends: u8,
    /// Times the power is lost; what is in retained memory stays.
    pub power_losses: u8,
    /// Times what is in retained memory is lost.
    pub wipes: u8,
    /// Starts that do not resume although there is an image.
    pub fresh_starts: u8,
    /// Restarts of the gateway.
    pub gateway_crashes: u8,
    /// Sessions ended by the gateway.
    pub evictions: u8,
}

impl Budget {
    /// Nothing happens at all; bounds name what they allow beyond that.
    pub const NOTHING: Self = Self {
        pushes: 0,
        down_pushes: 0,
        exchanges: 0,
        device_sends: 0,
        gateway_sends: 0,
        suspends: 0,
        power_losses: 0,
        wipes: 0,
        fresh_starts: 0,
        gateway_crashes: 0,
        evictions: 0,
    };
}

/// A session that completes nothing within so many packets never will.
const MANY_PACKETS: u8 = 12;

/// The model, with its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Sleep {
    /// How often each thing may happen.
    pub budget: Budget,
    /// The rule to break, if any.
    pub bug: Option<Bug>,
}

impl Sleep {
    /// The rules as they are.
    pub const fn new(budget: Budget) -> Self {
        Self { budget, bug: None }
    }

    /// The same with one rule broken.
    pub const fn with_bug(budget: Budget, bug: Bug) -> Self {
        Self { budget, bug: Some(bug) }
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
    /// The device's application pushes the next record.
    Push,
    /// The gateway's application pushes the next record.
    PushDown,
    /// The device begins an exchange with a HELLO.
    Hello,
    /// The device sends a packet.
    Send(What),
    /// The gateway sends a packet: confirmations, and the oldest record that has not arrived.
    Answer,
    /// The device's application takes what was delivered.
    Take,
    /// The device begins to write its image.
    Suspend,
    /// The image is whole; the device sleeps.
    Written,
    /// The device starts, and reads its image if there is one.
    Start,
    /// The device destroys the image that it read.
    Destroy,
    /// The device starts without looking at its image.
    StartAfresh,
    /// The power is lost, at any moment.
    PowerLost,
    /// Retained memory is lost.
    Wiped,
    /// The gateway restarts.
    GatewayCrashes,
    /// The gateway ends its session.
    Evict,
    /// The network delivers its packet at this place.
    Deliver(u8),
}

impl State {
    fn put(&mut self, packet: Packet) -> Result<(), Violation> {
        if let Some(other) = self.network.iter().find(|other| other.same_number_other_text(&packet)) {
            let seen = format!("{other} and {packet}");
            return Err(Violation::new(Property::OnePlaintextPerNumber, seen));
        }
        if let Err(place) = self.network.binary_search(&packet) {
            self.network.insert(place, packet);
        }
        Ok(())
    }

    fn deliverable(&self, packet: &Packet) -> bool {
        match packet {
            Packet::Hello(_) => self.gateway.may_welcome(),
            Packet::Welcome(key) => self.device.awaits(key.nonce),
            Packet::Up(up) => self.gateway.may_take(up.key, up.number),
            Packet::Down(down) => self.device.may_take(down.key, down.number),
        }
    }

    fn take_down(&mut self, down: &Down) -> Result<(), Violation> {
        self.device.take(down)
    }

    fn take_up(&mut self, up: &Up) -> Result<bool, Violation> {
        let known = self.gateway.take(up)?;
        let lost = self.gateway.confirmed() & !self.device.taken_contents();
        if lost != 0 {
            let seen = format!("confirmed to the gateway and never taken: contents {lost:#b}");
            return Err(Violation::new(Property::NothingConfirmedLost, seen));
        }
        Ok(known)
    }
}

impl Model for Sleep {
    type State = State;
    type Event = Event;

    fn initial(&self) -> State {
        State {
            device: Device::started(),
            gateway: Gateway::default(),
            network: Vec::new(),
            pushed: 0,
            left: self.budget,
            crashed: false,
        }
    }

    fn events(&self, state: &State, into: &mut Vec<Event>) {
        let (left, device) = (&state.left, &state.device);
        let mut offer = |possible: bool, event| {
            if possible {
                into.push(event);
            }
        };
        let runs = device.runs(self);
        offer(left.pushes > 0 && runs, Event::Push);
        offer(left.down_pushes > 0, Event::PushDown);
        offer(left.exchanges > 0 && runs, Event::Hello);
        if left.device_sends > 0 && runs {
            for what in [What::New, What::Again, What::Nothing] {
                offer(device.can_send(what), Event::Send(what));
            }
        }
        offer(left.gateway_sends > 0 && state.gateway.is_live(), Event::Answer);
        offer(runs && device.has_untaken(), Event::Take);
        offer(left.suspends > 0 && device.may_suspend(self), Event::Suspend);
        offer(device.writes(), Event::Written);
        offer(device.is_off(), Event::Start);
        offer(device.may_destroy(self), Event::Destroy);
        offer(left.fresh_starts > 0 && device.is_off() && device.has_image(), Event::StartAfresh);
        offer(left.power_losses > 0 && !device.is_off(), Event::PowerLost);
        offer(left.wipes > 0 && device.is_off() && device.has_image(), Event::Wiped);
        offer(left.gateway_crashes > 0, Event::GatewayCrashes);
        offer(left.evictions > 0 && state.gateway.is_live(), Event::Evict);
        for (place, packet) in state.network.iter().enumerate() {
            offer(state.deliverable(packet), Event::Deliver(place as u8));
        }
    }

    fn apply(&self, state: &State, event: Event) -> Result<State, Violation> {
        let mut s = state.clone();
        match event {
            Event::Push => {
                s.left.pushes -= 1;
                s.device.push(s.pushed);
                s.pushed += 1;
            }
            Event::PushDown => {
                s.left.down_pushes -= 1;
                s.gateway.push(s.pushed);
                s.pushed += 1;
            }
            Event::Hello => {
                s.left.exchanges -= 1;
                let nonce = s.device.begin_exchange();
                s.put(Packet::Hello(nonce))?;
            }
            Event::Send(what) => {
                s.left.device_sends -= 1;
                let up = s.device.send(what);
                s.put(Packet::Up(up))?;
            }
            Event::Answer => {
                s.left.gateway_sends -= 1;
                let down = s.gateway.answer();
                s.put(Packet::Down(down))?;
            }
            Event::Take => s.device.take_all()?,
            Event::Suspend => {
                s.left.suspends -= 1;
                s.device.begin_image();
            }
            Event::Written => s.device.finish_image(self),
            Event::Start => s.device.start(self),
            Event::Destroy => s.device.destroy_image(self),
            Event::StartAfresh => {
                s.left.fresh_starts -= 1;
                s.device.start_afresh(self);
            }
            Event::PowerLost => {
                s.left.power_losses -= 1;
                s.device.lose_power();
            }
            Event::Wiped => {
                s.left.wipes -= 1;
                s.device.wipe();
            }
            Event::GatewayCrashes => {
                s.left.gateway_crashes -= 1;
                s.crashed = true;
                s.gateway.crash();
            }
            Event::Evict => {
                s.left.evictions -= 1;
                s.gateway.end_session();
            }
            Event::Deliver(place) => match s.network[usize::from(place)] {
                Packet::Hello(nonce) => {
                    let key = s.gateway.welcome(nonce);
                    s.put(Packet::Welcome(key))?;
                }
                Packet::Welcome(key) => s.device.enter(key),
                Packet::Up(up) => drop(s.take_up(&up)?),
                Packet::Down(down) => s.take_down(&down)?,
            },
        }
        Ok(s)
    }

    fn check(&self, state: &State) -> Result<(), Violation> {
        state.gateway.check_stored()?;
        let lost = state.device.confirmed() & !state.gateway.stored_contents();
        if lost != 0 {
            let seen = format!("confirmed to the device and not stored: contents {lost:#b}");
            return Err(Violation::new(Property::NothingConfirmedLost, seen));
        }
        Ok(())
    }

    fn complete(&self, state: &State) -> bool {
        !state.device.holds_records() && !state.gateway.holds_records()
    }

    /// The device wakes up as it should, takes what was delivered, and makes one round trip in which nothing is lost;
    /// one whose session is unknown gets a new one.
    fn calm(&self, state: &State, into: &mut Vec<State>) -> Result<(), Violation> {
        let mut s = state.clone();
        s.left = Budget::NOTHING;
        s.device.be_awake(self);
        s.device.take_all()?;
        let known = match s.device.send_anything() {
            Some(up) => {
                s.put(Packet::Up(up))?;
                s.take_up(&up)?
            }
            None => false,
        };
        s.network.clear();
        if known {
            let down = s.gateway.answer();
            s.take_down(&down)?;
        } else {
            let nonce = s.device.begin_exchange();
            let key = s.gateway.welcome(nonce);
            s.device.enter(key);
        }
        if s.device.packets_sent() < MANY_PACKETS {
            into.push(s);
        }
        Ok(())
    }

    fn describe(&self, state: &State, event: Event) -> String {
        match event {
            Event::Deliver(place) => format!("arrives: {}", state.network[usize::from(place)]),
            other => format!("{other:?}"),
        }
    }

    fn landmarks(&self, state: &State) -> u32 {
        let device = &state.device;
        let stored = device.resumed() && device.confirmed_since_waking() != 0;
        u32::from(stored)
            | u32::from(stored && state.crashed) << 1
            | u32::from(device.resumed() && device.taken_since_waking()) << 2
            | u32::from(device.image_is_torn()) << 3
            | u32::from(stored && device.exchanges() > 1) << 4
    }

    fn landmark_names(&self) -> &'static [&'static str] {
        &[
            "stored after waking up",
            "stored after waking up beside a gateway crash",
            "taken after waking up",
            "image torn",
            "stored in a session that followed the retained one",
        ]
    }
}
