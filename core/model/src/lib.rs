//! An exhaustive search over restarts: the rules of sessions, storage and flow, proved for bounded cases.
//!
//! [`explore::explore`] visits every state that a [`explore::Model`] can reach, breadth first, so that a violated
//! property comes with a shortest sequence of events. States are remembered by fingerprint. Two kinds of property
//! are checked in each state: what must always hold, and [`Property::Progress`]: whatever happened, a world that
//! fails no further reaches completion.
//!
//! | model | what happens | what holds |
//! |---|---|---|
//! | [`sessions`] | HELLO, WELCOME, long DATA, OPEN, chunks of partial records, STORED; every packet repeated, reordered, delayed for ever; crash, power cut, eviction, failed sync, overwritten ring | exactly once, in order, nothing confirmed lost, one plaintext per key and number, the writer continues |
//! | [`sleep`] | a device that sleeps: its image begun, whole, read, destroyed; power lost at each step, retained memory lost; gateway restarted, session ended meanwhile; both ends send | one plaintext per key and number, exactly once, in order, nothing confirmed lost |
//! | [`journal`] | groups, failing syncs, power cuts that keep any subset of what was unsynced, crashes within recovery, rot | nothing stored is lost or doubled |
//! | [`retention`] | two checkpoint files, deleted segments, torn and rotten checkpoints | what is known of a stream survives |
//! | [`epochs`] | outboxes opened, cut off, restored, copied; gateways restored | one content per name, rollback reported, no false alarm |
//! | [`skip`] | records above a lowered limit, overwritten rings, restored receivers | nothing held is skipped |
//! | [`flow`] | windows that shrink, lost and late CREDITs, begun records, new sessions | credit honoured, the receiver's queue bounded |
//! | [`ack_window`] | packets and ACKs late, repeated, lost; probes; ACK-only packets | accepted once, ACKs true and complete, flights inside the window |
//!
//! # What is assumed
//! Seals hold: a packet that opens was made by the other end. Nonces are fresh. A synced page stays on the disk
//! but for rot, which its CRC shows. A block reaches the disk whole or not at all. Each model's own assumptions
//! stand at its head. One peer and one stream suffice, but for credit, which streams share.
//!
//! # Bounds
//! Every model has budgets: how many records, packets, crashes. `cargo test` searches about a million states
//! within those in `tests/`; `cargo run --release -p tallylink-model --example explore -- --deep` searches larger
//! ones and prints a table. A proof within bounds is no proof beyond them; but each planted bug (the `Bug` of each
//! model) is found far inside, and the tests name the situations that a proof must have reached.
//!
//! # Adding a rule
//! 1. Write it as a pure function in [`rules`] and call it from the model that it belongs to.
//! 2. If it guards something new, add a [`Property`] and check it in `apply` or `check`.
//! 3. Add the variant that one might have written instead to that model's `Bug`, beside the call.
//! 4. Add a test that the search finds the bug and names the property; print the trace with `--nocapture`.
//! 5. If the situation it is about could be missed by the bounds, add a landmark and ask for it in the proof.

pub mod ack_window;
pub mod epochs;
pub mod explore;
pub mod fingerprint;
pub mod flow;
pub mod journal;
mod property;
pub mod retention;
pub mod rules;
pub mod sessions;
pub mod skip;
pub mod sleep;

pub use property::{Property, Violation};
