//! Records that are numbered lines of one size, for the sender as its users run it: what is lost or repeated shows.

/// Bytes of a record.
pub(crate) const RECORD: usize = 1_000;

/// One of them.
pub(crate) fn record(number: usize) -> Vec<u8> {
    format!("{number:0width$}\n", width = RECORD - 1).into_bytes()
}

/// Records that are not there, and those that are there more than once or out of order.
pub(crate) fn compare(given: &[u8], stored: &[u8]) -> (u64, u64) {
    let mut stored = stored.chunks(RECORD).peekable();
    let mut lost = 0;
    for record in given.chunks(RECORD) {
        match stored.next_if(|next| *next == record) {
            Some(_) => {}
            None => lost += 1,
        }
    }
    (lost, stored.count() as u64)
}
