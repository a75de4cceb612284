//! What a receiving end has been given: it stands for the driver and its disk.

use std::collections::HashMap;
use tallylink_core::wire::varint;
use tallylink_core::*;

/// What a receiving end has been given, by peer and stream name.
#[derive(Default)]
pub(crate) struct Inbox {
    names: HashMap<(PeerIx, String), InIx>,
    pub(crate) streams: Vec<Received>,
    /// How many more batches fit.
    pub(crate) room: Option<usize>,
    /// Every byte is counted, and none is kept.
    pub(crate) forgets: bool,
    pub(crate) taken: u64,
    /// Every OPEN is answered with this.
    pub(crate) refuse: Option<Refusal>,
}

#[derive(Default)]
pub(crate) struct Received {
    pub(crate) name: String,
    pub(crate) epoch: Epoch,
    pub(crate) bytes: Vec<u8>,
    pub(crate) next: Position,
    /// Number of the first record that is not on disk.
    pub(crate) stored: u64,
    pub(crate) gaps: Vec<(u64, u64, u8)>,
    /// Where each epoch before this one ended.
    earlier: HashMap<Epoch, u64>,
    /// Where in `bytes` the unfinished record begins.
    whole: usize,
}

impl Received {
    /// The whole records so far, of all epochs.
    pub(crate) fn records(&self) -> Vec<Vec<u8>> {
        let mut rest = &self.bytes[..self.whole];
        let mut records = vec![];
        while let Ok((size, length)) = varint::decode(rest) {
            let end = length + size as usize;
            records.push(rest[length..end].to_vec());
            rest = &rest[end..];
        }
        records
    }

    /// The session is over: an unfinished record is void.
    fn void_part(&mut self) {
        self.bytes.truncate(self.whole);
        self.next.offset = 0;
    }

    fn finish(&mut self, starts: usize, bytes: &[u8]) {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        if self.next.offset == 0 {
            self.whole = self.bytes.len();
        } else if starts > 0 {
            // The last record that starts in here is the unfinished one.
            self.whole = from + bytes.len() - self.next.offset as usize;
        }
    }
}

impl Inbox {
    /// The power fails: what is not stored is gone. Only for streams of one epoch.
    pub(crate) fn power_cut(&mut self) {
        for s in &mut self.streams {
            s.void_part();
            let kept = s.records().len() - (s.next.number - s.stored) as usize;
            let bytes: usize = s.records()[..kept].iter().map(|r| r.len() + varint::len(r.len() as u64)).sum();
            s.bytes.truncate(bytes);
            s.whole = bytes;
            s.next = Position::start_of(s.stored);
        }
    }

    /// The records of an epoch below `below` were stored at some time before.
    pub(crate) fn knows(&mut self, name: &str, epoch: Epoch, below: u64) {
        self.names.insert((PeerIx(0), name.to_string()), InIx(self.streams.len() as u32));
        let next = Position::start_of(below);
        self.streams.push(Received { name: name.into(), epoch, next, stored: below, ..Received::default() });
    }

    /// The one stream of a peer, by the name that every device of a crowd uses.
    pub(crate) fn stream_of(&self, peer: PeerIx, name: &str) -> Option<InIx> {
        self.names.get(&(peer, name.to_string())).copied()
    }

    pub(crate) fn stream(&self, name: &str) -> &Received {
        self.streams.iter().find(|s| s.name == name).expect("the stream was opened")
    }
}

impl Deliver for Inbox {
    fn open(&mut self, peer: PeerIx, open: &Open<'_>) -> Result<Accept, Refusal> {
        if let Some(refusal) = self.refuse {
            return Err(refusal);
        }
        let fresh = InIx(self.streams.len() as u32);
        let ix = *self.names.entry((peer, open.name.to_string())).or_insert(fresh);
        if ix == fresh {
            self.streams.push(Received { name: open.name.into(), epoch: open.epoch, ..Received::default() });
        }
        let s = &mut self.streams[ix.at()];
        s.void_part();
        if s.epoch != open.epoch {
            s.earlier.insert(s.epoch, s.next.number);
            let next = s.earlier.get(&open.epoch).copied().unwrap_or(0);
            (s.epoch, s.next, s.stored) = (open.epoch, Position::start_of(next), next);
        }
        Ok(Accept { stream: ix, stored_below: s.stored, next: s.next.number })
    }

    fn records(&mut self, batch: Batch<'_>) -> Result<(), Full> {
        if let Some(room) = &mut self.room {
            *room = room.checked_sub(1).ok_or(Full)?;
        }
        let s = &mut self.streams[batch.stream.at()];
        assert_eq!(batch.epoch, s.epoch, "delivery is of the epoch that was opened");
        assert_eq!(batch.from, s.next, "delivery continues the stream");
        assert!(!batch.bytes.is_empty() && batch.to > batch.from);
        s.next = batch.to;
        if self.forgets {
            self.taken += batch.bytes.len() as u64;
            return Ok(());
        }
        s.finish(batch.starts as usize, batch.bytes);
        Ok(())
    }

    fn gap(&mut self, stream: InIx, _: Epoch, from: u64, below: u64, reason: u8) -> Result<(), Full> {
        let s = &mut self.streams[stream.at()];
        assert_eq!(from, s.next.number, "a gap continues the stream");
        assert!(below > from);
        s.void_part();
        s.gaps.push((from, below, reason));
        s.next = Position::start_of(below);
        Ok(())
    }
}
