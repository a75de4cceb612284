//! A sensor on a microcontroller: synthetic readings on three streams, delivered to a gateway by Tallylink over smoltcp.
//!
//! It runs on boards that QEMU emulates with an Ethernet controller, takes its arguments from the host by semihosting, logs
//! by defmt, and ends with status 0 when every reading is STORED. `driver-smoltcp/README.md` tells how to build and run it.

#![no_std]
#![no_main]

mod arguments;
mod boards;
mod clock;
mod readings;
mod register;
mod sensor;

use arguments::Arguments;
use boards::Ethernet;
use clock::Clock;
use core::panic::PanicInfo;
use cortex_m::singleton;
use cortex_m_rt::entry;
use defmt_semihosting as _;
use readings::Source;
use semihosting::process;
use sensor::{Arrays, Sensor};
use smoltcp::iface::{Config, Interface, SocketSet, SocketStorage};
use smoltcp::socket::udp;
use smoltcp::wire::{EthernetAddress, IpCidr, IpEndpoint, Ipv4Address, Ipv4Cidr};
use tallylink_smoltcp::{NoStreams, earlier, identity};

/// Bytes and datagrams of the socket's buffers, each way: three of the largest.
const BUFFER: usize = 3600;
const DATAGRAMS: usize = 8;
/// The port that datagrams leave from.
const PORT: u16 = 40_000;
/// QEMU's user network: the host is 10.0.2.2.
const NETWORK: [u8; 3] = [10, 0, 2];
/// A line in the log for so many records that are STORED.
const NOTE_EVERY: u64 = 1000;

#[entry]
fn main() -> ! {
    match run() {
        Ok(()) => process::exit(0),
        Err(why) => {
            defmt::error!("{=str}", why);
            process::exit(1)
        }
    }
}

fn run() -> Result<(), &'static str> {
    let processor = cortex_m::Peripherals::take().ok_or("started twice")?;
    let mut clock = Clock::start(processor.SYST);
    let arguments = Arguments::read()?;
    defmt::info!("boot {=u64}: {=u64} readings", arguments.boots, arguments.readings);

    let ethernet = singleton!(: Ethernet = Ethernet::new(hardware_address(arguments.host))).ok_or("taken")?;
    let mut config = Config::new(EthernetAddress(hardware_address(arguments.host)).into());
    config.random_seed = arguments.boots;
    let mut interface = Interface::new(config, ethernet, clock.now());
    let [a, b, c] = NETWORK;
    let address = Ipv4Cidr::new(Ipv4Address::new(a, b, c, arguments.host), 24);
    let mut added = Ok(());
    interface.update_ip_addrs(|all| added = all.push(IpCidr::Ipv4(address)));
    added.map_err(|_| "no room for an address")?;

    let received = singleton!(: [udp::PacketMetadata; DATAGRAMS] = [udp::PacketMetadata::EMPTY; DATAGRAMS]);
    let sent = singleton!(: [udp::PacketMetadata; DATAGRAMS] = [udp::PacketMetadata::EMPTY; DATAGRAMS]);
    let received_bytes = singleton!(: [u8; BUFFER] = [0; BUFFER]).ok_or("taken")?;
    let sent_bytes = singleton!(: [u8; BUFFER] = [0; BUFFER]).ok_or("taken")?;
    let mut socket = udp::Socket::new(
        udp::PacketBuffer::new(&mut received.ok_or("taken")?[..], &mut received_bytes[..]),
        udp::PacketBuffer::new(&mut sent.ok_or("taken")?[..], &mut sent_bytes[..]),
    );
    socket.bind(PORT).map_err(|_| "the socket does not bind")?;
    let storage = singleton!(: [SocketStorage<'static>; 1] = [SocketStorage::EMPTY]).ok_or("taken")?;
    let mut sockets = SocketSet::new(&mut storage[..]);
    let socket = sockets.add(socket);

    let me = identity(arguments.peer, arguments.key_id, arguments.key);
    let arrays = singleton!(: Arrays = Arrays::new()).ok_or("taken")?;
    let node = &mut sensor::node(arrays, me, arguments.boots)?;
    let gateway = IpEndpoint::new((*arguments.gateway.ip()).into(), arguments.gateway.port());
    node.connect(clock.now(), gateway).map_err(|_| "no peer")?;
    let mut sensor = Sensor::open(node, clock.now(), arguments.readings, arguments.every_ms, arguments.when_full)?;

    let mut noted = 0;
    while !sensor.is_done() {
        let now = clock.now();
        let reading = sensor.take(node, now);
        interface.poll(now, ethernet, &mut sockets);
        let step = node.step(now, sockets.get_mut::<udp::Socket<'_>>(socket), &mut NoStreams);
        while let Some(event) = node.next_event() {
            sensor.note(event);
        }
        let stored = sensor.tallies().iter().map(|t| t.stored).sum::<u64>();
        if stored / NOTE_EVERY > noted {
            noted = stored / NOTE_EVERY;
            defmt::info!("stored {=u64}", stored);
        }
        let next = earlier(earlier(step, reading), interface.poll_at(now, &sockets));
        if next.is_none_or(|next| next > clock.now()) {
            // The tick wakes it after a millisecond at the latest; a frame that arrives waits so long.
            cortex_m::asm::wfi();
        }
    }
    for (source, tally) in Source::ALL.into_iter().zip(sensor.tallies()) {
        defmt::info!(
            "{=str}: pushed {=u64}, refused {=u64}, stored {=u64}",
            source.name(),
            tally.pushed,
            tally.refused,
            tally.stored
        );
    }
    defmt::info!("overwritten {=u64}", node.overwritten());
    Ok(())
}

/// A locally administered address.
const fn hardware_address(host: u8) -> [u8; 6] {
    [0x02, 0, 0, 0, 0, host]
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    defmt::error!("{}", defmt::Display2Format(info));
    process::exit(101)
}
