//! The Tallylink protocol: a sans-I/O, allocation-free state machine.

#![no_std]

pub mod crypto;
