//! The thread of an outbox: what was pushed becomes durable, what is durable goes to the network thread.

use super::handover::Block;
use super::shared::{GROUP_BYTES, Shared};
use crate::clock;
use crate::outbox::{Group, Outbox, OutboxError};
use crate::sync::current;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tallylink_journal::Store;

/// What is STORED is noted on disk so often when nothing else is written: a restart then has less to read and to ask.
const MARK_EVERY: Duration = Duration::from_secs(1);
/// After a failure the disk is tried again so soon, and after further ones later.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(5);
/// After checkpoints or deletions failed, they are tried again this much later.
const UPKEEP_AGAIN: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Keeper<S: Store + Clone> {
    outbox: Outbox<S>,
    shared: Arc<Shared>,
    /// Wakes the network thread, and whoever waits for the end.
    wake: Box<dyn Fn() + Send>,
    /// How long records wait for others to share an fdatasync with.
    group_every: Duration,
    /// What was fetched and is not durable.
    group: Group,
    /// When what waits was first seen.
    seen: Option<Instant>,
    /// When what is STORED is noted at the latest.
    mark_at: Option<Instant>,
    /// The disk failed; when it is tried again.
    retry: Option<(Instant, Duration)>,
    /// Checkpoints or deletions failed; when they are tried again.
    upkeep_at: Option<Instant>,
    /// Reading failed, or does not see all that is durable; when that is tried again.
    read_at: Option<Instant>,
    /// Nothing may be pushed any more, whatever the disk does.
    over: bool,
}

impl<S: Store + Clone> Keeper<S> {
    pub(crate) fn new(outbox: Outbox<S>, shared: Arc<Shared>, wake: Box<dyn Fn() + Send>) -> Self {
        let group_every = outbox.options().group_every;
        Self {
            outbox,
            shared,
            wake,
            group_every,
            group: Group::default(),
            seen: None,
            mark_at: None,
            retry: None,
            upkeep_at: None,
            read_at: None,
            over: false,
        }
    }

    /// Runs on a thread of its own until what comes back is dropped.
    pub(crate) fn start(self) -> io::Result<Kept>
    where
        S: Send + 'static,
        S::File: Send,
        S::Lock: Send,
    {
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name("tallylink-outbox".into()).spawn(move || self.run())?;
        Ok(Kept { shared, thread: Some(thread) })
    }

    fn run(mut self) {
        let _closing = Closing(Arc::clone(&self.shared));
        self.shared.kept_by(current());
        loop {
            let closing = self.shared.closing();
            self.confirm();
            self.write(closing);
            if closing && (self.over || (self.group.is_empty() && self.shared.queued().0 == 0)) {
                break;
            }
            self.keep_up();
            let handed_on = self.hand_on();
            if handed_on {
                continue;
            }
            match self.due() {
                Some(due) => {
                    let left = clock::left(due);
                    if !left.is_zero() {
                        thread::park_timeout(left);
                    }
                }
                None => thread::park(),
            }
        }
        if !self.over && self.retry.is_none() {
            // Only the next opening is quicker for it.
            let _ = self.outbox.close();
        }
    }

    /// Takes note of what is STORED.
    fn confirm(&mut self) {
        let Some(told) = self.shared.take_told() else { return };
        if !self.outbox.free(told.epoch, told.stored) {
            self.shared.was_rolled_back();
            tracing::warn!(
                "the gateway has records up to {} of epoch {:?}, which this outbox never had: it was restored from an older copy, \
                 or copied; nothing is sent twice, and what is pushed from now on has an epoch of its own",
                told.stored,
                told.epoch
            );
            if told.epoch == self.outbox.fresh() {
                self.over = true;
                self.shared.fails(OutboxError::Cloned);
            }
        }
        self.tell();
        if self.outbox.waiting() == 0 {
            (self.wake)();
        }
        if self.outbox.unmarked() > 0 && self.mark_at.is_none() {
            self.mark_at = clock::deadline(MARK_EVERY);
        }
    }

    fn tell(&self) {
        let (durable, stored, waiting) =
            (self.outbox.durable_below(), self.outbox.stored_below(), self.outbox.waiting());
        self.shared.is_now(durable, stored, waiting, waiting - (durable - stored));
    }

