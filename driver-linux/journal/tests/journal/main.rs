//! The journal as its callers see it, one subject a file.

mod common;
mod damage;
mod disk;
mod every_cut;
mod flips;
mod follow;
mod full_disk;
mod inspect;
mod power_cut;
mod repair;
mod retention;
mod round_trip;
mod sample;
mod tmpfs;
mod volatile;
mod world;
