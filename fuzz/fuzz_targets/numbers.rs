//! Arbitrary bytes as packet numbers.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::engine::numbers(data));
