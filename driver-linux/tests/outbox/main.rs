//! Outboxes: the state machine step by step, and streams with one over real sockets.

mod common;
mod failures;
mod machine;
mod power_cut;
mod streams;
