//! One thread's network: a socket, all its sessions, and the loop that drives them.
//!
//! ```text
//! loop {
//!     // push, open streams, read counters …
//!     if !network.turn() {
//!         network.wait(None, || nothing_came_from_other_threads())?;
//!     }
//! }
//! ```
//!
//! A turn never blocks and does a bounded amount of work: what arrived, what is due, what other threads asked for, what can
//! leave. [`Network::run`] is that loop for a program that does the rest on other threads, through a [`Remote`].

mod peers;
mod pending;
mod remote;
#[cfg(test)]
mod tests;
mod transmit;

pub use peers::{AddPeerError, OpenError};
pub use remote::{Gone, Remote};

use crate::application::Application;
use crate::clock::Clock;
use crate::crypto::{AwsLc, AwsLcKey};
use crate::entropy::boot_seed;
use crate::settings::{Settings, StartError};
use crate::socket::incoming::Incoming;
use crate::socket::io::{Datagrams, Udp};
use crate::socket::out::Outgoing;
use crate::socket::{Buffers, SocketCounters};
use crate::storage::Boxed;
use crate::wake::Wake;
use mio::{Events, Interest, Poll, Token};
use remote::Shared;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tallylink_core::{BootSeed, Endpoint, Handled, Instant};

const SOCKET: Token = Token(0);
const WAKER: Token = Token(1);

/// A turn stops receiving after so many datagrams: acknowledgements are due, and timers may be.
const DATAGRAMS_A_TURN: usize = 512;
/// A turn that received at least so many datagrams is followed by a short pause before the next sleep.
const BUSY_TURN: usize = 32;
/// That pause. What arrives in it wakes nobody and is taken in one go, as by a network card that moderates its interrupts.
const PAUSE: Duration = Duration::from_micros(150);
/// Streams that can be opened by datagrams of one coalesced run before the next is looked at. None is larger than 64 KiB,
/// and no OPEN shorter than 20 bytes.
const STREAMS_AHEAD: u32 = 4096;

/// A socket and the sessions over it, driven by the thread that owns it.
#[derive(Debug)]
pub struct Network<A> {
    application: A,
    endpoint: Endpoint<AwsLc, Boxed<AwsLcKey>>,
    clock: Clock,
    io: Box<dyn Datagrams>,
    incoming: Incoming,
    outgoing: Outgoing,
    counters: SocketCounters,
    poll: Poll,
    events: Events,
    shared: Arc<Shared<A>>,
    /// The socket may have more: it has not said otherwise since the system last said that it has.
    maybe_readable: bool,
    /// The socket was full, and has not said otherwise.
    blocked: bool,
    /// The system was asked to say when the socket is no longer full.
    watches_room: bool,
    /// The deadline that was served last.
    served: Option<Instant>,
    /// The last turn received a lot.
    busy: bool,
    /// When the first record was pushed since the last turn.
    pushing_since: Option<Instant>,
}

