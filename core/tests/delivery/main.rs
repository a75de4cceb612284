//! Records travel from one end to the other: whole, in order, once.

mod basics;
mod busy;
mod support;
