//! Arbitrary bytes as varints and packet numbers.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::numbers(data));
