//! The bodies of the fuzz targets: each takes any bytes, and panics when the code under test breaks a rule.
//!
//! They are plain functions, so that tests of the crates under test can replay the committed corpus with a stable compiler.

pub mod engine;
pub mod files;
pub mod journal;
mod planted;
