//! Arbitrary bytes as changes to a journal.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::journal::journal(data));
