//! Arbitrary bytes as the fields of a HELLO.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::engine::handshake(data));
