//! Datagrams as records of a journal.

use tallylink_core::wire::varint;
use tallylink_journal::{Chunk, Journal, Position, Store, StreamId};

use super::PEER;
use super::receive::Datagram;
use super::write::Sink;
use crate::{Error, clock};

/// A journal, and the stream in it that all datagrams go to.
pub(super) struct ToJournal<S: Store> {
    journal: Journal<S>,
    stream: StreamId,
    epoch: [u8; 8],
    next: u64,
    stored: u64,
    /// The record as it is stored: its size and its bytes.
    packed: Vec<u8>,
}

impl<S: Store> ToJournal<S> {
    /// Begins an epoch of its own.
    pub(super) fn new(mut journal: Journal<S>, stream: &str) -> Result<Self, Error> {
        let stream = journal.stream(PEER, stream.as_bytes())?;
        let mut epoch = [0; 8];
        getrandom::fill(&mut epoch).map_err(tallylink_linux::StartError::Entropy)?;
        journal.begin_epoch(stream, epoch, 0, 0)?;
        Ok(Self { journal, stream, epoch, next: 0, stored: 0, packed: Vec::new() })
    }
}

impl<S: Store> Sink for ToJournal<S> {
    fn put(&mut self, datagram: &Datagram<'_>) -> Result<(), Error> {
        self.packed.clear();
        if let Ok(size) = varint::encode(datagram.bytes.len() as u64) {
            self.packed.extend_from_slice(size.as_slice());
        }
        self.packed.extend_from_slice(datagram.bytes);
        let chunk = Chunk {
            stream: self.stream,
            epoch: self.epoch,
            from: Position::start_of(self.next),
            to: Position::start_of(self.next + 1),
            first_record: 0,
            records: 1,
            bytes: &self.packed,
        };
        self.journal.append(chunk, datagram.arrival_us)?;
        self.next += 1;
        Ok(())
    }

    fn pending_bytes(&self) -> u64 {
        self.journal.pending_bytes()
    }

    fn commit(&mut self) -> Result<u64, Error> {
        for stored in self.journal.commit()? {
            self.stored = stored.below;
        }
        self.journal.maintain(clock::unix_micros())?;
        Ok(self.stored)
    }

    fn close(&mut self) -> Result<u64, Error> {
        self.commit()
    }
}
