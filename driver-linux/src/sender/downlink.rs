//! What a device receives from its gateway.

use super::Sender;
use super::outlets::Outlets;
use crate::network::Gone;
use crate::receiver::{Intake, Record, Taken};
use std::fmt;
use std::time::Duration;

/// Records that the gateway has for this device, in order, each once within the life of this process: it keeps no record of
/// what it took.
///
/// ```no_run
/// use std::time::Duration;
/// use tallylink_core::{Duration as Span, End, EpochSource, KeyId, Name, PeerId, Provision, crypto::Psk};
/// use tallylink_linux::{Network, Sender, SendsOnly, Settings};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let provision = |end| Provision::new(PeerId(*b"sensor-1"), end, KeyId(0), Psk::from_bytes([7; 16]));
/// let listen = "127.0.0.1:0".parse()?;
/// let mut gateway = Network::new(&Settings { listen, ..Settings::receiver() }, SendsOnly)?;
/// let to = gateway.local_addr()?.to_string();
/// let device = gateway.add_peer(provision(End::Gateway))?;
/// let name = Name::new("orders").ok_or("a name has 1 to 64 bytes")?;
/// let stream = gateway.open(device, name.clone(), EpochSource::FirstSession, 0, 1 << 16)?;
/// gateway.push(stream, b"lights on")?;
///
/// let mut settings = Settings::sender();
/// settings.config.poll = Some(Span::from_secs(30));
/// let (_sender, mut downlink) = Sender::with_downlink(&settings, &to, provision(End::Device), &[name])?;
/// while gateway.stream(stream).is_some_and(|s| s.stored_below() < 1) {
///     if !gateway.turn() {
///         gateway.wait(Some(Duration::from_millis(1)), || true)?;
///     }
///     downlink.take(Duration::from_millis(1), |record| println!("{}: {:?}", record.name, record.bytes));
///     downlink.confirm();
/// }
/// # Ok(())
/// # }
/// ```
pub struct Downlink {
    intake: Intake<Outlets>,
    sender: Sender,
}

impl Downlink {
    pub(super) fn new(intake: Intake<Outlets>, sender: Sender) -> Self {
        Self { intake, sender }
    }

    /// Hands out the next record; `None` when none came within `timeout`, or the sender's thread has died. It counts as taken
    /// with the next call of this or of [`Downlink::confirm`].
    pub fn next(&mut self, timeout: Duration) -> Option<Taken> {
        self.confirm();
        self.intake.hand_out(timeout)
    }

    /// Lends every record that has come to `take`, and waits for the first one for at most `timeout`. They count as taken at
    /// the next [`Downlink::confirm`]: what a program that ends before has done with them is its own affair, since the
    /// gateway hands them to the next one again. Returns how many there were.
    pub fn take(&mut self, timeout: Duration, take: impl FnMut(Record<'_>)) -> usize {
        self.intake.lend(timeout, take)
    }

    /// Tells the gateway that everything lent or handed out so far is STORED, which frees it there.
    pub fn confirm(&mut self) {
        self.intake.report_handed_out();
    }

    /// The same, and waits until that has left.
    ///
    /// # Errors
    /// [`Gone`]: the sender's thread has died.
    pub fn confirm_and_wait(&mut self) -> Result<(), Gone> {
        self.confirm();
        // The turn that does the first of these sends what it was told; the second comes after that.
        for _ in 0..2 {
            self.sender.inner.remote.call(|_| ())?;
        }
        Ok(())
    }

    /// Asks the gateway for whatever it has, now.
    ///
    /// # Errors
    /// [`Gone`]: the sender's thread has died.
    pub fn poll(&self) -> Result<(), Gone> {
        let peer = self.sender.inner.peer;
        self.sender.inner.remote.run(move |network| network.poll_gateway(peer))
    }

    /// Whether the thread that receives has died.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.intake.is_over()
    }
}

impl fmt::Debug for Downlink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Downlink").field("sender", &self.sender).finish_non_exhaustive()
    }
}
