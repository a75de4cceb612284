//! Tallylink over a smoltcp UDP socket: no heap, no clock and no randomness of its own.
//!
//! A [`DeviceEnd`] holds one gateway's key and the records that are not STORED yet, in a ring of fixed size. The application
//! owns the network interface and the socket and lends the socket to [`DeviceEnd::step`], beside whatever other sockets
//! (DHCP, DNS) it has.
//!
//! # The run loop
//!
//! ```no_run
//! use smoltcp::iface::{Interface, SocketHandle, SocketSet};
//! use smoltcp::socket::udp;
//! use smoltcp::{phy, time::Instant, wire::IpEndpoint};
//! use tallylink_smoltcp::{Board, Declared, Event, NoStreams, Sensor, earlier, identity};
//!
//! // From `tallylink peer add NAME --format rust`.
//! const TALLYLINK_PEER_ID: [u8; 8] = [0x70, 0xb3, 0xd5, 0xff, 0xfe, 0x00, 0x00, 0x01];
//! const TALLYLINK_KEY_ID: u8 = 0;
//! const TALLYLINK_KEY: [u8; 16] = [7; 16];
//!
//! struct MyBoard;
//!
//! impl Board for MyBoard {
//!     type Error = core::convert::Infallible;
//!
//!     fn declare(&mut self) -> Result<Declared, Self::Error> {
//!         let from_the_generator = [0x5a; 16];
//!         Ok(Declared::Entropy(from_the_generator))
//!     }
//! }
//!
//! fn run(
//!     phy: &mut impl phy::Device,
//!     interface: &mut Interface,
//!     sockets: &mut SocketSet<'_>,
//!     socket: SocketHandle,
//!     gateway: IpEndpoint,
//!     clock: impl Fn() -> Instant,
//!     reading: impl Fn() -> Option<[u8; 4]>,
//!     sleep_until: impl Fn(Option<Instant>),
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     let me = identity(TALLYLINK_PEER_ID, TALLYLINK_KEY_ID, TALLYLINK_KEY);
//!     // Up to two streams, and 4 KiB of records that are not STORED.
//!     let mut sensor = Sensor::<2, 4096>::new(&mut MyBoard, me)?;
//!     sensor.connect(clock(), gateway)?;
//!     let temperature = sensor.open(clock(), "temperature", 4096)?;
//!     loop {
//!         let now = clock();
//!         if let Some(reading) = reading() {
//!             // `Full` when the gateway has been away for long: this reading is the one that is given up.
//!             let _ = sensor.push(now, temperature, &reading);
//!         }
//!         interface.poll(now, phy, sockets);
//!         let next = sensor.step(now, sockets.get_mut::<udp::Socket<'_>>(socket), &mut NoStreams);
//!         while let Some(event) = sensor.next_event() {
//!             if let Event::Stored(stream, below) = event {
//!                 assert_eq!(stream, temperature);
//!                 let _on_the_gateways_disk = below;
//!             }
//!         }
//!         // Until then, or until a frame arrives or there is a reading.
//!         sleep_until(earlier(next, interface.poll_at(now, sockets)));
//!     }
//! }
//! ```
//!
//! The order matters in one way only: what `step` puts into the socket leaves with the next `Interface::poll`, so a loop
//! that sleeps asks `Interface::poll_at` *after* `step`, as above. Call `step` again
//! - at the time that it returned,
//! - after `Interface::poll` received or sent something,
//! - after any other call that changes what there is to send: `push`, `connect`, `room`, `poll`.
//!
//! Calling it more often does no harm.
//!
//! # What is bounded
//!
//! A step takes at most [`RECEIVED_PER_STEP`] datagrams from the socket and puts at most [`SENT_PER_STEP`] into it; with more
//! left to do it asks to be called again at once. It never waits. A full transmit ring, an unresolved neighbour and a closed
//! socket are ordinary: nothing is sealed before the socket has given the packet's exact room, so a packet number is never
//! spent on a datagram that does not leave, and the step asks to be called again a little later ([`RETRY_AFTER`]).
//!
//! # Deep sleep
//!
//! A sensor that is off between its readings keeps its session, and the records that wait, in memory that stays on. It wakes up,
//! sends its reading in the first datagram, waits for `Stored` as long as it likes, and is off again:
//!
//! ```
//! use smoltcp::{time::Instant, wire::IpEndpoint};
//! use tallylink_smoltcp::{Board, NoStreams, OutIx, Provision, Sensor};
//!
//! /// Every start: from power on, from a reset, from deep sleep. The last is the only one that finds an image.
//! fn start<B: Board<Error = core::convert::Infallible>>(
//!     board: &mut B,
//!     me: Provision,
//!     now: Instant,
//!     gateway: IpEndpoint,
//!     retained: &mut [u8],
//! ) -> Result<(Sensor<1, 1024>, OutIx), Box<dyn std::error::Error>> {
//!     let mut sensor = Sensor::new(board, me)?;
//!     let temperature = sensor.open(now, "temperature", 1024)?;
//!     // In place of `connect`. Without an image the device asks for a session, as always.
//!     let _ = sensor.resume(now, gateway, retained, &mut NoStreams);
//!     Ok((sensor, temperature))
//! }
//!
//! /// True when the board may be switched off; the image needs what is in `retained` then, and nothing else.
//! fn may_sleep(sensor: &mut Sensor<1, 1024>, now: Instant, retained: &mut [u8]) -> bool {
//!     sensor.suspend(now, retained).is_ok()
//! }
//! ```
//!
//! An image is followed once: [`DeviceEnd::resume`] destroys it first. When the power fails at any moment, the image is whole or it
//! is none, and without one the device begins a new session and new epochs, as after any reset. Only AES-128-GCM-SIV sessions are
//! kept, which is the suite that this crate is built with unless told otherwise.
//!
//! # Sizes
//!
//! The socket's buffers must hold one datagram of `Config::max_datagram` (1,200 bytes for a [`Sensor`]) at the least, which
//! [`Driver::check_socket`] verifies; room for two or three keeps a link busier. A received datagram is copied once, because
//! the socket lends it immutably and it is decrypted in place.

#![no_std]
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

#[macro_use]
mod fmt;

mod address;
mod board;
mod clock;
mod deliver;
mod device;
mod driver;
mod sensor;

pub use board::{Board, Declared};
pub use clock::earlier;
pub use deliver::NoStreams;
pub use device::{DeviceEnd, OpenError, StartError, WhenFull, identity};
pub use driver::{Driver, Faults, RECEIVED_PER_STEP, RETRY_AFTER, SENT_PER_STEP, SocketError};
#[cfg(any(feature = "aes-gcm", feature = "aes-gcm-siv", feature = "chacha20-poly1305"))]
pub use sensor::{Sensor, SensorArrays, StaticSensor};

pub use tallylink_core as core;
pub use tallylink_core::{Batch, Deliver, Event, OutIx, Provision, PushError, ResumeError, SuspendError};
