//! Receiving.

mod in_place;
mod join;
mod streams;

pub use in_place::{InPlace, Record};
pub use streams::Streams;
