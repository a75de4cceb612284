//! Falling asleep and waking up, a step at a time.

use super::device::{Device, Image, Life, Power};
use super::{Bug, Sleep};

impl Device {
    pub(super) fn is_off(&self) -> bool {
        matches!(self.power, Power::Off)
    }

    pub(super) fn writes(&self) -> bool {
        matches!(self.power, Power::Writes(_))
    }

    pub(super) fn has_image(&self) -> bool {
        self.image.is_some()
    }

    pub(super) fn image_is_torn(&self) -> bool {
        self.is_off() && self.image.as_ref().is_some_and(|image| image.torn)
    }

    /// Records in the ring, awake or asleep.
    pub(super) fn holds_records(&self) -> bool {
        match &self.power {
            Power::Runs(life) | Power::Writes(life) | Power::Reads(life) => !life.ring.is_empty(),
            Power::Off => self.image.as_ref().is_some_and(|image| !image.torn && !image.life.ring.is_empty()),
        }
    }

    /// Not while the application has yet to take something: that would be gone, and counted as received.
    pub(super) fn may_suspend(&self, model: &Sleep) -> bool {
        matches!(&self.power, Power::Runs(life) if life.untaken.is_empty() || model.has(Bug::UntakenForgotten))
    }

    pub(super) fn begin_image(&mut self) {
        let Power::Runs(life) = std::mem::replace(&mut self.power, Power::Off) else { return };
        let mut half = life.clone();
        if let Some(session) = &mut half.session {
            session.number = 0;
        }
        self.image = Some(Image { life: half, torn: true });
        self.power = Power::Writes(life);
    }

    pub(super) fn finish_image(&mut self, model: &Sleep) {
        let Power::Writes(mut life) = std::mem::replace(&mut self.power, Power::Off) else { return };
        let awake = life.clone();
        pack(&mut life, model);
        self.image = Some(Image { life, torn: false });
        if model.has(Bug::SendsOn) {
            self.power = Power::Runs(awake);
        }
    }

    /// Reads the image, if there is a whole one; else a new line begins.
    pub(super) fn start(&mut self, model: &Sleep) {
        let whole = self.image.as_ref().filter(|image| !image.torn || model.has(Bug::TornTaken));
        match whole.map(|image| image.life.clone()) {
            Some(life) if model.has(Bug::ImageKept) || model.has(Bug::DestroyedLate) => self.wake(life),
            Some(life) => self.power = Power::Reads(life),
            None => {
                self.image = None;
                self.begin_line();
            }
        }
    }

    pub(super) fn may_destroy(&self, model: &Sleep) -> bool {
        let late = model.has(Bug::DestroyedLate) && matches!(self.power, Power::Runs(_)) && self.resumed;
        matches!(self.power, Power::Reads(_)) || (late && self.has_image())
    }

    /// Only now anything may be pushed or sealed.
    pub(super) fn destroy_image(&mut self, model: &Sleep) {
        if !model.has(Bug::ImageKept) {
            self.image = None;
        }
        if let Power::Reads(life) = std::mem::replace(&mut self.power, Power::Off) {
            self.wake(life);
        }
    }

    fn wake(&mut self, life: Life) {
        self.resumed = true;
        (self.confirmed_before, self.taken_before) = (self.confirmed(), self.taken_count());
        self.power = Power::Runs(life);
    }

    /// A start that does not resume destroys the image as well.
    pub(super) fn start_afresh(&mut self, model: &Sleep) {
        if !model.has(Bug::StaleKept) {
            self.image = None;
        }
        self.begin_line();
    }

    pub(super) fn lose_power(&mut self) {
        self.power = Power::Off;
    }

    pub(super) fn wipe(&mut self) {
        self.image = None;
    }

    /// Whatever it is doing, it goes on to run, with nothing lost on the way.
    pub(super) fn be_awake(&mut self, model: &Sleep) {
        match &self.power {
            Power::Runs(_) => {}
            Power::Writes(_) => {
                self.finish_image(model);
                self.be_awake(model);
            }
            Power::Reads(_) => self.destroy_image(model),
            Power::Off => {
                self.start(model);
                self.be_awake(model);
            }
        }
    }
}

/// What an image holds of a life. An exchange is left out, and so is a session that was never heard of: its packets
/// would have to be long. What is in flight counts as not sent.
fn pack(life: &mut Life, model: &Sleep) {
    life.exchange = None;
    let oldest_sent = life.waiting(true).map(|(number, _)| number);
    life.session = life.session.take().filter(|session| session.heard);
    if let Some(session) = &mut life.session {
        if model.has(Bug::FlightForgotten) {
            session.received |= (1 << session.next) - 1;
        }
        if let Some(oldest) = oldest_sent {
            session.next = oldest;
        }
        session.sent.fill(None);
        if model.has(Bug::WindowLeftOut) {
            session.seen = 0;
        }
    }
    if model.has(Bug::RingLeftOut) {
        life.ring.clear();
    }
    if model.has(Bug::PositionLeftOut) {
        life.next = 0;
    }
    life.untaken.clear();
}
