//! Seeded worlds in virtual time: devices and a gateway, the paths between them, their disks, and everything that can go
//! wrong with those. Each seed draws its own world; the same seed is the same world on every machine.
//!
//! The ends run the real core. What a driver adds is modelled: the sender's outbox and the gateway's journal keep what was
//! written apart from what was synced, so that a power cut can take the difference away.
//!
//! A world fails when a promise is broken:
//! - a record is stored twice, out of order, changed, or not at all;
//! - STORED is told before the record was synced, or what was confirmed is gone after a crash;
//! - a packet number seals two different packets under one key;
//! - something is outstanding and no deadline is set, or deadlines come without end;
//! - nothing goes wrong any more and not everything gets STORED, or an idle world still sends.
//!
//! ```
//! let report = tallylink_sim::World::new(7).run()?;
//! assert!(report.packets >= 200 && report.crashes >= 1);
//! # Ok::<(), tallylink_sim::Failure>(())
//! ```

pub mod arrays;
mod audit;
mod checks;
mod describe;
mod end;
mod faults;
pub mod hostile;
mod inbox;
mod ledger;
mod log;
mod network;
mod outbox;
mod plan;
mod report;
mod rng;
mod run_loop;
mod sending;
mod sleeping;
mod stranger;
mod world;
mod writer;

pub use report::{Failure, Report};
pub use world::{Sabotage, World};

/// Runs the world of a seed, and turns a panic of core into a failure.
///
/// # Errors
/// The broken promise.
pub fn run_seed(seed: u64) -> Result<Report, Failure> {
    caught(seed, false)
}

/// ... of a world whose devices sleep.
///
/// # Errors
/// The broken promise.
pub fn run_sleeping(seed: u64) -> Result<Report, Failure> {
    caught(seed, true)
}

fn caught(seed: u64, sleeping: bool) -> Result<Report, Failure> {
    let world = move || if sleeping { World::sleeping(seed) } else { World::new(seed) };
    let run = std::panic::catch_unwind(move || world().run());
    run.unwrap_or_else(|panic| {
        let what = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("a panic");
        Err(Failure { seed, sleeping, at_us: 0, what: format!("core panicked: {what}") })
    })
}
