//! A socket that tests put in the place of the system's: it notes what is sent and says what the test wants.

use super::io::{Arrived, Datagrams, Udp};
use super::kernel::Buffers;
use mio::{Interest, Registry, Token};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tallylink_core::{Ecn, Path};

/// One call that sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Send {
    pub(crate) path: Path,
    pub(crate) ecn: Ecn,
    pub(crate) bytes: Vec<u8>,
    pub(crate) segment: Option<usize>,
}

/// What the system answers to a send.
type Answer = Box<dyn FnMut(&Send) -> Result<(), Errno> + std::marker::Send>;

/// What one call receives: runs of datagrams with their stride, or an error.
pub(crate) type Receive = Result<Vec<(Vec<u8>, usize)>, Errno>;

/// A socket that does as it is told.
#[derive(Clone)]
pub(crate) struct Scripted {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    answer: Answer,
    sent: Vec<Send>,
    receives: VecDeque<Receive>,
    /// What is sent goes through this socket, if there is one, and what arrives there is received.
    real: Option<Udp>,
}

impl Scripted {
    /// Sends nothing, and answers as `answer` says.
    pub(crate) fn new(answer: impl FnMut(&Send) -> Result<(), Errno> + std::marker::Send + 'static) -> Self {
        let inner = Inner { answer: Box::new(answer), sent: Vec::new(), receives: VecDeque::new(), real: None };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// Sends through a real socket what `answer` lets pass.
    pub(crate) fn over(
        real: Udp,
        answer: impl FnMut(&Send) -> Result<(), Errno> + std::marker::Send + 'static,
    ) -> Self {
        let scripted = Self::new(answer);
        scripted.inner.lock().unwrap().real = Some(real);
        scripted
    }

    /// What the next call will receive.
    pub(crate) fn arrives(&self, what: Receive) {
        self.inner.lock().unwrap().receives.push_back(what);
    }

    /// What was sent since the last call of this.
    pub(crate) fn sent(&self) -> Vec<Send> {
        std::mem::take(&mut self.inner.lock().unwrap().sent)
    }
}

impl Datagrams for Scripted {
    fn send(&self, to: &Path, ecn: Ecn, bytes: &[u8], segment: Option<usize>) -> io::Result<()> {
        let inner = &mut *self.inner.lock().unwrap();
        let send = Send { path: *to, ecn, bytes: bytes.to_vec(), segment };
        let answer = (inner.answer)(&send);
        inner.sent.push(send);
        answer?;
        inner.real.as_ref().map_or(Ok(()), |real| real.send(to, ecn, bytes, segment))
    }

    fn receive(&self, slots: &mut [IoSliceMut<'_>], arrived: &mut [Arrived]) -> io::Result<usize> {
        let inner = &mut *self.inner.lock().unwrap();
        let Some(next) = inner.receives.pop_front() else {
            return match &inner.real {
                Some(real) => real.receive(slots, arrived),
                None => Err(io::ErrorKind::WouldBlock.into()),
            };
        };
        let runs = next?;
        for ((slot, to), (bytes, stride)) in slots.iter_mut().zip(arrived).zip(&runs) {
            slot[..bytes.len()].copy_from_slice(bytes);
            *to = Arrived { len: bytes.len(), stride: *stride, ..Arrived::NOTHING };
        }
        Ok(runs.len())
    }

    fn max_segments(&self) -> usize {
        64
    }

    fn watch(&mut self, registry: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        match &mut self.inner.lock().unwrap().real {
            Some(real) => real.watch(registry, token, interest),
            None => Ok(()),
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.inner.lock().unwrap().real {
            Some(real) => real.local_addr(),
            None => Ok(Arrived::NOTHING.path.remote),
        }
    }

    fn kernel_drops(&self) -> Option<u64> {
        None
    }

    fn buffers(&self) -> Buffers {
        Buffers::default()
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted(..)")
    }
}
