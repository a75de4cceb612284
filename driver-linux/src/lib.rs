//! Tallylink on Linux: UDP with GSO and GRO, as sender or receiver.

pub mod crypto;
