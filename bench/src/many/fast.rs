//! The fast sender: as much as the gateway takes.
use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use anyhow::{Result, anyhow};
use tallylink_linux::{
    Sender, Settings,
    sender::{Confirmed, Stream},
};

use super::Provided;

const RECORD: [u8; 1_013] = [b'y'; 1_013];

pub(crate) struct Fast {
    over: Arc<AtomicBool>,
    confirmed: Confirmed,
    thread: JoinHandle<Result<()>>,
}

impl Fast {
    pub(crate) fn start(key: &Provided, gateway: SocketAddr) -> Result<Self> {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let settings = Settings { listen, ..Settings::sender() };
        let sender = Sender::with(&settings, &gateway.to_string(), key.device())?;
        let mut stream = sender.open("fast")?;
        let confirmed = stream.confirmed();
        let over = Arc::new(AtomicBool::new(false));
        let wanted = Arc::clone(&over);
        let thread = thread::Builder::new().name("fast".into()).spawn(move || push(&mut stream, &wanted))?;
        Ok(Self { over, confirmed, thread })
    }

    pub(crate) fn stored(&self) -> u64 {
        self.confirmed.stored_below()
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the fast sender panicked"))?
    }
}

fn push(stream: &mut Stream, over: &AtomicBool) -> Result<()> {
    while !over.load(Ordering::Relaxed) {
        stream.push(&RECORD)?;
    }
    Ok(())
}
