//! Arbitrary bytes as the input of `tallylink send`, in pieces.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tallylink_fuzz::files::ingest(data));
