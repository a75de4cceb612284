//! How firmware on [embassy-net](https://docs.rs/embassy-net) delivers by Tallylink: to copy from.
//!
//! embassy-net keeps smoltcp's sockets to itself, so `tallylink-smoltcp` cannot be lent one. What that crate does in a step,
//! [`deliver`] does with an `embassy_net` socket. [`run`] is the whole of an application: its network by DHCP, its gateway by
//! DNS, and its readings.
//!
//! A future that is dropped midway has sent a whole packet or none: a packet number is only spent in the call that finds room
//! in the socket for exactly that packet.

#![no_std]

mod deliver;
mod end;

pub use deliver::deliver;
pub use end::{Arrays, End, end};

use core::convert::Infallible;
use core::net::SocketAddr;
use embassy_futures::join::join;
use embassy_net::dns::DnsQueryType;
use embassy_net::driver::Driver;
use embassy_net::udp::{PacketMetadata, UdpSocket};
use embassy_net::{Config, StackResources};
use embassy_time::Timer;

/// The UDP port of a gateway.
const GATEWAY_PORT: u16 = 7433;
/// The port that datagrams leave from.
const PORT: u16 = 40_000;
/// Bytes and datagrams of the socket's buffers, each way: two of the largest.
const BUFFER: usize = 2400;
const DATAGRAMS: usize = 4;
/// Seconds until a name that is not known is asked for again.
const ASK_AGAIN: u64 = 5;

/// Runs for ever on an Ethernet driver; a firmware spawns it as its network's task.
///
/// `seed` differs at each start, `gateway` is a name, and `reading` waits for the next record of the stream: see [`deliver`].
pub async fn run<D: Driver>(
    driver: D,
    seed: u64,
    end: &mut End<'_>,
    gateway: &str,
    reading: impl AsyncFnMut() -> [u8; 4],
) -> Infallible {
    // DHCP, DNS, and the socket below.
    let mut resources = StackResources::<3>::new();
    let (stack, mut network) = embassy_net::new(driver, Config::dhcpv4(Default::default()), &mut resources, seed);
    let application = async {
        stack.wait_config_up().await;
        let address = loop {
            match stack.dns_query(gateway, DnsQueryType::A).await.ok().and_then(|found| found.first().copied()) {
                Some(address) => break address,
                None => Timer::after_secs(ASK_AGAIN).await,
            }
        };
        let (mut received, mut sent) = ([PacketMetadata::EMPTY; DATAGRAMS], [PacketMetadata::EMPTY; DATAGRAMS]);
        let (mut received_bytes, mut sent_bytes) = ([0; BUFFER], [0; BUFFER]);
        let mut socket = UdpSocket::new(stack, &mut received, &mut received_bytes, &mut sent, &mut sent_bytes);
        // Nobody else binds it.
        let _ = socket.bind(PORT);
        let gateway = SocketAddr::new(address.into(), GATEWAY_PORT);
        deliver(&mut socket, end, gateway, reading).await
    };
    let (_, never) = join(network.run(), application).await;
    never
}
