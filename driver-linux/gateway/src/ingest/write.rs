//! Writing in groups: what came within an interval becomes durable together.

use std::time::{Duration, Instant};

use super::receive::{Datagram, Taker};
use crate::{Error, clock};

/// A group is not left open for more, once it has so many bytes.
const GROUP_BYTES: u64 = 1 << 20;

/// Where datagrams end.
pub(super) trait Sink {
    fn put(&mut self, datagram: &Datagram<'_>) -> Result<(), Error>;

    /// Bytes that were put and not committed.
    fn pending_bytes(&self) -> u64;

    /// Makes what was put durable, or at least writes it. How many datagrams are so, all in all, comes back.
    fn commit(&mut self) -> Result<u64, Error>;

    /// The last call: commits and tidies up.
    fn close(&mut self) -> Result<u64, Error>;
}

/// A sink, its open group, and what became of everything.
#[derive(Debug)]
pub(super) struct Grouped<S> {
    sink: S,
    interval: Duration,
    /// When the open group got its first datagram.
    began: Option<Instant>,
    /// When the first datagram of all was put, and when the last group was done.
    span: Option<(Instant, Instant)>,
    stored: u64,
}

impl<S: Sink> Grouped<S> {
    pub(super) fn new(sink: S, interval: Duration) -> Self {
        Self { sink, interval, began: None, span: None, stored: 0 }
    }

    /// Datagrams stored.
    pub(super) fn stored(&self) -> u64 {
        self.stored
    }

    /// From the first datagram until the last was stored.
    pub(super) fn time(&self) -> Duration {
        self.span.map_or(Duration::ZERO, |(first, last)| last.saturating_duration_since(first))
    }

    /// Makes everything durable, and ends.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let open = self.began.take().is_some();
        self.stored = self.sink.close()?;
        if open {
            self.note_end();
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.began = None;
        self.stored = self.sink.commit()?;
        self.note_end();
        Ok(())
    }

    fn note_end(&mut self) {
        if let Some((_, last)) = &mut self.span {
            *last = clock::monotonic();
        }
    }
}

impl<S: Sink> Taker for Grouped<S> {
    fn take(&mut self, datagram: &Datagram<'_>) -> Result<bool, Error> {
        let now = clock::monotonic();
        self.span.get_or_insert((now, now));
        let began = *self.began.get_or_insert(now);
        self.sink.put(datagram)?;
        if now.saturating_duration_since(began) >= self.interval || self.sink.pending_bytes() >= GROUP_BYTES {
            self.commit()?;
        }
        Ok(true)
    }

    fn due_in(&self) -> Option<Duration> {
        let since = clock::monotonic().saturating_duration_since(self.began?);
        Some(self.interval.saturating_sub(since))
    }

    fn tend(&mut self) -> Result<(), Error> {
        if self.due_in().is_some_and(|left| left.is_zero()) { self.commit() } else { Ok(()) }
    }

    fn dropped(&self) -> u64 {
        0
    }
}
