//! Arbitrary bytes as records in a ring.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::engine::ring(data));
