//! How other threads reach the network thread: what they stored, that there is room, and anything else as a call.

use super::Network;
use crate::application::{Application, Stored};
use crate::wake::Wake;
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::fmt;
use std::hash::RandomState;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tallylink_core::InIx;

/// How many calls may wait.
const CALLS_MAX: usize = 1024;

/// A handle by which other threads reach a [`Network`]. The network thread is woken only when it sleeps.
pub struct Remote<A> {
    shared: Arc<Shared<A>>,
}

/// The network has stopped, or has so many calls waiting that another is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the network has stopped, or has too many calls waiting")]
pub struct Gone;

/// What threads share with the network thread.
pub(super) struct Shared<A> {
    pub(super) wake: Wake,
    any: AtomicBool,
    stop: AtomicBool,
    queue: Mutex<Queue<A>>,
}

type Call<A> = Box<dyn FnOnce(&mut Network<A>) + Send>;

/// What waits for the network thread. It is bounded: by the streams there are, and by [`CALLS_MAX`].
struct Queue<A> {
    /// The newest report of each stream.
    stored: HashMap<InIx, Stored, RandomState>,
    room: bool,
    calls: VecDeque<Call<A>>,
    gone: bool,
}

impl<A> Shared<A> {
    pub(super) fn new(wake: Wake) -> Self {
        Self {
            wake,
            any: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            queue: Mutex::new(Queue { stored: HashMap::default(), room: false, calls: VecDeque::new(), gone: false }),
        }
    }

    /// True when something waits.
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn queue(&self) -> MutexGuard<'_, Queue<A>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self, queue: MutexGuard<'_, Queue<A>>) {
        self.any.store(true, Ordering::Release);
        drop(queue);
        self.wake.notify();
    }
}

impl<A: Application + 'static> Remote<A> {
    pub(super) fn new(shared: Arc<Shared<A>>) -> Self {
        Self { shared }
    }

    /// Reports what is stored. Only the newest report of a stream counts, so that reports never pile up.
    pub fn stored(&self, reports: impl IntoIterator<Item = Stored>) {
        let mut queue = self.shared.queue();
        for report in reports {
            queue.stored.insert(report.stream, report);
        }
        self.shared.announce(queue);
    }

    /// Reports that there is room again after `Full`.
    pub fn room(&self) {
        let mut queue = self.shared.queue();
        queue.room = true;
        self.shared.announce(queue);
    }

    /// Has `call` run on the network thread, soon.
    ///
    /// # Errors
    /// [`Gone`]; it will not run.
    pub fn run(&self, call: impl FnOnce(&mut Network<A>) + Send + 'static) -> Result<(), Gone> {
        let mut queue = self.shared.queue();
        if queue.gone || queue.calls.len() >= CALLS_MAX {
            return Err(Gone);
        }
        queue.calls.push_back(Box::new(call));
        self.shared.announce(queue);
        Ok(())
    }

    /// Has `call` run on the network thread and waits for what it returns. Not to be used on the network thread itself.
    ///
    /// # Errors
    /// [`Gone`]; it did not run.
    pub fn call<T: Send + 'static>(&self, call: impl FnOnce(&mut Network<A>) -> T + Send + 'static) -> Result<T, Gone> {
        let (tell, told) = sync_channel(1);
        self.run(move |network| {
            // Nobody listens when the caller has died: that is its own affair.
            let _ = tell.send(call(network));
        })?;
        told.recv().map_err(|_| Gone)
    }

    /// Ends [`Network::run`].
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.announce(self.shared.queue());
    }

    /// Wakes the network thread, if it sleeps, to look at what was put where its `idle` looks.
    #[inline]
    pub fn notify(&self) {
        self.shared.wake.notify();
    }
}

impl<A: Application + 'static> Network<A> {
    /// Does what other threads asked for.
    pub(super) fn take_calls(&mut self) {
        if !self.shared.any() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let mut queue = shared.queue();
        shared.any.store(false, Ordering::Release);
        let now = self.clock.now();
        for (_, s) in queue.stored.drain() {
            self.endpoint.stored(now, s.stream, s.epoch, s.below);
            self.application.confirmed(s);
        }
        let room = std::mem::take(&mut queue.room);
        let calls = std::mem::take(&mut queue.calls);
        drop(queue);
        if room {
            self.endpoint.room(now, &mut self.application);
        }
        for call in calls {
            call(self);
        }
    }
}

impl<A> Drop for Network<A> {
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        queue.gone = true;
        // Whoever waits for the result of one of these is told.
        let calls = std::mem::take(&mut queue.calls);
        drop(queue);
        drop(calls);
    }
}

impl<A> Clone for Remote<A> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<A> fmt::Debug for Remote<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Remote(..)")
    }
}

impl<A> fmt::Debug for Shared<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared(..)")
    }
}
