//! Arbitrary bytes as sealed datagrams with any frames.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::engine::datagrams(data));
