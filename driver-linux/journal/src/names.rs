//! The names of many streams, each kept once where neighbours share it.

/// So many of the names kept last are looked at for one that is the same: a million devices call their streams alike.
const ALIKE: usize = 8;

/// Names back to back. They are added and never removed.
#[derive(Debug, Default)]
pub struct Names {
    text: Vec<u8>,
    /// Where each name ends, and the next begins.
    ends: Vec<u32>,
}

impl Names {
    /// Takes a name, at most 64 bytes long, and gives its place.
    pub fn add(&mut self, name: &[u8]) -> u32 {
        debug_assert!(name.len() <= crate::entry::MAX_NAME);
        let kept = self.ends.len() as u32;
        let same = (kept.saturating_sub(ALIKE as u32)..kept).rev().find(|place| self.get(*place) == name);
        same.unwrap_or_else(|| {
            self.text.extend_from_slice(name);
            self.ends.push(self.text.len() as u32);
            kept
        })
    }

    /// The name at a place.
    #[must_use]
    pub fn get(&self, place: u32) -> &[u8] {
        let place = place as usize;
        let from = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[from as usize..self.ends[place] as usize]
    }
}

#[cfg(test)]
mod tests;
