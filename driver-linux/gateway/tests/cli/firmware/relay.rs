//! A relay that loses datagrams, both ways, between a board and a gateway.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Stops when it goes out of scope.
pub(crate) struct Relay {
    port: u16,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    dropped: AtomicU64,
}

impl Relay {
    /// Towards a gateway on this port; so many of a hundred datagrams get lost.
    pub(crate) fn start(gateway: u16, percent: u64) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
        let port = socket.local_addr().expect("an address").port();
        let shared = Arc::<Shared>::default();
        let thread = thread::spawn({
            let shared = Arc::clone(&shared);
            move || carry(&socket, SocketAddr::from(([127, 0, 0, 1], gateway)), percent, &shared)
        });
        Self { port, shared, thread: Some(thread) }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Datagrams that were lost so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn carry(socket: &UdpSocket, gateway: SocketAddr, percent: u64, shared: &Shared) {
    let mut bytes = [0; 2048];
    let (mut device, mut random) = (None, 0x9e37_79b9_7f4a_7c15u64);
    while !shared.stopped.load(Ordering::Relaxed) {
        // An error is about an earlier datagram, for a gateway that was away, or says that nothing came.
        let Ok((len, from)) = socket.recv_from(&mut bytes) else { continue };
        if from != gateway {
            device = Some(from);
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        if random % 100 < percent {
            shared.dropped.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        if let Some(to) = if from == gateway { device } else { Some(gateway) } {
            let _ = socket.send_to(&bytes[..len], to);
        }
    }
}
