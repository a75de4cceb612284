//! Bringing a fault about, and its end.
use std::{
    fs,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

use super::{
    grid::{Fault, What, Whose},
    stage::Stage,
};
use crate::{
    strace::{Attached, injected},
    strangers::gateway::Gateway,
    tmpfs,
};

/// Counters of the gateway's socket that tell of a way that is shut.
const SHUT: [&str; 4] = ["datagrams_too_big", "datagrams_send_failed", "sends_repeated", "receive_errors"];

/// A fault that lasts, with what its end needs.
pub(super) enum Strike {
    Traced(Attached, PathBuf),
    /// With so many failures before.
    Route(&'static str, u64),
    Limited {
        process: Pid,
        before: Rlimit,
        /// Somebody who asks meanwhile.
        asker: Option<UnixStream>,
    },
    Filled(PathBuf),
    Nothing,
}

impl Strike {
    pub(super) fn begin(fault: &Fault, stage: &mut Stage) -> Result<Self> {
        let whose = fault.whose;
        match &fault.what {
            What::Inject(inject) => {
                let log = stage.home.path("strace.log");
                return Ok(Self::Traced(Attached::to(stage.struck()?, inject, &log)?, log));
            }
            What::Route(kind) => {
                let before = failures(stage.gateway()?)?;
                stage.world.set_route(kind, true)?;
                return Ok(Self::Route(kind, before));
            }
            What::Closed if whose == Whose::Gateway => stage.gateway = None,
            What::Closed => stage.sender = None,
            What::Stopped => kill_process(stage.struck()?, Signal::STOP)?,
            What::Jump(wall, monotonic) => stage.clocks.as_ref().context("the clocks")?.set(*wall, *monotonic)?,
            What::Descriptors => {
                let process = stage.struck()?;
                // It began with the limits of this process.
                let limit = Rlimit { current: Some(next_descriptor(process)?), ..getrlimit(Resource::Nofile) };
                let before = prlimit(Some(process), Resource::Nofile, limit)?;
                let asker = (whose == Whose::Gateway).then(|| UnixStream::connect(stage.home.path("data/status.sock")));
                return Ok(Self::Limited { process, before, asker: asker.transpose()? });
            }
            What::LogFills => return Ok(Self::Filled(tmpfs::fill(&stage.home.path("log"))?)),
            What::Address => stage.world.set_address(whose.address(), false)?,
            What::Device => stage.world.set_device(whose.address(), false)?,
            What::Booted | What::LogFull | What::LogUnread => {}
        }
        Ok(Self::Nothing)
    }

    /// How many calls failed, where that is counted.
    pub(super) fn end(self, fault: &Fault, stage: &mut Stage) -> Result<u64> {
        match (self, &fault.what) {
            (Self::Traced(attached, log), _) => {
                drop(attached);
                return injected(&log);
            }
            (Self::Route(kind, before), _) => {
                stage.world.set_route(kind, false)?;
                return Ok(failures(stage.gateway()?)?.saturating_sub(before));
            }
            (Self::Limited { process, before, asker }, _) => {
                prlimit(Some(process), Resource::Nofile, before)?;
                drop(asker);
            }
            (Self::Filled(filler), _) => fs::remove_file(filler)?,
            (Self::Nothing, What::Closed) if fault.whose == Whose::Gateway => stage.start_gateway()?,
            (Self::Nothing, What::Closed) => stage.start_sender()?,
            (Self::Nothing, What::Stopped) => kill_process(stage.struck()?, Signal::CONT)?,
            // The monotonic clock never goes back.
            (Self::Nothing, What::Jump(_, monotonic)) => {
                stage.clocks.as_ref().context("the clocks")?.set(0, *monotonic)?;
            }
            (Self::Nothing, What::Address) => stage.world.set_address(fault.whose.address(), true)?,
            (Self::Nothing, What::Device) => stage.world.set_device(fault.whose.address(), true)?,
            (Self::Nothing, _) => {}
        }
        Ok(0)
    }
}

fn failures(gateway: &Gateway) -> Result<u64> {
    let told = gateway.status()?;
    let socket = told.counters.get("socket").context("no counters of the socket")?;
    Ok(SHUT.iter().filter_map(|name| socket.get(*name)).sum())
}

/// The number that the process's next descriptor would have: there may be gaps below its highest.
fn next_descriptor(process: Pid) -> Result<u64> {
    let open = format!("/proc/{}/fd", process.as_raw_nonzero());
    (0..).find(|number| !Path::new(&open).join(number.to_string()).exists()).context("a number without a descriptor")
}
