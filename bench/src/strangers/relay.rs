//! Someone on the path: passes datagrams between one sender and the gateway, and keeps what the sender sent.
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Result, anyhow};

/// How often a thread that hears nothing looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(20);
/// No datagram is larger.
const LARGEST: usize = 1 << 16;

/// Datagrams in their order.
type Capture = Vec<Vec<u8>>;

/// A relay with two threads, one for each direction.
pub(super) struct Relay {
    pub(super) address: SocketAddr,
    over: Arc<AtomicBool>,
    outward: JoinHandle<io::Result<Capture>>,
    homeward: JoinHandle<io::Result<Capture>>,
}

impl Relay {
    pub(super) fn to(gateway: SocketAddr) -> Result<Self> {
        Self::between(gateway, false)
    }

    /// The sender also gets back what it sends.
    pub(super) fn reflecting(gateway: SocketAddr) -> Result<Self> {
        Self::between(gateway, true)
    }

    fn between(gateway: SocketAddr, reflects: bool) -> Result<Self> {
        let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let back = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        back.connect(gateway)?;
        front.set_read_timeout(Some(TICK))?;
        back.set_read_timeout(Some(TICK))?;
        let address = front.local_addr()?;
        let over = Arc::new(AtomicBool::new(false));
        let sender = Arc::new(Mutex::new(None));

        let outward = {
            let (front, back) = (front.try_clone()?, back.try_clone()?);
            let (over, sender) = (Arc::clone(&over), Arc::clone(&sender));
            thread::Builder::new().name("outward".into()).spawn(move || {
                let mut capture = Vec::new();
                pass(&front, &over, |datagram, from| {
                    *sender.lock().unwrap_or_else(PoisonError::into_inner) = Some(from);
                    capture.push(datagram.to_vec());
                    if reflects {
                        front.send_to(datagram, from)?;
                    }
                    back.send(datagram).map(drop)
                })?;
                Ok(capture)
            })?
        };
        let homeward = {
            let over = Arc::clone(&over);
            thread::Builder::new().name("homeward".into()).spawn(move || {
                let mut capture = Vec::new();
                pass(&back, &over, |datagram, _| {
                    capture.push(datagram.to_vec());
                    match *sender.lock().unwrap_or_else(PoisonError::into_inner) {
                        Some(sender) => front.send_to(datagram, sender).map(drop),
                        None => Ok(()),
                    }
                })?;
                Ok(capture)
            })?
        };
        Ok(Self { address, over, outward, homeward })
    }

    /// Ends it and returns what the sender sent.
    pub(super) fn capture(self) -> Result<Capture> {
        self.end().map(|(sent, _)| sent)
    }

    /// Ends it and returns what either side sent, the sender first.
    pub(super) fn capture_both(self) -> Result<Capture> {
        self.end().map(|(sent, answered)| [sent, answered].concat())
    }

    fn end(self) -> Result<(Capture, Capture)> {
        self.over.store(true, Ordering::Relaxed);
        let panicked = |_| anyhow!("a thread panicked");
        let answered = self.homeward.join().map_err(panicked)??;
        Ok((self.outward.join().map_err(panicked)??, answered))
    }
}

/// Hands out what comes until it is over.
fn pass(
    socket: &UdpSocket,
    over: &AtomicBool,
    mut to: impl FnMut(&[u8], SocketAddr) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; LARGEST];
    while !over.load(Ordering::Relaxed) {
        match socket.recv_from(&mut buffer) {
            Ok((len, from)) => to(&buffer[..len], from)?,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
