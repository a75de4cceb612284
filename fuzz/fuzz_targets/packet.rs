//! Arbitrary bytes as a datagram.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::engine::packet(data));
