//! Arbitrary bytes as HOST:PORT.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::files::host_port(data));
