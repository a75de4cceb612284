//! Arbitrary bytes as the frames of a packet.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::engine::frames(data));
