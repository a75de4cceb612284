//! Two ends in virtual time, on one interface or on two.

use crate::inbox::Inbox;
use smoltcp::iface::{Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::phy;
use smoltcp::socket::udp;
use smoltcp::time::{Duration, Instant};
use tallylink_core::crypto::{Soft, SoftKey};
use tallylink_core::{Event, Fixed, InIx};
use tallylink_smoltcp::{DeviceEnd, Driver, earlier};

pub(crate) type Key = SoftKey;
/// Sends and receives: two streams each way.
pub(crate) type DeviceArrays = Fixed<Key, 1, 2, 2, 16, 16_384, 4, 1200, 1>;
pub(crate) type GatewayArrays = Fixed<Key, 1, 4, 2, 64, 16_384, 16, 1472, 4>;
pub(crate) type Device = DeviceEnd<Soft, DeviceArrays, 1200>;
pub(crate) type Gateway = Driver<Soft, GatewayArrays, 1472>;

/// An interface with its device and sockets.
pub(crate) struct Host<P> {
    pub(crate) phy: P,
    pub(crate) interface: Interface,
    pub(crate) sockets: SocketSet<'static>,
}

impl<P: phy::Device> Host<P> {
    fn poll(&mut self, now: Instant) -> bool {
        // A frame that leaves here may be for here, and smoltcp does not say that it waits in the device.
        let mut changed = false;
        for _ in 0..3 {
            let result = self.interface.poll(now, &mut self.phy, &mut self.sockets);
            changed |= result != PollResult::None;
        }
        changed
    }
}

pub(crate) struct World<P: phy::Device> {
    pub(crate) now: Instant,
    /// One host for both ends, or the device's and the gateway's.
    pub(crate) hosts: Vec<Host<P>>,
    pub(crate) device: Device,
    pub(crate) device_at: (usize, SocketHandle),
    pub(crate) device_inbox: Inbox,
    pub(crate) device_events: Vec<Event>,
    pub(crate) gateway: Gateway,
    pub(crate) gateway_at: (usize, SocketHandle),
    pub(crate) gateway_inbox: Inbox,
    /// Steps of the device end so far.
    pub(crate) steps: usize,
}

/// More rounds than this at one moment are a spin.
const ROUNDS_AT_ONE_MOMENT: usize = 500;

impl<P: phy::Device> World<P> {
    pub(crate) fn device_socket(&mut self) -> &mut udp::Socket<'static> {
        let (host, handle) = self.device_at;
        self.hosts[host].sockets.get_mut(handle)
    }

    /// One step of the device end, without any of the interface.
    pub(crate) fn step_device(&mut self) -> Option<Instant> {
        let (host, handle) = self.device_at;
        let socket = self.hosts[host].sockets.get_mut::<udp::Socket<'_>>(handle);
        self.steps += 1;
        let next = self.device.step(self.now, socket, &mut self.device_inbox);
        while let Some(event) = self.device.next_event() {
            self.device_events.push(event);
        }
        next
    }

    fn step_gateway(&mut self) -> Option<Instant> {
        let (host, handle) = self.gateway_at;
        let socket = self.hosts[host].sockets.get_mut::<udp::Socket<'_>>(handle);
        let next = self.gateway.step(self.now, socket, &mut self.gateway_inbox);
        let at = tallylink_core::Instant::from_micros(self.now.total_micros() as u64);
        for (i, s) in self.gateway_inbox.streams.iter().enumerate() {
            let (ix, below) = (InIx(i as u32), s.next.number);
            self.gateway.endpoint_mut().stored(at, ix, s.epoch, below);
        }
        for (i, s) in self.device_inbox.streams.iter().enumerate() {
            let (ix, below) = (InIx(i as u32), s.next.number);
            self.device.endpoint_mut().stored(at, ix, s.epoch, below);
        }
        while self.gateway.endpoint_mut().next_event().is_some() {}
        next
    }

    /// Lets both ends do what they do until `done` says so (true) or nothing is due within `span` (false).
    pub(crate) fn run(&mut self, span: Duration, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let until = self.now + span;
        let mut rounds = 0;
        loop {
            let mut changed = false;
            for host in &mut self.hosts {
                changed |= host.poll(self.now);
            }
            // It may push something, which the steps then send.
            if done(self) {
                return true;
            }
            let device = self.step_device();
            let gateway = self.step_gateway();
            let mut wake = earlier(device, gateway);
            for host in &mut self.hosts {
                wake = earlier(wake, host.interface.poll_at(self.now, &host.sockets));
            }
            match wake {
                _ if changed => {}
                Some(at) if at > until => break,
                None => break,
                Some(at) if at > self.now => {
                    self.now = at;
                    rounds = 0;
                }
                Some(_) => {}
            }
            rounds += 1;
            assert!(rounds < ROUNDS_AT_ONE_MOMENT, "a spin at {}", self.now);
        }
        self.now = until;
        done(self)
    }

    /// Pushes `count` records of the sizes that `size` gives as room comes, and runs until all are STORED; what the gateway
    /// has then is what was pushed.
    pub(crate) fn deliver(&mut self, name: &str, count: usize, size: impl Fn(usize) -> usize) {
        let stream = self.device.open(self.now, name, 4096).unwrap();
        let mut pushed = 0;
        let stored = self.run(Duration::from_secs(600), |w| {
            while pushed < count && w.device.push(w.now, stream, &record(pushed, size(pushed))).is_ok() {
                pushed += 1;
            }
            w.device.stream(stream).unwrap().stored_below() == count as u64
        });
        assert!(stored, "{pushed} of {count} records pushed");
        let received = &self.gateway_inbox.streams;
        let records = received.iter().find(|s| s.name == name).unwrap().records();
        assert_eq!(records.len(), count);
        for (i, r) in records.iter().enumerate() {
            assert_eq!(*r, record(i, size(i)), "record {i}");
        }
    }
}

pub(crate) fn record(number: usize, size: usize) -> Vec<u8> {
    (0..size).map(|i| (number * 31 + i * 7) as u8).collect()
}
