//! Walking the entries of one segment through a window of fixed size.
//!
//! Used alike by recovery, by readers and by the check of a whole journal.

use std::io;
use std::ops::Range;

use crate::entry::{self, Entry, MAX_ENTRY, MAX_HEADER};
use crate::halt::Halt;
use crate::seal::Mask;
use crate::store::{StoreFile, read_full};

/// How much is read from the file at once, at most.
const READ: usize = 1 << 20;

/// What lies at the scanner's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A whole entry, of which the first byte lies at `at`; [`Scanner::body`] lends its body.
    Entry { at: u64, entry: Entry },
    /// No whole entry begins here. The scanner stays where it is.
    Bad { at: u64 },
    /// The limit is reached.
    End,
}

/// Walks the entries between two offsets of a segment.
pub(crate) struct Scanner<F> {
    file: F,
    mask: Mask,
    /// Bytes of the file from `window_at` on; `filled` of them are read.
    window: Vec<u8>,
    window_at: u64,
    filled: usize,
    /// Where the next entry begins.
    at: u64,
    /// No entry reaches beyond this.
    limit: u64,
    /// Where the last entry's body lies in the window.
    body: Range<usize>,
    stop: Halt,
}

impl<F: StoreFile> Scanner<F> {
    pub(crate) fn new(file: F, mask: Mask, at: u64, limit: u64) -> Self {
        Self { file, mask, window: Vec::new(), window_at: at, filled: 0, at, limit, body: 0..0, stop: Halt::default() }
    }

    /// Ends with an error once that is asked for.
    pub(crate) fn until(self, stop: &Halt) -> Self {
        Self { stop: stop.clone(), ..self }
    }

    /// Goes on in another file with the same window.
    pub(crate) fn reopen(&mut self, file: F, mask: Mask, at: u64, limit: u64) {
        self.file = file;
        self.mask = mask;
        self.window_at = at;
        self.filled = 0;
        self.at = at;
        self.limit = limit;
    }

    /// Where the next entry begins.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Lets the walk go on to `limit`, not below the present one.
    pub(crate) fn extend(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
    }

    /// The body of the entry that the last [`next`](Self::next) returned.
    pub(crate) fn body(&self) -> &[u8] {
        &self.window[self.body.clone()]
    }

    pub(crate) fn next(&mut self) -> io::Result<Step> {
        let at = self.at;
        if at >= self.limit {
            return Ok(Step::End);
        }
        if self.rest().len() < MAX_HEADER {
            self.fill(MAX_HEADER)?;
        }
        let Some(parsed) = entry::parse(self.rest(), self.mask, at) else {
            return Ok(Step::Bad { at });
        };
        let len = parsed.header_len + parsed.body_len;
        if self.rest().len() < len {
            self.fill(len)?;
        }
        match self.rest().get(..len) {
            Some(whole) if entry::verify(whole, self.mask, at) => {}
            _ => return Ok(Step::Bad { at }),
        }
        let start = (at - self.window_at) as usize;
        self.body = start + parsed.header_len..start + len;
        self.at = at + len as u64;
        Ok(Step::Entry { at, entry: parsed.entry })
    }

    /// Looks behind damage for the next whole entry: afterwards [`next`](Self::next) returns it, or the end.
    ///
    /// Returns the offsets passed over. The header check keeps this linear, whatever the bytes are.
    pub(crate) fn resync(&mut self) -> io::Result<Range<u64>> {
        let from = self.at;
        self.at += 1;
        loop {
            match self.next()? {
                // The file ends before the limit: all the rest is missing.
                Step::Bad { .. } if self.rest().is_empty() => self.at = self.limit,
                Step::Bad { .. } => self.at += entry::next_candidate(self.rest()) as u64,
                Step::Entry { at, .. } => {
                    self.at = at;
                    break;
                }
                Step::End => break,
            }
        }
        Ok(from..self.at)
    }

    /// What of the window lies between the scanner's place and the limit.
    #[inline]
    fn rest(&self) -> &[u8] {
        let end = self.filled.min((self.limit - self.window_at) as usize);
        let start = ((self.at - self.window_at) as usize).min(end);
        &self.window[start..end]
    }

    /// Makes `need` bytes from the scanner's place on available, or all there are below the limit.
    ///
    /// Nothing beyond the limit is read: a follower's window must not keep what was not yet written there.
    fn fill(&mut self, need: usize) -> io::Result<()> {
        self.stop.check()?;
        let start = ((self.at - self.window_at) as usize).min(self.filled);
        self.window.copy_within(start..self.filled, 0);
        self.filled -= start;
        self.window_at = self.at;
        let below_limit = usize::try_from(self.limit - self.at).unwrap_or(usize::MAX);
        let end = (self.filled + READ).max(need).min(below_limit);
        if end > self.filled {
            // A short segment needs no more than it has; the longest one a piece and an entry.
            debug_assert!(end <= READ + MAX_ENTRY, "a fill is called for with less than an entry at hand");
            if self.window.len() < end {
                self.window.resize(end, 0);
            }
            let from = self.window_at + self.filled as u64;
            self.filled += read_full(&self.file, &mut self.window[self.filled..end], from)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
