//! An exhaustive search over restarts: the design's rules, proved for bounded cases.

pub mod explore;
pub mod fingerprint;
mod property;
pub mod rules;
pub mod sessions;

pub use property::{Property, Violation};
