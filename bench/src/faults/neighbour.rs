//! Another sender, which no fault may reach unless it is the gateway's: it pushes a record now and then and notes how long each waits
//! to be STORED.
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};
use tallylink_linux::{Sender, Settings};

use crate::{clock, lab::Namespace, many::Provided};

/// Between two records.
const PERIOD: Duration = Duration::from_millis(50);
/// Between two looks at what is STORED.
const LOOK: Duration = Duration::from_millis(2);
/// For the last records, after the last fault is over.
const PATIENCE: Duration = Duration::from_secs(60);
pub(super) const STREAM: &str = "beside";

pub(super) struct Neighbour {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Result<Waits>>,
}

/// When each record was pushed, and how long it waited.
pub(super) struct Waits(Vec<(Instant, Duration)>);

impl Neighbour {
    /// Starts it where the calling thread is.
    pub(super) fn start(land: &Namespace, gateway: String, key: &Provided) -> Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let (watched, provision) = (Arc::clone(&over), key.device());
        let thread = land.within(|| {
            let sender = Sender::with(&Settings::sender(), &gateway, provision)?;
            Ok(thread::Builder::new().name("neighbour".into()).spawn(move || beat(&sender, &watched))?)
        })?;
        Ok(Self { over, thread })
    }

    /// Ends it when all of its records are STORED.
    pub(super) fn end(self) -> Result<Waits> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the neighbour panicked"))?
    }
}

fn beat(sender: &Sender, over: &AtomicBool) -> Result<Waits> {
    let mut stream = sender.open(STREAM)?;
    let (mut waits, mut waiting, mut due) = (Vec::new(), VecDeque::new(), clock::wall());
    let mut give_up = None;
    loop {
        let now = clock::wall();
        let stored = stream.stored_below();
        while waits.len() < stored as usize {
            let Some(pushed) = waiting.pop_front() else { break };
            waits.push((pushed, now - pushed));
        }
        let ends = over.load(Ordering::Relaxed);
        if ends && (waiting.is_empty() || now > *give_up.get_or_insert(now + PATIENCE)) {
            waits.extend(waiting.into_iter().map(|pushed| (pushed, now - pushed)));
            return Ok(Waits(waits));
        }
        if due <= now && !ends {
            stream.push(format!("{}\n", stream.next()).as_bytes())?;
            waiting.push_back(now);
            due = now + PERIOD;
        }
        thread::sleep(LOOK);
    }
}

impl Waits {
    pub(super) fn records(&self) -> u64 {
        self.0.len() as u64
    }

    /// The longest wait of a record that was pushed at this time.
    pub(super) fn longest(&self, from: Instant, to: Instant) -> Duration {
        let then = self.0.iter().filter(|(pushed, _)| (from..to).contains(pushed));
        then.map(|(_, wait)| *wait).max().unwrap_or_default()
    }
}
