//! Devices that sleep: their memory is gone but for an image, and the power may fail at each step of writing and following it.

use crate::plan::{FaultKind, GATEWAY, Plan};
use crate::rng::{Rng, mix};
use crate::sending::Out;
use crate::world::{Happens, World};
use tallylink_core::crypto::{Suite, Suites};
use tallylink_core::{EpochSource, Path, PeerIx, ResumeError as No, SuspendError};

/// The only peer of a device.
const PEER: PeerIx = PeerIx(0);

/// A device falls asleep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleep {
    device: usize,
    /// Where the power fails.
    fails: Fails,
    /// How long it sleeps.
    down_us: u64,
    /// What happens at the gateway meanwhile.
    meanwhile: Meanwhile,
}

/// A step at which the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fails {
    Never,
    /// So many permille of the image are written.
    Writing(u64),
    /// Retained memory is lost as well.
    Asleep,
    /// The image has been read, and is there still.
    Reading,
    /// It has been destroyed, and nothing has been sent or pushed.
    Awake,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    Restart { power: bool },
    EndsSessions,
}

/// What retained memory holds, and what the application knows of it.
#[derive(Debug)]
pub(crate) struct Retained {
    image: Vec<u8>,
    outs: Vec<Out>,
    fails: Fails,
}

impl Plan {
    /// The same world with devices that sleep: without outboxes, and with the one suite that is kept.
    fn put_to_sleep(&mut self, seed: u64) {
        let rng = &mut Rng::new(mix(seed ^ 0x51ee9));
        self.sleeps = true;
        for end in self.ends.iter_mut().skip(1) {
            end.config.suites = Suites::from(Suite::Aes128GcmSiv);
        }
        for stream in self.streams.iter_mut().filter(|s| s.sender != GATEWAY) {
            stream.durable = false;
        }
        let devices = self.ends.len() as u64 - 1;
        for _ in 0..rng.within(3, 12) {
            let what = FaultKind::Sleep(Sleep {
                device: rng.within(1, devices) as usize,
                fails: match rng.below(12) {
                    0 => Fails::Writing(rng.below(1000)),
                    1 => Fails::Asleep,
                    2 => Fails::Reading,
                    3 => Fails::Awake,
                    _ => Fails::Never,
                },
                down_us: rng.pick(&[0, 1_000, 300_000, 60_000_000]),
                meanwhile: match rng.below(8) {
                    0 => Meanwhile::Restart { power: rng.chance(500) },
                    1 => Meanwhile::EndsSessions,
                    _ => Meanwhile::Nothing,
                },
            });
            self.faults.push(crate::plan::Fault { after_packets: rng.within(5, self.packets), what });
        }
        self.faults.sort_by_key(|f| f.after_packets);
    }
}

impl World {
    /// The world of a seed in which devices sleep, before its first moment.
    #[must_use]
    pub fn sleeping(seed: u64) -> Self {
        let mut plan = Plan::draw(seed);
        plan.put_to_sleep(seed);
        Self::of(seed, plan)
    }

    /// A device falls asleep, unless it has to do something for what it received.
    pub(crate) fn sleeps(&mut self, sleep: &Sleep) -> Result<(), String> {
        let now = self.time();
        let end = &mut self.ends[sleep.device];
        let Some(up) = &mut end.up else { return Ok(()) };
        let mut image = vec![0xa5; up.endpoint.image_len(PEER)];
        match up.endpoint.suspend(now, PEER, &mut image) {
            Ok(len) if len == image.len() => {}
            Err(SuspendError::Receiving) => return Ok(()),
            other => return Err(format!("an image of {} bytes: {other:?}", image.len())),
        }
        if up.endpoint.peek_transmit(now).is_some() {
            return Err("a packet was sealed after the image".into());
        }
        self.report.sleeps += 1;
        match sleep.fails {
            Fails::Writing(permille) => {
                let whole = image.len() as u64 * permille / 1000;
                image.iter_mut().skip(whole as usize).for_each(|b| *b = 0xa5);
            }
            Fails::Asleep => image.fill(0),
            Fails::Never | Fails::Reading | Fails::Awake => {}
        }
        end.retained = Some(Retained { image, outs: up.outs.clone(), fails: sleep.fails });
        end.stop(&self.plan);
        self.after(sleep.down_us, Happens::Start(sleep.device));
        match sleep.meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Restart { power } => self.crash(1 << GATEWAY, power, sleep.down_us / 3),
            Meanwhile::EndsSessions => {
                if let Some(up) = &mut self.ends[GATEWAY].up {
                    up.endpoint.end_sessions(now);
                    self.turn(GATEWAY)?;
                }
            }
        }
        Ok(())
    }

    /// A device that has started follows what it finds in retained memory. False when the power fails on the way.
    pub(crate) fn wakes_up(&mut self, end: usize) -> Result<bool, String> {
        let Some(mut retained) = self.ends[end].retained.take() else { return Ok(true) };
        if retained.fails == Fails::Reading {
            retained.fails = Fails::Never;
            self.ends[end].retained = Some(retained);
            self.ends[end].stop(&self.plan);
            self.after(0, Happens::Start(end));
            return Ok(false);
        }
        for out in retained.outs.iter().filter(|o| o.opened) {
            let Some(mut sending) = self.sending(end, out.stream) else { continue };
            sending.open(EpochSource::FirstSession, 0)?;
        }
        let now = self.time();
        let Some(up) = &mut self.ends[end].up else { return Ok(true) };
        let path = Path::to(Self::gateway());
        let copy = self.sabotage.image_kept.then(|| retained.image.clone());
        let resumed = up.endpoint.resume(now, PEER, path, &mut retained.image, &mut up.inbox);
        if retained.image.iter().any(|b| *b != 0) {
            return Err("an image outlived its use".into());
        }
        let torn = matches!(retained.fails, Fails::Writing(_) | Fails::Asleep);
        match resumed {
            Ok(()) if !torn => {
                up.outs = retained.outs.clone();
                let (outs, fails) = (retained.outs, Fails::Never);
                self.ends[end].retained = copy.map(|image| Retained { image, outs, fails });
                self.report.resumed += 1;
            }
            Err(No::NoImage | No::Damaged | No::Foreign | No::Version(_)) if torn => {
                let mut ledger = self.shared.ledger.borrow_mut();
                for out in up.outs.iter_mut().filter(|o| o.opened) {
                    out.source = Some(ledger.begin(out.stream));
                }
            }
            other => return Err(format!("waking up after {:?}: {other:?}", retained.fails)),
        }
        if retained.fails == Fails::Awake {
            self.ends[end].stop(&self.plan);
            self.after(0, Happens::Start(end));
            return Ok(false);
        }
        Ok(true)
    }
}
