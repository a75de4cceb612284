//! Arbitrary bytes as a varint.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::engine::varint(data));
