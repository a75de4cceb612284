//! The other end: a receiver on a thread of its own, over loopback, that keeps nothing.
use std::{
    net::{Ipv4Addr, SocketAddr},
    thread::{self, JoinHandle},
};

use anyhow::{Result, anyhow};
use tallylink_core::{End, KeyId, PeerId, Provision, crypto::Psk};
use tallylink_linux::{
    Network, Remote, Settings,
    receiver::{InPlace, Record},
};

/// Takes each record.
type Take = InPlace<fn(Record<'_>)>;

pub(super) struct Link {
    to: SocketAddr,
    remote: Remote<Take>,
    thread: JoinHandle<Result<()>>,
}

impl Link {
    pub(super) fn open() -> Result<Self> {
        let settings = Settings { listen: (Ipv4Addr::LOCALHOST, 0).into(), ..Settings::receiver() };
        let mut network = Network::new(&settings, Take::new(1, |_| ()))?;
        network.add_peer(provision(End::Gateway))?;
        let (to, remote) = (network.local_addr()?, network.remote());
        let thread = thread::Builder::new().name("receiver".into()).spawn(move || Ok(network.run()?))?;
        Ok(Self { to, remote, thread })
    }

    pub(super) fn to(&self) -> SocketAddr {
        self.to
    }

    pub(super) fn close(self) -> Result<()> {
        self.remote.stop();
        self.thread.join().map_err(|_| anyhow!("the receiver panicked"))?
    }
}

/// For the end that sends.
pub(super) fn sender() -> Settings {
    Settings { listen: (Ipv4Addr::LOCALHOST, 0).into(), ..Settings::sender() }
}

pub(super) fn provision(end: End) -> Provision {
    Provision::new(PeerId(*b"pushed-1"), end, KeyId(0), Psk::from_bytes([7; 16]))
}
