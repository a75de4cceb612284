//! What a network offers a device beside the gateway: a DHCP server and a name server, on the gateway's host.

use crate::cable::Port;
use crate::setup::{AMPLE, socket};
use crate::world::{Host, World};
use smoltcp::iface::SocketHandle;
use smoltcp::socket::udp;
use smoltcp::wire::{
    DhcpMessageType, DhcpPacket, DhcpRepr, DnsPacket, DnsQueryType, DnsQuestion, EthernetAddress, IpAddress,
    IpEndpoint, Ipv4Address,
};

const DHCP_SERVER_PORT: u16 = 67;
const DHCP_CLIENT_PORT: u16 = 68;
const DNS_PORT: u16 = 53;
/// A DNS header (RFC 1035 §4.1.1).
const DNS_HEADER: usize = 12;

/// A DHCP server and a name server.
pub(crate) struct Services {
    dhcp: SocketHandle,
    dns: SocketHandle,
    host: usize,
    address: Ipv4Address,
    /// What the device may have. Another one is refused, and asked for anew.
    pub(crate) lease: Ipv4Address,
    pub(crate) lease_seconds: u32,
    /// The only name there is, and what it stands for.
    pub(crate) known: (&'static str, Vec<IpAddress>),
    /// Messages of each that were answered.
    pub(crate) leases: usize,
    pub(crate) refusals: usize,
    pub(crate) answers: usize,
}

impl Services {
    /// On the gateway's host, which has this address.
    pub(crate) fn beside_the_gateway(w: &mut World<Port>, address: Ipv4Address, lease: Ipv4Address) -> Self {
        let host = w.gateway_at.0;
        let mut bound = |port: u16| {
            let mut socket = socket(AMPLE);
            socket.bind(port).unwrap();
            w.hosts[host].sockets.add(socket)
        };
        let (dhcp, dns) = (bound(DHCP_SERVER_PORT), bound(DNS_PORT));
        let known = ("gateway.example", vec![]);
        Self { dhcp, dns, host, address, lease, lease_seconds: 3600, known, leases: 0, refusals: 0, answers: 0 }
    }

    /// Answers what has arrived.
    pub(crate) fn serve(&mut self, w: &mut World<Port>) {
        let host = &mut w.hosts[self.host];
        while let Some((asked, _)) = received(host, self.dhcp) {
            let everyone = IpEndpoint::new(IpAddress::v4(255, 255, 255, 255), DHCP_CLIENT_PORT);
            let answer = self.lease_for(&asked);
            host.sockets.get_mut::<udp::Socket<'_>>(self.dhcp).send_slice(&answer, everyone).unwrap();
        }
        while let Some((asked, from)) = received(host, self.dns) {
            let answer = self.resolve(&asked);
            host.sockets.get_mut::<udp::Socket<'_>>(self.dns).send_slice(&answer, from).unwrap();
        }
    }

    fn lease_for(&mut self, asked: &[u8]) -> Vec<u8> {
        let packet = DhcpPacket::new_checked(asked).unwrap();
        let asked = DhcpRepr::parse(&packet).unwrap();
        // One that renews its lease names its address in another place (RFC 2131 §4.3.2).
        let wanted = asked.requested_ip.unwrap_or(asked.client_ip);
        let message_type = match asked.message_type {
            DhcpMessageType::Discover => DhcpMessageType::Offer,
            DhcpMessageType::Request if wanted == self.lease => DhcpMessageType::Ack,
            DhcpMessageType::Request => DhcpMessageType::Nak,
            other => panic!("{other:?}"),
        };
        self.leases += usize::from(message_type == DhcpMessageType::Ack);
        self.refusals += usize::from(message_type == DhcpMessageType::Nak);
        let answer = DhcpRepr {
            message_type,
            transaction_id: asked.transaction_id,
            secs: 0,
            client_hardware_address: asked.client_hardware_address,
            client_ip: Ipv4Address::UNSPECIFIED,
            your_ip: self.lease,
            server_ip: self.address,
            router: None,
            subnet_mask: Some(Ipv4Address::new(255, 255, 255, 0)),
            relay_agent_ip: Ipv4Address::UNSPECIFIED,
            broadcast: false,
            requested_ip: None,
            client_identifier: None::<EthernetAddress>,
            server_identifier: Some(self.address),
            parameter_request_list: None,
            dns_servers: Some([self.address].into_iter().collect()),
            max_size: None,
            lease_duration: Some(self.lease_seconds),
            renew_duration: None,
            rebind_duration: None,
            additional_options: &[],
        };
        let mut bytes = vec![0; answer.buffer_len()];
        answer.emit(&mut DhcpPacket::new_unchecked(&mut bytes)).unwrap();
        bytes
    }

    /// The question, and behind it each address of the wanted kind (RFC 1035 §4.1, RFC 3596 §2).
    fn resolve(&mut self, asked: &[u8]) -> Vec<u8> {
        let packet = DnsPacket::new_checked(asked).unwrap();
        let (rest, question) = DnsQuestion::parse(packet.payload()).unwrap();
        let name = packet.parse_name(question.name).map(|label| String::from_utf8(label.unwrap().to_vec()).unwrap());
        let known = name.collect::<Vec<_>>().join(".") == self.known.0;
        let end = asked.len() - rest.len();
        let mut answer = asked[..end].to_vec();
        answer[2] |= 0x80; // an answer
        answer[3] = if known { 0x80 } else { 0x83 }; // no such name
        for address in self.known.1.iter().filter(|_| known) {
            let (kind, octets) = match address {
                IpAddress::Ipv4(v4) => (DnsQueryType::A, v4.octets().to_vec()),
                IpAddress::Ipv6(v6) => (DnsQueryType::Aaaa, v6.octets().to_vec()),
            };
            if kind == question.type_ {
                answer.extend([0xc0, DNS_HEADER as u8]); // the name that stands there
                answer.extend(u16::from(kind).to_be_bytes());
                answer.extend([0, 1, 0, 0, 0, 60, 0, octets.len() as u8]);
                answer.extend(octets);
                answer[7] += 1;
            }
        }
        self.answers += 1;
        answer
    }
}

fn received(host: &mut Host<Port>, at: SocketHandle) -> Option<(Vec<u8>, udp::UdpMetadata)> {
    let (bytes, from) = host.sockets.get_mut::<udp::Socket<'_>>(at).recv().ok()?;
    Some((bytes.to_vec(), from))
}