impl<A: Application + 'static> Network<A> {
    /// Binds the socket and starts without peers.
    ///
    /// # Errors
    /// [`StartError`]
    pub fn new(settings: &Settings, application: A) -> Result<Self, StartError> {
        let io = Udp::bind(settings.listen, settings.receive_buffer, settings.send_buffer)
            .map_err(|source| StartError::Bind { listen: settings.listen, source })?;
        Self::over(Box::new(io), settings, application, boot_seed()?)
    }

    pub(crate) fn over(
        mut io: Box<dyn Datagrams>,
        settings: &Settings,
        application: A,
        boot: BootSeed,
    ) -> Result<Self, StartError> {
        let storage = Boxed::new(&settings.config, settings.links);
        let endpoint = Endpoint::new(settings.config.clone(), AwsLc, storage, boot)?;
        let poll = Poll::new()?;
        io.watch(poll.registry(), SOCKET, Interest::READABLE)?;
        let waker = mio::Waker::new(poll.registry(), WAKER)?;
        Ok(Self {
            application,
            endpoint,
            clock: Clock::start(),
            incoming: Incoming::new(),
            outgoing: Outgoing::new(&*io),
            io,
            counters: SocketCounters::default(),
            poll,
            events: Events::with_capacity(8),
            shared: Arc::new(Shared::new(Wake::new(waker))),
            maybe_readable: true,
            blocked: false,
            watches_room: false,
            served: None,
            busy: false,
            pushing_since: None,
        })
    }

    /// Does what there is to do now, and not more than a bounded amount of it. Never blocks.
    ///
    /// Returns true when there is more, so that the next turn should follow at once. Otherwise [`Network::wait`] comes first: only
    /// there is it learned that the socket has something again.
    pub fn turn(&mut self) -> bool {
        self.pushing_since = None;
        self.take_calls();
        self.receive();
        let now = self.clock.now();
        if let Some(due) = self.endpoint.next_timeout()
            && due <= now
        {
            self.endpoint.handle_timeout(now);
            self.served = Some(due);
        }
        self.confirm(now);
        let more = self.transmit();
        while let Some(event) = self.endpoint.next_event() {
            self.application.event(event);
        }
        more || self.maybe_readable
    }

    /// Waits until there is something to do, or `at_most` has passed. After [`Remote::stop`] it does not wait.
    ///
    /// `idle` is asked once, when threads that bring work can already see that this one is about to sleep: it returns false
    /// when there is work after all.
    ///
    /// # Errors
    /// When the system's event queue fails.
    pub fn wait(&mut self, at_most: Option<Duration>, idle: impl FnOnce() -> bool) -> io::Result<()> {
        if self.maybe_readable {
            return Ok(());
        }
        let Some(timeout) = self.timeout(at_most) else {
            return Ok(());
        };
        if std::mem::take(&mut self.busy) && !self.shared.pending.any() {
            std::thread::sleep(PAUSE);
            self.maybe_readable = true;
            return Ok(());
        }
        let (shared, poll, events) = (&self.shared, &mut self.poll, &mut self.events);
        events.clear();
        shared.wake.sleep(
            // What stops it may have been seen by a turn that was looking for something else.
            || !shared.pending.any() && !shared.pending.stopped() && idle(),
            || match poll.poll(events, timeout) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
                other => other,
            },
        )?;
        for event in self.events.iter().filter(|e| e.token() == SOCKET) {
            // An error waits to be fetched like a datagram.
            self.maybe_readable |= event.is_readable() || event.is_error();
            self.blocked &= !(event.is_writable() || event.is_error());
        }
        Ok(())
    }

    /// Turns until [`Remote::stop`].
    ///
    /// # Errors
    /// As [`Network::wait`].
    pub fn run(&mut self) -> io::Result<()> {
        while !self.stopped() {
            if !self.turn() {
                self.wait(None, || true)?;
            }
        }
        Ok(())
    }

    /// True after [`Remote::stop`].
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.shared.pending.stopped()
    }

    /// A handle by which other threads reach this network.
    #[must_use]
    pub fn remote(&self) -> Remote<A> {
        Remote::new(Arc::clone(&self.shared))
    }

    /// The program's part.
    #[must_use]
    pub fn application(&self) -> &A {
        &self.application
    }

    /// The program's part.
    pub fn application_mut(&mut self) -> &mut A {
        &mut self.application
    }

    /// Core's endpoint, to look at.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint<AwsLc, Boxed<AwsLcKey>> {
        &self.endpoint
    }

    /// What happened at the socket.
    #[must_use]
    pub fn counters(&self) -> &SocketCounters {
        &self.counters
    }

    /// How many datagrams the kernel dropped because the receive buffer was full (from /proc/net/udp and udp6).
    #[must_use]
    pub fn kernel_drops(&self) -> Option<u64> {
        self.io.kernel_drops()
    }

    /// The socket's buffers.
    #[must_use]
    pub fn buffers(&self) -> Buffers {
        self.io.buffers()
    }

    /// Where this end listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// The time that sessions live in.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    fn receive(&mut self) {
        let (mut datagrams, mut calls) = (0, 0);
        let mut now = self.clock.now();
        // A call that brings an error in place of datagrams counts, too: work per turn is bounded.
        while self.maybe_readable && datagrams < DATAGRAMS_A_TURN && calls <= DATAGRAMS_A_TURN {
            let Some((path, ecn, datagram)) = self.incoming.next() else {
                calls += 1;
                self.maybe_readable = self.incoming.fill(&*self.io, &mut self.counters);
                now = self.clock.now();
                let streams = self.application.streams().saturating_add(STREAMS_AHEAD);
                self.endpoint.storage_mut().grow_inbound(streams as usize);
                continue;
            };
            datagrams += 1;
            self.counters.datagrams_received += 1;
            let handled = self.endpoint.handle_datagram(now, path, ecn, datagram, &mut self.application);
            if let Ok(Handled::Reply(len)) = handled
                && let Some(answer) = datagram.get(..len)
            {
                Outgoing::reply(&*self.io, path, answer, &mut self.counters);
            }
            if self.endpoint.wants_to_send() {
                break;
            }
        }
        self.busy = datagrams >= BUSY_TURN;
    }

    /// Tells core what the application and other threads have stored, and that there is room.
    fn confirm(&mut self, now: Instant) {
        while let Some(s) = self.application.stored() {
            self.endpoint.stored(now, s.stream, s.epoch, s.below);
        }
        if self.application.room() {
            self.endpoint.room(now, &mut self.application);
        }
    }

    /// How long to sleep: `None` when a deadline has passed already.
    #[expect(clippy::option_option, reason = "not sleeping and sleeping without end are different")]
    fn timeout(&mut self, at_most: Option<Duration>) -> Option<Option<Duration>> {
        let Some(due) = self.endpoint.next_timeout() else {
            return Some(at_most);
        };
        let mut left = due.since(self.clock.now()).as_micros();
        if left == 0 {
            if self.served != Some(due) {
                return None;
            }
            // It was served and has not moved: a deadline runs once, and must not make a spin.
            self.counters.deadlines_stuck += 1;
            left = 1;
        }
        // The system waits whole milliseconds: a shorter wait must not become none.
        let timeout = Duration::from_millis(left.div_ceil(1000));
        Some(Some(at_most.map_or(timeout, |most| most.min(timeout))))
    }
}
