//! An Ethernet cable between two interfaces, on which a test sees, changes and loses frames.

use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetFrame, EthernetProtocol, Ipv4Packet, Ipv6Packet, UdpPacket};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

type Queue = Rc<RefCell<VecDeque<Vec<u8>>>>;

type Lose = dyn FnMut(&mut Vec<u8>) -> bool;

/// One end of the cable.
pub(crate) struct Port {
    arriving: Queue,
    leaving: Queue,
    /// Sees each frame that leaves here, may change it, and returns true when it is lost.
    pub(crate) lose: Box<Lose>,
}

pub(crate) fn cable() -> [Port; 2] {
    let (a, b) = (Queue::default(), Queue::default());
    let port = |arriving: &Queue, leaving: &Queue| Port {
        arriving: arriving.clone(),
        leaving: leaving.clone(),
        lose: Box::new(|_| false),
    };
    [port(&a, &b), port(&b, &a)]
}

impl phy::Device for Port {
    type RxToken<'a> = Frame;
    type TxToken<'a> = &'a mut Port;

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }

    fn receive(&mut self, _: Instant) -> Option<(Frame, &mut Port)> {
        let frame = self.arriving.borrow_mut().pop_front()?;
        Some((Frame(frame), self))
    }

    fn transmit(&mut self, _: Instant) -> Option<&mut Port> {
        Some(self)
    }
}

pub(crate) struct Frame(Vec<u8>);

impl phy::RxToken for Frame {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl phy::TxToken for &mut Port {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        if !(self.lose)(&mut frame) {
            self.leaving.borrow_mut().push_back(frame);
        }
        result
    }
}

/// The UDP packet in a frame, if there is one.
pub(crate) fn udp_of(frame: &mut [u8]) -> Option<UdpPacket<&mut [u8]>> {
    let mut ethernet = EthernetFrame::new_checked(frame).ok()?;
    let header = match ethernet.ethertype() {
        EthernetProtocol::Ipv4 => {
            let ip = Ipv4Packet::new_checked(ethernet.payload_mut()).ok()?;
            (ip.next_header() == smoltcp::wire::IpProtocol::Udp).then(|| ip.header_len() as usize)?
        }
        EthernetProtocol::Ipv6 => {
            let ip = Ipv6Packet::new_checked(ethernet.payload_mut()).ok()?;
            (ip.next_header() == smoltcp::wire::IpProtocol::Udp).then(|| ip.header_len())?
        }
        _ => return None,
    };
    let frame = ethernet.into_inner();
    UdpPacket::new_checked(&mut frame[EthernetFrame::<&[u8]>::header_len() + header..]).ok()
}

/// True for a request or answer that resolves a neighbour: ARP, or ICMPv6.
pub(crate) fn resolves_neighbour(frame: &[u8]) -> bool {
    match EthernetFrame::new_checked(frame).map(|f| f.ethertype()) {
        Ok(EthernetProtocol::Arp) => true,
        Ok(EthernetProtocol::Ipv6) => frame[20] == 58,
        _ => false,
    }
}
