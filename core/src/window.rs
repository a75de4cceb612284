//! The window of received packet numbers: replay protection and source of ACKs in one (wire-format §5.4).
//!
//! Bits live in words that the driver lends; a power of two of them. The number after the largest received is `next`; the
//! window covers the `64 × words` numbers below it. What lies below the window is refused, never called received.

use crate::wire::PacketRange;

/// Where the window stands; its bits are lent to each call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    /// One above the largest number received.
    next: u64,
    /// Numbers below this are refused: the window was moved here with older bits lost.
    floor: u64,
}

/// What the window says of a number before its packet is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Not received yet.
    New,
    /// Received before.
    Duplicate,
    /// Too old to tell.
    TooOld,
}

impl Window {
    /// Restores a window from its newest 64 bits: bit i is number `next − 1 − i`.
    pub(crate) fn restore(next: u64, bits: u64, words: &mut [u64]) -> Self {
        words.fill(0);
        let window = Self { next, floor: next.saturating_sub(64) };
        for i in 0..64u64 {
            if bits >> i & 1 == 1
                && let Some(number) = next.checked_sub(i.saturating_add(1))
            {
                set(words, number);
            }
        }
        window
    }

    /// As [`Window::look`], of a window that is [restored](Window::restore) from this.
    pub(crate) fn look_at_newest(next: u64, bits: u64, number: u64) -> Seen {
        let Some(back) = next.checked_sub(number.saturating_add(1)) else { return Seen::New };
        match u32::try_from(back).ok().and_then(|back| bits.checked_shr(back)) {
            None => Seen::TooOld,
            Some(bits) if bits & 1 == 1 => Seen::Duplicate,
            Some(_) => Seen::New,
        }
    }

    /// The newest 64 bits, for [`Window::restore`].
    pub(crate) fn newest(&self, words: &[u64]) -> u64 {
        (0..64u64).fold(0, |bits, i| match self.next.checked_sub(i.saturating_add(1)) {
            Some(n) if self.has(words, n) => bits | 1 << i,
            _ => bits,
        })
    }

    /// One above the largest number received.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    fn width(words: &[u64]) -> u64 {
        (words.len() as u64).saturating_mul(64)
    }

    /// The smallest number that the window can still tell about.
    fn lowest(&self, words: &[u64]) -> u64 {
        self.floor.max(self.next.saturating_sub(Self::width(words)))
    }

    /// Looks a number up.
    #[inline]
    pub(crate) fn look(&self, words: &[u64], number: u64) -> Seen {
        if number >= self.next {
            Seen::New
        } else if number < self.lowest(words) {
            Seen::TooOld
        } else if bit(words, number) {
            Seen::Duplicate
        } else {
            Seen::New
        }
    }

    fn has(&self, words: &[u64], number: u64) -> bool {
        self.look(words, number) == Seen::Duplicate
    }

    /// Marks a number as received. It must be new.
    #[inline]
    pub(crate) fn insert(&mut self, words: &mut [u64], number: u64) {
        if number >= self.next {
            self.clear_to(words, number);
            self.next = number.saturating_add(1);
        }
        set(words, number);
    }

    /// Clears the bits of `next ..= number`, which held numbers one width older.
    #[inline]
    fn clear_to(&self, words: &mut [u64], number: u64) {
        if number == self.next {
            return clear(words, number);
        }
        if number.saturating_sub(self.next) >= Self::width(words) {
            return words.fill(0);
        }
        let mut n = self.next;
        while n <= number {
            if n & 63 == 0 && n.saturating_add(63) <= number {
                if let Some(word) = word_of(words, n) {
                    *word = 0;
                }
                n = n.saturating_add(64);
            } else {
                clear(words, n);
                n = n.saturating_add(1);
            }
        }
    }

    /// The run of received numbers around `number`, looked for over at most 64 numbers in each direction.
    pub(crate) fn run_around(&self, words: &[u64], number: u64) -> PacketRange {
        const REACH: u64 = 64;
        if number < self.lowest(words) {
            // Its neighbours' bits are those of newer numbers by now.
            return PacketRange { low: number, high: number };
        }
        let lowest = self.lowest(words).max(number.saturating_sub(REACH));
        let highest = self.next.saturating_sub(1).min(number.saturating_add(REACH));
        let (mut low, mut high) = (number, number);
        while low > lowest {
            let below = low.saturating_sub(1);
            // The received numbers from `below` down to the start of its word are the leading ones of the shifted word.
            let ones = u64::from((word(words, below) << (63 & !below)).leading_ones());
            let step = ones.min((below & 63).saturating_add(1)).min(low.saturating_sub(lowest));
            low = low.saturating_sub(step);
            if ones <= below & 63 {
                break;
            }
        }
        while high < highest && bit(words, high.saturating_add(1)) {
            high = high.saturating_add(1);
        }
        PacketRange { low, high }
    }

    /// The next received number below `number`, looked for over the two words below it.
    pub(crate) fn received_below(&self, words: &[u64], number: u64) -> Option<u64> {
        let lowest = self.lowest(words);
        let mut below = number.checked_sub(1)?;
        for _ in 0..2 {
            let shifted = word(words, below) << (63 & !below);
            let zeros = u64::from(shifted.leading_zeros());
            if zeros <= below & 63 {
                return below.checked_sub(zeros).filter(|n| *n >= lowest);
            }
            below = (below & !63).checked_sub(1)?;
        }
        None
    }
}

#[inline]
fn index(words: &[u64], number: u64) -> usize {
    // A power of two of words: the mask takes the number to its word.
    (number >> 6) as usize & words.len().saturating_sub(1)
}

#[inline]
fn word(words: &[u64], number: u64) -> u64 {
    words.get(index(words, number)).copied().unwrap_or(0)
}

#[inline]
fn word_of(words: &mut [u64], number: u64) -> Option<&mut u64> {
    let at = index(words, number);
    words.get_mut(at)
}

#[inline]
fn bit(words: &[u64], number: u64) -> bool {
    word(words, number) >> (number & 63) & 1 == 1
}

#[inline]
fn set(words: &mut [u64], number: u64) {
    if let Some(word) = word_of(words, number) {
        *word |= 1 << (number & 63);
    }
}

#[inline]
fn clear(words: &mut [u64], number: u64) {
    if let Some(word) = word_of(words, number) {
        *word &= !(1 << (number & 63));
    }
}

#[cfg(test)]
mod tests;
