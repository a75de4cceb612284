//! Deep sleep: a device end that is gone but for what retained memory holds.

use crate::cable::Port;
use crate::setup::{AMPLE, KEY, PEER, device_config, on_a_cable};
use crate::world::{Device, DeviceArrays, World, record};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{IpAddress, IpEndpoint};
use std::convert::Infallible;
use tallylink_core::crypto::{Soft, Suite, Suites};
use tallylink_core::{Config, EpochSource, Name, OutIx, PeerIx};
use tallylink_smoltcp::{Board, Declared, PushError, ResumeError, SuspendError, identity};

const DEVICE: IpAddress = IpAddress::v4(10, 0, 2, 15);
const GATEWAY: IpAddress = IpAddress::v4(10, 0, 2, 2);
const TO: IpEndpoint = IpEndpoint::new(GATEWAY, 7433);

/// A board that counts its starts.
struct Counts(u64);

impl Board for Counts {
    type Error = Infallible;

    fn declare(&mut self) -> Result<Declared, Infallible> {
        self.0 += 1;
        Ok(Declared::BootCounter { boots: self.0, extra: 7 })
    }
}

/// A start of the device, with its one stream open.
fn start(w: &mut World<Port>, board: &mut Counts, image: &mut [u8]) -> (OutIx, Result<(), ResumeError>) {
    let config = Config { suites: Suites::from(Suite::Aes128GcmSiv), ..device_config() };
    let me = identity(PEER, 1, KEY);
    w.device = Device::with(config, Soft, DeviceArrays::new(), board, me).unwrap();
    let stream = w.device.open(w.now, "temperature", 4096).unwrap();
    let resumed = w.device.resume(w.now, TO, image, &mut w.device_inbox);
    assert!(image.iter().all(|b| *b == 0));
    (stream, resumed)
}

fn fall_asleep(w: &mut World<Port>, image: &mut [u8]) {
    let len = w.device.image_len();
    assert_eq!(w.device.suspend(w.now, image), Ok(len));
    assert!(len < 300, "{len}");
    assert_eq!(w.step_device(), None);
}

fn run_until_stored(w: &mut World<Port>, stream: OutIx, below: u64) {
    let stored = w.run(Duration::from_secs(30), |w| w.device.stream(stream).unwrap().stored_below() == below);
    assert!(stored, "not stored below {below}");
}

#[test]
fn a_sensor_that_sleeps_between_readings_needs_one_session() {
    let (mut w, mut board, mut image) = (on_a_cable(DEVICE, GATEWAY, AMPLE), Counts(0), [0; 2048]);
    for i in 0..50 {
        let (stream, resumed) = start(&mut w, &mut board, &mut image);
        assert_eq!(resumed.is_ok(), i > 0);
        assert_eq!(w.device.has_session(), i > 0);
        assert_eq!(w.device.push(w.now, stream, &record(i, 61)), Ok(i as u64));
        run_until_stored(&mut w, stream, i as u64 + 1);
        let totals = *w.device.driver().endpoint().totals();
        assert_eq!(totals.hellos_sent, u64::from(i == 0));
        assert!(i == 0 || totals.packets_sent <= 3, "{} packets for one reading", totals.packets_sent);
        fall_asleep(&mut w, &mut image);
        assert_eq!(w.device.push(w.now, stream, b"late"), Err(PushError::NoStream));
        w.run(Duration::from_secs(60), |_| false);
    }
    assert_eq!(w.gateway.endpoint().totals().sessions, 1);
    let records = w.gateway_inbox.streams[0].records();
    assert_eq!(records, (0..50).map(|i| record(i, 61)).collect::<Vec<_>>());
}

#[test]
fn a_start_without_an_image_connects_as_always() {
    let (mut w, mut board) = (on_a_cable(DEVICE, GATEWAY, AMPLE), Counts(0));
    for start_number in 0..3 {
        let (stream, resumed) = start(&mut w, &mut board, &mut [0xff; 1024]);
        assert_eq!(resumed, Err(ResumeError::NoImage));
        w.device.push(w.now, stream, &record(start_number, 61)).unwrap();
        run_until_stored(&mut w, stream, 1);
    }
    assert_eq!(w.gateway_inbox.streams[0].records().len(), 3);
}

#[test]
fn records_of_a_gateway_reach_a_device_that_sleeps() {
    let (mut w, mut board, mut image) = (on_a_cable(DEVICE, GATEWAY, AMPLE), Counts(0), [0; 2048]);
    let (stream, _) = start(&mut w, &mut board, &mut image);
    w.device.push(w.now, stream, &record(0, 61)).unwrap();
    run_until_stored(&mut w, stream, 1);
    let now = |w: &World<Port>| tallylink_core::Instant::from_micros(w.now.total_micros() as u64);
    let (at, name) = (now(&w), Name::new("down").unwrap());
    w.gateway.endpoint_mut().open(at, OutIx(0), PeerIx(0), name, EpochSource::FirstSession, 0, 0..4096).unwrap();
    for i in 0..10 {
        let at = now(&w);
        w.gateway.endpoint_mut().push(at, OutIx(0), &record(i, 61)).unwrap();
        w.device.poll(w.now);
        let arrived = |w: &mut World<Port>| w.device_inbox.streams.first().is_some_and(|s| s.records().len() == i + 1);
        assert!(w.run(Duration::from_secs(60), arrived));
        // What it says of that may leave or not.
        w.run(Duration::from_millis(i as u64 * 7), |_| false);
        let stored = w.device.image_len();
        assert_eq!(w.device.suspend(w.now, &mut image), Ok(stored));
        w.run(Duration::from_secs(30), |_| false);
        assert_eq!(start(&mut w, &mut board, &mut image).1, Ok(()));
    }
    assert_eq!(w.gateway.endpoint().totals().sessions, 1);
    assert_eq!(w.device_inbox.streams[0].records(), (0..10).map(|i| record(i, 61)).collect::<Vec<_>>());
}

#[test]
fn memory_that_is_too_small_is_no_harm() {
    let (mut w, mut board) = (on_a_cable(DEVICE, GATEWAY, AMPLE), Counts(0));
    let (stream, _) = start(&mut w, &mut board, &mut []);
    for i in 0..20 {
        w.device.push(w.now, stream, &record(i, 61)).unwrap();
    }
    let len = w.device.image_len();
    assert!(len > 20 * 62);
    assert_eq!(w.device.suspend(Instant::ZERO, &mut [0; 128]), Err(SuspendError::TooSmall(len)));
    run_until_stored(&mut w, stream, 20);
}
