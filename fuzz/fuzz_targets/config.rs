//! Arbitrary bytes as a configuration file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::files::config(data));
