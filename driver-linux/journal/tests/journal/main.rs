//! The journal as its callers see it, one subject a file.

mod common;
mod damage;
mod disk;
mod follow;
mod inspect;
mod power_cut;
mod retention;
mod round_trip;
mod volatile;
mod world;
