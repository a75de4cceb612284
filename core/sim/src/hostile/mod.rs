//! A peer that holds a valid key and keeps to no other rule: what it may seal, and what an endpoint makes of it.
//!
//! A [`Stage`] is an endpoint with two peers, one of them real. Each of [`ATTACKS`] plays the other one: it goes through the
//! handshake as it should, and then sends what it likes. Whatever that is, it ends in a discard with a name or in the end of that
//! session with one (or, where it breaks no rule, is borne), the work is bounded, and the real peer is served all the while.
//!
//! [`Channel`] alone is for tests that bring endpoints of their own.

mod attacks;
mod channel;
mod node;
mod report;
mod spelled;
mod stage;

pub use attacks::{ATTACKS, Attack};
pub use channel::{Channel, Key, WIDE, ack_of, hello, hello_packet};
pub use node::{Driver, Node, at};
pub use report::Report;
pub use stage::{Clock, Stage};
