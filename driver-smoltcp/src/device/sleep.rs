//! Deep sleep: what the device needs to go on lies in retained memory while everything else is off.

use super::{DeviceEnd, GATEWAY};
use crate::{address, clock};
use smoltcp::time::Instant;
use smoltcp::wire::IpEndpoint;
use tallylink_core::crypto::Crypto;
use tallylink_core::{Deliver, ResumeError, Storage, SuspendError};

impl<C: Crypto, S: Storage<C::Key>, const DATAGRAM: usize> DeviceEnd<C, S, DATAGRAM> {
    /// How many bytes [`DeviceEnd::suspend`] would write now: about 200, for each stream about 70 and its name, and what waits
    /// in the rings.
    #[must_use]
    pub fn image_len(&mut self) -> usize {
        self.driver.endpoint_mut().image_len(GATEWAY)
    }

    /// Writes the session, the streams and the records that wait into `image`, which is memory that keeps its content when
    /// everything else is switched off, and returns the length. The image holds the session's key.
    ///
    /// From here on this device end is good for nothing: it sends nothing, and a push finds no stream. What is in the socket's
    /// transmit ring may still leave. After the sleep, or in place of it, a new device end [resumes](DeviceEnd::resume).
    ///
    /// # Errors
    /// A [`SuspendError`]; nothing has changed. Then sleep later, in another way, or not so deep.
    pub fn suspend(&mut self, now: Instant, image: &mut [u8]) -> Result<usize, SuspendError> {
        self.driver.endpoint_mut().suspend(clock::to_core(now), GATEWAY, image)
    }

    /// In place of the first [`DeviceEnd::connect`], after each start: goes on where [`DeviceEnd::suspend`] stopped, if there is
    /// an image, and starts anew if there is none. The next record leaves in the first datagram then, without a HELLO.
    ///
    /// The streams are opened before, under the same names, and nothing is pushed before. `image` is destroyed whatever comes of
    /// it, so that it is followed once at the most. A start that does not call this must destroy it in another way. Where a cache
    /// lies before the memory, write it back before [`DeviceEnd::step`] is called.
    ///
    /// # Errors
    /// A [`ResumeError`] says why there was nothing to go on with. The device is connected all the same: with a new session, and
    /// with new epochs for its streams.
    pub fn resume(
        &mut self,
        now: Instant,
        gateway: IpEndpoint,
        image: &mut [u8],
        deliver: &mut dyn Deliver,
    ) -> Result<(), ResumeError> {
        self.gateway = Some(gateway);
        let path = address::path_to(gateway);
        self.driver.endpoint_mut().resume(clock::to_core(now), GATEWAY, path, image, deliver)
    }
}
