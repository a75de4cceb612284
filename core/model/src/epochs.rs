//! Epochs: outboxes that are opened, cut off, backed up, restored and copied, and gateways restored from backups.
//!
//! An outbox on disk makes an epoch at the first push after each opening, sends only what it saved, and drains
//! what it recovered before the next epoch is opened at the gateway. A step of delivery is an OPEN, its OPENED and
//! one record; its confirmation may be lost. How records travel is the matter of [`crate::sessions`].
//!
//! What must be reported is decided by what really happened: an outbox restored to less than the gateway knew of
//! it, a copy that goes on beside its original, a gateway that forgot what it had confirmed. It is due when the
//! gateway accepts the first record of an epoch new to it: before that nothing can be told apart.

mod gateway;
mod outbox;

use crate::explore::Model;
use crate::{Property, Violation};
use gateway::Gateway;
use outbox::Outbox;

/// A variant of a rule that breaks a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Pushes after an opening continue the newest epoch on disk.
    EpochReused,
    /// A new epoch's id is the last one's plus one.
    EpochsCounted,
    /// Records are sent before they are saved.
    SentBeforeSaved,
    /// The next epoch is opened before it is saved that the last one is drained.
    DrainedNotSaved,
    /// The gateway does not compare an epoch's predecessor with its newest.
    PredecessorIgnored,
}

/// How often each thing may happen, and the rule to break, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Epochs {
    /// Openings of an outbox.
    pub openings: u8,
    /// Records pushed.
    pub pushes: u8,
    /// Crashes of an outbox.
    pub crashes: u8,
    /// Times an outbox is backed up; it may be restored as often.
    pub backups: u8,
    /// Times an outbox is copied.
    pub copies: u8,
    /// Times a gateway is backed up; it may be restored as often.
    pub gateway_backups: u8,
    /// Epochs that the gateway remembers.
    pub remembered: usize,
    /// The rule to break, if any.
    pub bug: Option<Bug>,
}

/// Which outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// The first.
    Original,
    /// Its copy.
    Copy,
}

/// The outboxes, the gateway, the backups, and what really happened.
#[derive(Clone, Debug, Hash)]
pub struct State {
    outboxes: [Option<Outbox>; 2],
    outbox_backup: Option<Outbox>,
    gateway: Gateway,
    gateway_backup: Option<Gateway>,
    next_epoch: u8,
    next_content: u8,
    /// Something was restored or copied in a way that may be noticed.
    touched: bool,
    /// The outbox was restored to less than the gateway knew of it.
    rolled_back: bool,
    /// The first epoch made after the copy, if there is one.
    copied_before: Option<u8>,
    /// Which outbox delivered an epoch made after the copy.
    went_on: [bool; 2],
    reported: bool,
    left: Left,
}

#[derive(Clone, Copy, Debug, Hash)]
struct Left {
    openings: u8,
    pushes: u8,
    crashes: u8,
    backups: u8,
    restores: u8,
    copies: u8,
    gateway_backups: u8,
    gateway_restores: u8,
}

/// One thing that may happen.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A program opens the outbox.
    Open(Which),
    /// It pushes a record.
    Push(Which),
    /// The outbox is synced.
    Save(Which),
    /// One record is delivered and, if so said, confirmed.
    Deliver(Which, bool),
    /// The program is cut off; what was not saved is gone.
    Crash(Which),
    /// The outbox on disk is backed up.
    BackUp,
    /// The closed outbox is replaced by its backup.
    Restore,
    /// The outbox on disk is copied.
    Copy,
    /// The gateway is backed up.
    BackUpGateway,
    /// The gateway is replaced by its backup.
    RestoreGateway,
}

impl Epochs {
    /// A world in which nothing is restored or copied.
    pub const PLAIN: Self = Self {
        openings: 3,
        pushes: 3,
        crashes: 2,
        backups: 0,
        copies: 0,
        gateway_backups: 0,
        remembered: 4,
        bug: None,
    };

    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }
}

impl Model for Epochs {
    type State = State;
    type Event = Event;

    fn initial(&self) -> State {
        State {
            outboxes: [Some(Outbox::default()), None],
            outbox_backup: None,
            gateway: Gateway::default(),
            gateway_backup: None,
            next_epoch: 1,
            next_content: 0,
            touched: false,
            rolled_back: false,
            copied_before: None,
            went_on: [false; 2],
            reported: false,
            left: Left {
                openings: self.openings,
                pushes: self.pushes,
                crashes: self.crashes,
                backups: self.backups,
                restores: self.backups,
                copies: self.copies,
                gateway_backups: self.gateway_backups,
                gateway_restores: self.gateway_backups,
            },
        }
    }

    fn events(&self, state: &State, into: &mut Vec<Event>) {
        let left = &state.left;
        for (which, outbox) in [Which::Original, Which::Copy].into_iter().zip(&state.outboxes) {
            let Some(outbox) = outbox else { continue };
            let mut offer = |possible: bool, event| {
                if possible {
                    into.push(event);
                }
            };
            if outbox.is_open() {
                offer(left.pushes > 0, Event::Push(which));
                offer(outbox.has_unsaved(), Event::Save(which));
                offer(left.crashes > 0, Event::Crash(which));
                if outbox.deliverable(self).is_some() {
                    offer(true, Event::Deliver(which, true));
                    offer(true, Event::Deliver(which, false));
                }
            } else {
                offer(left.openings > 0, Event::Open(which));
            }
        }
        let closed = state.outboxes[0].as_ref().is_some_and(|outbox| !outbox.is_open());
        let mut offer = |possible: bool, event| {
            if possible {
                into.push(event);
            }
        };
        offer(left.backups > 0, Event::BackUp);
        offer(left.restores > 0 && closed && state.outbox_backup.is_some(), Event::Restore);
        offer(left.copies > 0, Event::Copy);
        offer(left.gateway_backups > 0, Event::BackUpGateway);
        offer(left.gateway_restores > 0 && state.gateway_backup.is_some(), Event::RestoreGateway);
    }

