//! Which epochs an outbox holds, and how far each is durable, STORED, and known on disk to be STORED.

use tallylink_core::Epoch;
use tallylink_core::wire::Previous;
use tallylink_journal::{Journal, Store, StreamId};

/// The epochs of one outbox, oldest first.
#[derive(Debug)]
pub(super) struct Epochs {
    rows: Vec<Row>,
}

/// One epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) epoch: Epoch,
    /// Records below are durable here.
    pub(super) end: u64,
    /// Records below are STORED there.
    pub(super) freed: u64,
    /// The same as far as the disk knows.
    marked: u64,
}

/// What an outbox holds of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochNow {
    /// The epoch.
    pub epoch: Epoch,
    /// Number of the first record that is not STORED.
    pub stored_below: u64,
    /// Number of the first record that is not durable here.
    pub durable_below: u64,
}

impl Epochs {
    /// The epochs that a journal remembers.
    pub(super) fn of<S: Store>(journal: &Journal<S>, stream: StreamId) -> Self {
        let row = |(epoch, state): ([u8; 8], tallylink_journal::EpochState)| Row {
            epoch: Epoch(epoch),
            // What was damaged behind the mark had been delivered.
            end: state.stored_below.max(state.freed_below),
            freed: state.freed_below,
            marked: state.freed_below,
        };
        let mut rows: Vec<Row> = journal.epochs(stream).map(row).collect();
        rows.reverse();
        Self { rows }
    }

    /// The epoch to send from, with its predecessor: the oldest that is not all STORED, unless one before it is not known on
    /// disk to be.
    pub(super) fn sendable(&self) -> Option<(Row, Option<Previous>)> {
        let at = self.rows.iter().position(|row| row.marked < row.end)?;
        let row = *self.rows.get(at)?;
        (row.freed < row.end).then(|| (row, self.before(at)))
    }

    /// Where sending begins after opening; with nothing left, at `fresh`.
    pub(super) fn begins(&self, fresh: Epoch) -> (Epoch, u64, Option<Previous>) {
        match self.sendable() {
            Some((row, previous)) => (row.epoch, row.freed, previous),
            None => match self.rows.iter().position(|row| row.epoch == fresh) {
                Some(at) => (fresh, self.freed(fresh), self.before(at)),
                None => (fresh, 0, self.before(self.rows.len())),
            },
        }
    }

    fn before(&self, at: usize) -> Option<Previous> {
        let row = self.rows.get(at.checked_sub(1)?)?;
        Some(Previous { epoch: row.epoch, end: row.end })
    }

    /// Whether records of `a` go before those of `b`; an epoch that is forgotten went long ago.
    pub(super) fn precedes(&self, a: Epoch, b: Epoch) -> bool {
        let place = |epoch| self.rows.iter().position(|row| row.epoch == epoch);
        place(a) < place(b)
    }

    /// Records of `epoch` below `end` are durable.
    pub(super) fn durable(&mut self, epoch: Epoch, end: u64) {
        match self.rows.iter_mut().find(|row| row.epoch == epoch) {
            Some(row) => row.end = row.end.max(end),
            None if end > 0 => self.rows.push(Row { epoch, end, freed: 0, marked: 0 }),
            None => {}
        }
    }

    /// Records of `epoch` below `below` are STORED. False if that is more than there ever was.
    pub(super) fn free(&mut self, epoch: Epoch, below: u64) -> bool {
        let Some(row) = self.rows.iter_mut().find(|row| row.epoch == epoch) else { return below == 0 };
        row.freed = row.freed.max(below.min(row.end));
        below <= row.end
    }

    /// What the disk does not know to be STORED.
    pub(super) fn unmarked(&self) -> impl Iterator<Item = (Epoch, u64)> {
        self.rows.iter().filter(|row| row.marked < row.freed).map(|row| (row.epoch, row.freed))
    }

    pub(super) fn unmarked_records(&self) -> u64 {
        self.rows.iter().map(|row| row.freed - row.marked).sum()
    }

    /// Now it does.
    pub(super) fn marked(&mut self, marks: &[(Epoch, u64)]) {
        for (epoch, below) in marks {
            if let Some(row) = self.rows.iter_mut().find(|row| row.epoch == *epoch) {
                row.marked = row.marked.max(*below);
            }
        }
    }

    pub(super) fn awaits_mark(&self) -> bool {
        let Some(at) = self.rows.iter().position(|row| row.marked < row.end) else { return false };
        self.rows.get(at).is_some_and(|row| row.freed >= row.end) && at + 1 < self.rows.len()
    }

    pub(super) fn has(&self, epoch: Epoch) -> bool {
        self.rows.iter().any(|row| row.epoch == epoch)
    }

    pub(super) fn end(&self, epoch: Epoch) -> u64 {
        self.rows.iter().find(|row| row.epoch == epoch).map_or(0, |row| row.end)
    }

    pub(super) fn freed(&self, epoch: Epoch) -> u64 {
        self.rows.iter().find(|row| row.epoch == epoch).map_or(0, |row| row.freed)
    }

    pub(super) fn waiting(&self) -> u64 {
        self.rows.iter().map(|row| row.end - row.freed).sum()
    }

    pub(super) fn undelivered(&self) -> usize {
        self.rows.iter().filter(|row| row.freed < row.end).count()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = EpochNow> {
        self.rows.iter().map(|row| EpochNow { epoch: row.epoch, stored_below: row.freed, durable_below: row.end })
    }
}
