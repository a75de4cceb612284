//! How other threads reach the network thread: what they stored, that there is room, and anything else as a call.

use super::Network;
use super::pending::Pending;
use crate::application::{Application, Stored};
use crate::wake::Wake;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

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
    pub(super) pending: Pending<Call<A>>,
}

type Call<A> = Box<dyn FnOnce(&mut Network<A>) + Send>;

impl<A> Shared<A> {
    pub(super) fn new(wake: Wake) -> Self {
        Self { wake, pending: Pending::new() }
    }
}

impl<A: Application + 'static> Remote<A> {
    pub(super) fn new(shared: Arc<Shared<A>>) -> Self {
        Self { shared }
    }

    /// Reports what is stored. Only the newest report of a stream counts, so that reports never pile up.
    pub fn stored(&self, reports: impl IntoIterator<Item = Stored>) {
        self.shared.pending.stored(reports);
        self.notify();
    }

    /// Reports that there is room again after `Full`.
    pub fn room(&self) {
        self.shared.pending.room();
        self.notify();
    }

    /// Has `call` run on the network thread, soon.
    ///
    /// # Errors
    /// [`Gone`]; it will not run.
    pub fn run(&self, call: impl FnOnce(&mut Network<A>) + Send + 'static) -> Result<(), Gone> {
        if !self.shared.pending.call(Box::new(call)) {
            return Err(Gone);
        }
        self.notify();
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
        self.shared.pending.stop();
        self.notify();
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
        if !self.shared.pending.any() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let now = self.clock.now();
        let (room, calls) = shared.pending.take(|s| {
            self.endpoint.stored(now, s.stream, s.epoch, s.below);
            self.application.confirmed(s);
        });
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
        // Whoever waits for the result of a call is told.
        drop(self.shared.pending.close());
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
