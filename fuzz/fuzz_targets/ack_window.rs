//! Arbitrary bytes as numbers in any order at the window of received ones.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::engine::ack_window(data));
