//! An idle device asks for no time, and a board that cannot start safely does not start.

use crate::setup::{AMPLE, KEY, PEER, on_a_cable};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::IpAddress;
use tallylink_core::crypto::Psk;
use tallylink_core::{End, Error, KeyId, PeerId, Provision};
use tallylink_smoltcp::{Board, Declared, OpenError, Sensor, StartError, identity};

#[test]
fn an_idle_device_sends_nothing_and_names_no_time() {
    let mut w = on_a_cable(IpAddress::v4(10, 0, 2, 15), IpAddress::v4(10, 0, 2, 2), AMPLE);
    w.deliver("temperature", 100, |_| 61);
    w.run(Duration::from_secs(30), |_| false);
    let (steps, sent) = (w.steps, *w.device.driver().endpoint().totals());
    assert!(!w.run(Duration::from_secs(86_400), |_| false));
    assert_eq!(w.steps, steps + 1);
    assert_eq!(*w.device.driver().endpoint().totals(), sent);
    assert_eq!(w.step_device(), None);
}

struct BrokenGenerator;

impl Board for BrokenGenerator {
    type Error = &'static str;

    fn declare(&mut self) -> Result<Declared, &'static str> {
        Err("the generator failed its self-test")
    }
}

struct Counts(u64);

impl Board for Counts {
    type Error = ();

    fn declare(&mut self) -> Result<Declared, ()> {
        self.0 += 1;
        Ok(Declared::BootCounter { boots: self.0, extra: 0 })
    }
}

#[test]
fn a_board_whose_generator_fails_gets_no_device_end() {
    let made = Sensor::<1, 1024>::new(&mut BrokenGenerator, identity(PEER, 1, KEY));
    assert_eq!(made.err(), Some(StartError::Board("the generator failed its self-test")));
}

#[test]
fn an_identity_of_a_gateway_is_refused() {
    let wrong = Provision::new(PeerId(PEER), End::Gateway, KeyId(1), Psk::from_bytes(KEY));
    let made = Sensor::<1, 1024>::new(&mut Counts(0), wrong);
    assert_eq!(made.err(), Some(StartError::Identity(Error::NotDevice)));
}

#[test]
fn streams_share_the_slots_and_the_ring() {
    let mut sensor = Sensor::<2, 1024>::new(&mut Counts(0), identity(PEER, 1, KEY)).unwrap();
    let now = Instant::ZERO;
    assert_eq!(sensor.open(now, "", 100), Err(OpenError::Name));
    assert_eq!(sensor.open(now, "a", 1025), Err(OpenError::Core(Error::BadRing)));
    let a = sensor.open(now, "a", 1000).unwrap();
    assert!(sensor.open(now, "b", 25).is_err());
    let b = sensor.open(now, "b", 24).unwrap();
    assert_ne!(a, b);
    assert!(sensor.open(now, "c", 0).is_err());
    assert_eq!(sensor.push(now, a, &[1; 61]), Ok(0));
    assert_eq!(sensor.push(now, b, &[1; 5]), Ok(0));
}
