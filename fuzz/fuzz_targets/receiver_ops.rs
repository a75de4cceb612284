//! Arbitrary bytes as what a receiver is sent, and does.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::engine::receiver_ops(data));
