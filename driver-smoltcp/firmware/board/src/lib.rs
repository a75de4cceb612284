//! What firmware needs of a board that QEMU emulates: its Ethernet controller, its clock, and how deep its stack has been.
//!
//! `driver-smoltcp/firmware` is an application on it; `driver-smoltcp/README.md` makes another.

#![no_std]

mod boards;
mod clock;
mod register;
mod stack;

pub use boards::{Ethernet, Received, Room};
pub use clock::Clock;
pub use stack::{Depth, deepest};