    /// Makes a group durable, when it is time for one.
    fn write(&mut self, closing: bool) {
        let now = clock::monotonic();
        if self.over || self.retry.is_some_and(|(at, _)| now < at && !closing) {
            return;
        }
        if self.group.is_empty() && self.is_time(now, closing) {
            self.seen = None;
            self.shared.fetch(&mut self.group);
        }
        let marks = self.outbox.unmarked() > 0
            && (closing || self.outbox.awaits_mark() || self.mark_at.is_some_and(|at| at <= now));
        if self.group.is_empty() && !marks && self.retry.is_none() {
            return;
        }
        let appended =
            if self.group.is_empty() { Ok(()) } else { self.outbox.append(&self.group, clock::unix_micros()) };
        match appended.and_then(|()| self.outbox.commit()) {
            Ok(()) => {
                let end = self.group.end();
                self.group.restart(end);
                (self.retry, self.mark_at) = (None, None);
                self.shared.works();
            }
            Err(why) => self.fail(why, closing),
        }
        self.tell();
        if self.upkeep_at.is_none() {
            self.maintain();
        }
    }

    /// Does what upkeep failed to do, when that is due: nothing more may be written for long.
    fn keep_up(&mut self) {
        if self.upkeep_at.is_some_and(|at| at <= clock::monotonic()) {
            self.maintain();
        }
    }

    fn maintain(&mut self) {
        let kept = self.outbox.maintain(clock::unix_micros());
        // Once for each time that it begins to fail: what fails is tried often.
        if let Err(why) = &kept
            && self.upkeep_at.is_none()
        {
            tracing::warn!("{why}; what was delivered stays on the disk until that is mended");
        }
        self.upkeep_at = kept.err().and_then(|_| clock::deadline(UPKEEP_AGAIN));
    }

    /// Whether what waits is enough, or has waited long enough, to be fetched.
    fn is_time(&mut self, now: Instant, closing: bool) -> bool {
        let (bytes, hurry) = self.shared.queued();
        if bytes == 0 {
            return false;
        }
        let seen = *self.seen.get_or_insert(now);
        hurry || closing || bytes >= GROUP_BYTES || now.saturating_duration_since(seen) >= self.group_every
    }

    /// What was taken stays in memory and is tried again; what is durable goes out meanwhile.
    fn fail(&mut self, why: OutboxError, closing: bool) {
        self.outbox.rewind();
        let pause = self.retry.map_or(FIRST_RETRY, |(_, pause)| (pause * 2).min(LAST_RETRY));
        if self.retry.is_none() || closing {
            tracing::error!("{why}; it is tried again, and what is durable is sent meanwhile");
        }
        self.retry = clock::deadline(pause).map(|at| (at, pause));
        self.shared.fails(why);
        if closing {
            // Whoever pushed was told that it is not durable.
            let end = self.group.end();
            self.group.restart(end);
            self.shared.fetch(&mut Group::default());
        }
    }

    /// Hands durable records to the network thread. True when something was handed on.
    fn hand_on(&mut self) -> bool {
        if self.read_at.is_some_and(|at| clock::monotonic() < at) {
            return false;
        }
        let again = self.read_at.take().is_some();
        if again && !self.outbox.is_published() {
            self.maintain();
        }
        let mut any = false;
        while self.shared.handover.has_room() {
            let mut bytes = self.shared.handover.buffer();
            match self.outbox.next(&mut bytes) {
                Ok(Some(next)) => {
                    self.shared.handover.put(Block { next, bytes, placed: 0 });
                    (self.wake)();
                    any = true;
                }
                Ok(None) => {
                    self.shared.handover.give_back(bytes);
                    if !self.outbox.is_published() {
                        self.read_at = clock::deadline(FIRST_RETRY);
                    }
                    break;
                }
                Err(why) => {
                    self.shared.handover.give_back(bytes);
                    if !again {
                        tracing::error!("{why}; reading is tried again");
                    }
                    self.read_at = clock::deadline(FIRST_RETRY);
                    break;
                }
            }
        }
        any
    }

    /// When there is something to do again.
    fn due(&self) -> Option<Instant> {
        let group = self.seen.and_then(|seen| seen.checked_add(self.group_every));
        let write = match self.retry {
            Some((at, _)) => Some(at),
            None => [group, self.mark_at].into_iter().flatten().min(),
        };
        [write.filter(|_| !self.over), self.read_at, self.upkeep_at].into_iter().flatten().min()
    }
}

/// A keeper's thread. It ends, with everything that was pushed durable, when this is dropped.
#[derive(Debug)]
pub(crate) struct Kept {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.shared.close();
        if let Some(thread) = self.thread.take() {
            // A panic there was reported there.
            let _ = thread.join();
        }
    }
}

/// Tells everybody that nobody keeps the outbox any more, also when the thread panics.
struct Closing(Arc<Shared>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.is_closed();
    }
}
