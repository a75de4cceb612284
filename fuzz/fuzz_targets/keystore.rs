//! Arbitrary bytes as the file with the keys.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::files::keystore(data));
