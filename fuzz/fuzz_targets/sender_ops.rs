//! Arbitrary bytes as what a sender is told, and does.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::engine::sender_ops(data));
