//! The slow senders, all on one thread.
use std::{
    net::SocketAddr,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use rustix::{
    buffer::spare_capacity,
    event::{Timespec, epoll},
};
use tallylink_linux::Clock;

use super::{
    Provided,
    slow::{Happened, Slow},
};
use crate::clock;

/// Each pushes a record so often.
const PERIOD: Duration = Duration::from_secs(1);
const RECORD: [u8; 61] = [b'x'; 61];
/// How often it is looked whether something is due.
const TICK: Duration = Duration::from_millis(5);
/// Sockets that are served before something else has its turn.
const EVENTS: usize = 256;
/// All of them must have stored their first record by then.
const GATHERED_WITHIN: Duration = Duration::from_secs(120);

pub(super) struct Crowd {
    slow: Vec<Slow>,
    poll: OwnedFd,
    events: Vec<epoll::Event>,
    clock: Clock,
    begun: Instant,
    /// Whose turn it is, counted from the beginning.
    turn: u64,
    next_look: Duration,
    happened: Happened,
}

/// What was seen for a while.
pub(super) struct Seen {
    /// From push to STORED, ascending.
    pub(super) milliseconds: Vec<f64>,
    /// Turns at which a sender's record before was not stored yet.
    pub(super) missed: u64,
    pub(super) sessions_ended: u64,
}

impl Crowd {
    /// Opens a session for each, and waits until each has stored one record.
    pub(super) fn gather(keys: &[Provided], gateway: SocketAddr) -> Result<Self> {
        let clock = Clock::start();
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut slow = Vec::with_capacity(keys.len());
        for (index, key) in keys.iter().enumerate() {
            let one = Slow::new(key, gateway, &clock)?;
            epoll::add(&poll, &one.socket, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
            slow.push(one);
        }
        let mut crowd = Self {
            slow,
            poll,
            events: Vec::with_capacity(EVENTS),
            clock,
            begun: clock::wall(),
            turn: 0,
            next_look: Duration::ZERO,
            happened: Happened::default(),
        };
        while crowd.happened.milliseconds.len() < keys.len() {
            let stored = crowd.happened.milliseconds.len();
            ensure!(
                crowd.begun.elapsed() < GATHERED_WITHIN,
                "only {stored} records were stored in {GATHERED_WITHIN:?}"
            );
            crowd.go(PERIOD)?;
        }
        Ok(crowd)
    }

    /// Goes on for so long, and tells what was seen.
    pub(super) fn watch(&mut self, lasts: Duration) -> Result<Seen> {
        self.happened = Happened::default();
        let missed = self.go(lasts)?;
        let Happened { mut milliseconds, sessions_ended } = std::mem::take(&mut self.happened);
        milliseconds.sort_by(f64::total_cmp);
        ensure!(!milliseconds.is_empty(), "nothing was stored for {lasts:?}");
        Ok(Seen { milliseconds, missed, sessions_ended })
    }

    /// Everyone pushes when it is their turn. Returns how many could not.
    fn go(&mut self, lasts: Duration) -> Result<u64> {
        let until = self.begun.elapsed() + lasts;
        let gap = PERIOD / u32::try_from(self.slow.len())?;
        let mut missed = 0;
        loop {
            let now = self.begun.elapsed();
            if now >= until {
                return Ok(missed);
            }
            while gap.mul_f64(self.turn as f64) <= now {
                let at = (self.turn % self.slow.len() as u64) as usize;
                if self.slow[at].is_idle() {
                    self.slow[at].push(&RECORD, &self.clock, &mut self.happened)?;
                } else {
                    missed += 1;
                }
                self.turn += 1;
            }
            if self.next_look <= now {
                for slow in &mut self.slow {
                    slow.look_at_the_time(&self.clock, &mut self.happened)?;
                }
                self.next_look = now + TICK;
            }
            let next = gap.mul_f64(self.turn as f64).min(self.next_look);
            self.receive(next.saturating_sub(self.begun.elapsed()))?;
        }
    }

    /// Takes what comes, and waits for it so long at the most.
    fn receive(&mut self, at_most: Duration) -> Result<()> {
        let timeout = Timespec { tv_sec: 0, tv_nsec: at_most.min(TICK).subsec_nanos().into() };
        self.events.clear();
        match epoll::wait(&self.poll, spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(other) => return Err(other.into()),
        }
        for event in &self.events {
            if let Some(slow) = self.slow.get_mut(event.data.u64() as usize) {
                slow.receive(&self.clock, &mut self.happened)?;
            }
        }
        Ok(())
    }
}
