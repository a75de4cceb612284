//! Three network namespaces: the gateway's, and one each of two senders, with a link to the gateway's.
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use rustix::thread::gettid;

use crate::lab::Namespace;

/// The gateway's address on the network of the sender that is struck, and that one's.
pub(super) const GATEWAY: &str = "10.77.0.1";
pub(super) const VICTIM: &str = "10.77.0.2";
/// The gateway's address on the network of the sender that is not.
pub(super) const GATEWAY_BESIDE: &str = "10.77.1.1";
const NEIGHBOUR: &str = "10.77.1.2";
/// The gateway's devices, and everybody else's.
const DEVICES: [&str; 2] = ["victim", "neighbour"];
const DEVICE: &str = "gateway";

pub(super) struct World {
    pub(super) gateway: Namespace,
    pub(super) victim: Namespace,
    pub(super) neighbour: Namespace,
}

impl World {
    pub(super) fn new() -> Result<Self> {
        ensure!(rustix::process::geteuid().is_root(), "this bench makes network namespaces: run it as root");
        let world = Self { gateway: Namespace::new()?, victim: Namespace::new()?, neighbour: Namespace::new()? };
        let Self { gateway, victim, neighbour } = &world;
        gateway.within(|| ip("link set lo up"))?;
        let ends = [(victim, GATEWAY, VICTIM), (neighbour, GATEWAY_BESIDE, NEIGHBOUR)];
        for ((land, here, there), device) in ends.into_iter().zip(DEVICES) {
            land.within(|| {
                let this = gettid().as_raw_nonzero();
                gateway.within(|| ip(&format!("link add {device} type veth peer name {DEVICE} netns {this}")))?;
                ip(&format!("addr add {there}/24 dev {DEVICE}"))?;
                ip("link set lo up")?;
                ip(&format!("link set {DEVICE} up"))
            })?;
            gateway.within(|| {
                ip(&format!("addr add {here}/24 dev {device}"))?;
                ip(&format!("link set {device} up"))
            })?;
        }
        Ok(world)
    }

    /// Takes the address of one end of the victim's network away, or gives it back.
    pub(super) fn set_address(&self, address: &str, there: bool) -> Result<()> {
        let (land, device) = self.end(address);
        let verb = if there { "add" } else { "del" };
        land.within(|| ip(&format!("addr {verb} {address}/24 dev {device}")))
    }

    /// Takes the device of one end of the victim's network down or up.
    pub(super) fn set_device(&self, address: &str, up: bool) -> Result<()> {
        let (land, device) = self.end(address);
        land.within(|| ip(&format!("link set {device} {}", if up { "up" } else { "down" })))
    }

    /// Makes the gateway's way to the victim one of this kind, or an ordinary one.
    pub(super) fn set_route(&self, kind: &str, there: bool) -> Result<()> {
        let verb = if there { "add" } else { "del" };
        self.gateway.within(|| ip(&format!("route {verb} {kind} {VICTIM}")))
    }

    fn end(&self, address: &str) -> (&Namespace, &'static str) {
        if address == VICTIM { (&self.victim, DEVICE) } else { (&self.gateway, DEVICES[0]) }
    }
}

/// iproute2, in the namespace of this thread.
fn ip(arguments: &str) -> Result<()> {
    let mut command = Command::new("ip");
    let ran = command.args(arguments.split(' ')).stdin(Stdio::null()).output().context("this bench needs iproute2")?;
    ensure!(ran.status.success(), "`ip {arguments}`: {}", String::from_utf8_lossy(&ran.stderr).trim());
    Ok(())
}
