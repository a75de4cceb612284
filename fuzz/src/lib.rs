//! The bodies of the fuzz targets: each takes any bytes, and panics when the code under test breaks a rule.
//!
//! They are plain functions, so that `core/tests/fuzz_corpus.rs` can replay the committed corpus with a stable compiler.

mod frames;
mod numbers;
mod packets;

pub use frames::frames;
pub use numbers::numbers;
pub use packets::packets;
