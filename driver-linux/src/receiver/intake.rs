//! The program's end of the queue of received records.

use super::Taken;
use super::doors::Doors;
use super::in_place::Record;
use super::inbox::{self, Head, Reader};
use super::join::{Joiner, Piece};
use crate::application::{Application, Stored};
use crate::clock;
use crate::network::Remote;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tallylink_core::PeerIx;

/// Takes records out of the queue, and reports to the network thread that they are taken.
pub(crate) struct Intake<A> {
    remote: Remote<A>,
    reader: Reader,
    doors: Arc<Doors>,
    streams: Vec<Stream>,
    /// Records that [`Intake::next`] has not handed out yet.
    waiting: VecDeque<Taken>,
    /// What was taken since the last report.
    taken: Vec<Stored>,
    /// What [`Intake::hand_out`] gave last.
    handed_out: Option<Stored>,
}

/// A stream, as the program's thread sees it.
#[derive(Debug)]
struct Stream {
    peer: PeerIx,
    name: Arc<str>,
    joiner: Joiner,
}

impl<A: Application + 'static> Intake<A> {
    pub(super) fn new(remote: Remote<A>, reader: Reader, doors: Arc<Doors>) -> Self {
        Self {
            remote,
            reader,
            doors,
            streams: Vec::new(),
            waiting: VecDeque::new(),
            taken: Vec::new(),
            handed_out: None,
        }
    }

    /// As [`Receiver::next`](super::Receiver::next).
    pub(crate) fn next(&mut self, timeout: Duration) -> Option<Taken> {
        let next = self.hand_out(timeout)?;
        self.report_handed_out();
        Some(next)
    }

    /// The next record. It counts as taken after the next [`Self::report_handed_out`].
    pub(crate) fn hand_out(&mut self, timeout: Duration) -> Option<Taken> {
        let deadline = clock::deadline(timeout);
        while self.waiting.is_empty() {
            if !self.wait(deadline) {
                return None;
            }
            let mut waiting = std::mem::take(&mut self.waiting);
            self.message(&mut |r| {
                waiting.push_back(Taken {
                    peer: r.peer,
                    stream: r.stream,
                    name: r.name.into(),
                    epoch: r.epoch,
                    number: r.number,
                    bytes: r.bytes.to_vec(),
                });
            });
            self.waiting = waiting;
            if self.waiting.is_empty() {
                self.report();
            }
        }
        let next = self.waiting.pop_front()?;
        self.handed_out = Some(Stored { stream: next.stream, epoch: next.epoch, below: next.number + 1 });
        Some(next)
    }

    /// Reports everything up to the record that was handed out last.
    pub(crate) fn report_handed_out(&mut self) {
        let last = self.handed_out.take();
        if self.waiting.is_empty() {
            self.report();
        } else if let Some(last) = last {
            self.remote.stored([last]);
        }
    }

    /// Lends every record that has come to `take`, and waits for the first one for at most `timeout`. They count as taken
    /// after the next [`Self::report`]. Returns how many there were.
    pub(crate) fn lend(&mut self, timeout: Duration, mut take: impl FnMut(Record<'_>)) -> usize {
        let mut records = 0;
        while let Some(t) = self.waiting.pop_front() {
            records += 1;
            take(Record {
                peer: t.peer,
                stream: t.stream,
                name: &t.name,
                epoch: t.epoch,
                number: t.number,
                bytes: &t.bytes,
            });
        }
        let deadline = clock::deadline(timeout);
        loop {
            // No more than what can wait at a time: then it is confirmed.
            for _ in 0..inbox::MESSAGES {
                let more = self.message(&mut |r| {
                    records += 1;
                    take(r);
                });
                if !more {
                    break;
                }
            }
            // What came may be a stream's name only, or part of a record.
            if records > 0 || !self.wait(deadline) {
                return records;
            }
            self.report();
        }
    }

    /// True when the network thread is gone, and nothing more comes.
    pub(crate) fn is_over(&self) -> bool {
        self.reader.is_over()
    }

    /// Waits for a message. Returns false when there is none.
    fn wait(&self, deadline: Option<std::time::Instant>) -> bool {
        let reader = &self.reader;
        let came = || match reader.is_empty() {
            false => Some(true),
            true => reader.is_over().then_some(false),
        };
        self.doors.gate.wait(deadline, came).unwrap_or(false)
    }

    /// Takes one message apart.
    fn message(&mut self, take: &mut dyn FnMut(Record<'_>)) -> bool {
        let (streams, taken) = (&mut self.streams, &mut self.taken);
        self.reader.next(|head, bytes| match head {
            Head::Opened { stream, peer, name } => {
                let opened = Stream { peer, name: name.as_str().into(), joiner: Joiner::default() };
                match streams.get_mut(stream.at()) {
                    Some(slot) => *slot = opened,
                    // Indices are given out one after the other.
                    None => streams.push(opened),
                }
            }
            Head::Records { stream, epoch, from, to, first_start } => {
                let Some(s) = streams.get_mut(stream.at()) else {
                    return;
                };
                let piece = Piece { from, to, first_start: first_start as usize, bytes };
                let (peer, name) = (s.peer, &s.name);
                s.joiner.records(&piece, |number, bytes| take(Record { peer, stream, name, epoch, number, bytes }));
                note(taken, Stored { stream, epoch, below: to.number });
            }
            Head::Gap { stream, epoch, below } => note(taken, Stored { stream, epoch, below }),
        })
    }

    /// Reports what was taken, and that there is room.
    pub(crate) fn report(&mut self) {
        if !self.taken.is_empty() {
            self.remote.stored(self.taken.drain(..));
        }
        if self.doors.was_starved() {
            self.remote.room();
        }
    }
}

/// Notes that something was taken. Most often it is of the same stream as before.
fn note(taken: &mut Vec<Stored>, stored: Stored) {
    match taken.last_mut() {
        Some(last) if (last.stream, last.epoch) == (stored.stream, stored.epoch) => *last = stored,
        _ => taken.push(stored),
    }
}