    fn apply(&self, state: &State, event: Event) -> Result<State, Violation> {
        let mut s = state.clone();
        match event {
            Event::Open(which) => {
                s.left.openings -= 1;
                s.outbox(which).open();
            }
            Event::Push(which) => {
                s.left.pushes -= 1;
                s.push(which, self);
            }
            Event::Save(which) => s.outbox(which).save(),
            Event::Deliver(which, confirmed) => s.deliver(which, confirmed, self)?,
            Event::Crash(which) => {
                s.left.crashes -= 1;
                let cut = s.outbox(which).on_disk();
                *s.outbox(which) = cut;
            }
            Event::BackUp => {
                s.left.backups -= 1;
                s.outbox_backup = s.outboxes[0].as_ref().map(Outbox::on_disk);
            }
            Event::Restore => {
                s.left.restores -= 1;
                let backup = s.outbox_backup.clone().unwrap_or_default();
                s.rolled_back |= s.gateway.knows_more_than(&backup);
                s.touched |= s.rolled_back;
                s.outboxes[0] = Some(backup);
            }
            Event::Copy => {
                s.left.copies -= 1;
                s.touched = true;
                s.copied_before = Some(s.next_epoch);
                s.outboxes[1] = s.outboxes[0].as_ref().map(Outbox::on_disk);
            }
            Event::BackUpGateway => {
                s.left.gateway_backups -= 1;
                s.gateway_backup = Some(s.gateway.clone());
            }
            Event::RestoreGateway => {
                s.left.gateway_restores -= 1;
                let backup = s.gateway_backup.clone().unwrap_or_default();
                s.touched |= backup != s.gateway;
                s.gateway = backup;
            }
        }
        Ok(s)
    }

    fn check(&self, state: &State) -> Result<(), Violation> {
        if state.reported && !state.touched {
            let seen = "reported although nothing was restored or copied";
            return Err(Violation::new(Property::NoFalseAlarm, seen));
        }
        if let Some(content) = state.gateway.stored_twice()
            && !state.reported
        {
            let seen = format!("content {content} stored twice, nothing reported");
            return Err(Violation::new(Property::ExactlyOnce, seen));
        }
        Ok(())
    }

    fn complete(&self, state: &State) -> bool {
        state.outboxes.iter().flatten().all(Outbox::is_drained)
    }

    /// Whoever has records opens, saves and delivers.
    fn calm(&self, state: &State, into: &mut Vec<State>) -> Result<(), Violation> {
        for which in [Which::Original, Which::Copy] {
            let mut s = state.clone();
            match s.outboxes[which as usize].as_mut() {
                Some(outbox) if !outbox.is_drained() => {
                    if !outbox.is_open() {
                        outbox.open();
                    }
                    outbox.save();
                    s.deliver(which, true, self)?;
                    into.push(s);
                    return Ok(());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn landmarks(&self, state: &State) -> u32 {
        let drained = self.complete(state) && state.gateway.epochs() > 1;
        u32::from(drained) | u32::from(state.reported) << 1 | u32::from(state.went_on == [true; 2]) << 2
    }

    fn landmark_names(&self) -> &'static [&'static str] {
        &["two epochs drained", "reported", "original and copy both went on"]
    }
}

impl State {
    /// # Panics
    /// If there is no such outbox; events name only those that exist.
    fn outbox(&mut self, which: Which) -> &mut Outbox {
        self.outboxes[which as usize].as_mut().expect("events name outboxes that exist")
    }

    fn push(&mut self, which: Which, model: &Epochs) {
        let content = self.next_content;
        self.next_content += 1;
        let fresh = self.next_epoch;
        let outbox = self.outbox(which);
        let epoch = if model.has(Bug::EpochsCounted) { outbox.last_epoch() + 1 } else { fresh };
        outbox.push(content, epoch, model);
        self.next_epoch += 1;
    }

    fn deliver(&mut self, which: Which, confirmed: bool, model: &Epochs) -> Result<(), Violation> {
        let Some(offer) = self.outbox(which).deliverable(model) else {
            return Ok(());
        };
        let outbox = self.outboxes[which as usize].as_ref();
        let forgot = outbox.is_some_and(|outbox| self.gateway.forgot_what_it_confirmed_to(outbox));
        let taken = self.gateway.take(&offer, model)?;
        self.reported |= taken.report;
        if taken.new_epoch {
            self.went_on[which as usize] |= self.copied_before.is_some_and(|first| offer.epoch >= first);
            let due = self.rolled_back || forgot || self.went_on == [true; 2];
            if due && !self.reported {
                let seen = format!("epoch {} accepted as if nothing had happened", offer.epoch);
                return Err(Violation::new(Property::RollbackReported, seen));
            }
        }
        let freed = if confirmed { taken.stored_below } else { taken.opened };
        self.outbox(which).free(offer.epoch, freed);
        Ok(())
    }
}
