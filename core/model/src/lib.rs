//! An exhaustive search over restarts: the design's rules, proved for bounded cases.

pub mod explore;
pub mod fingerprint;
pub mod flow;
pub mod journal;
mod property;
pub mod rules;
pub mod sessions;
pub mod skip;

pub use property::{Property, Violation};
