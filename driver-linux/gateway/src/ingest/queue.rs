//! The bounded queue between the thread that receives and the one that writes.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::receive::{Datagram, Taker};
use super::write::{Grouped, Sink};
use crate::Error;

/// The receiving thread's end.
#[derive(Debug)]
pub(super) struct Queue {
    put: SyncSender<Waiting>,
    dropped: u64,
}

/// A datagram that waits.
struct Waiting {
    arrival_us: u64,
    from: SocketAddr,
    bytes: Box<[u8]>,
}

/// The writing thread; it gives back what it wrote with.
pub(super) type Writer<S> = JoinHandle<(Grouped<S>, Result<(), Error>)>;

/// A queue of at most `datagrams`, and the thread that writes what is put there.
///
/// # Errors
/// The system gives no thread.
pub(super) fn start<S>(datagrams: usize, mut written: Grouped<S>) -> Result<(Queue, Writer<S>), Error>
where
    S: Sink + Send + 'static,
{
    let (put, take) = sync_channel(datagrams);
    let writer = thread::Builder::new().name("writer".to_owned()).spawn(move || {
        let wrote = write(&take, &mut written);
        (written, wrote)
    });
    Ok((Queue { put, dropped: 0 }, writer.map_err(Error::Network)?))
}

/// Writes until nothing more can come.
fn write<S: Sink>(queue: &Receiver<Waiting>, to: &mut Grouped<S>) -> Result<(), Error> {
    loop {
        let waiting = match to.due_in() {
            None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(left) => queue.recv_timeout(left),
        };
        match waiting {
            Ok(Waiting { arrival_us, from, bytes }) => {
                to.take(&Datagram { arrival_us, from, bytes: &bytes })?;
            }
            Err(RecvTimeoutError::Timeout) => to.tend()?,
            Err(RecvTimeoutError::Disconnected) => return to.finish(),
        }
    }
}

impl Queue {
    /// Nothing more comes. How many were dropped.
    pub(super) fn close(self) -> u64 {
        self.dropped
    }
}

impl Taker for Queue {
    fn take(&mut self, datagram: &Datagram<'_>) -> Result<bool, Error> {
        let Datagram { arrival_us, from, bytes } = *datagram;
        match self.put.try_send(Waiting { arrival_us, from, bytes: bytes.into() }) {
            Ok(()) => Ok(true),
            Err(TrySendError::Full(_)) => {
                self.dropped += 1;
                Ok(true)
            }
            // Why, it tells itself.
            Err(TrySendError::Disconnected(_)) => Ok(false),
        }
    }

    fn due_in(&self) -> Option<Duration> {
        None
    }

    fn tend(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn dropped(&self) -> u64 {
        self.dropped
    }
}
