//! A sensor on a microcontroller: synthetic readings on three streams, delivered to a gateway by Tallylink over smoltcp.
//!
//! It runs on boards that QEMU emulates with an Ethernet controller, takes its arguments from the host by semihosting, logs
//! by defmt, and ends with status 0 when every reading is STORED. `driver-smoltcp/README.md` tells how to build and run it.

#![no_std]
#![no_main]

mod arguments;
mod network;
mod readings;
mod sensor;

use arguments::Arguments;
use core::panic::PanicInfo;
use cortex_m_rt::entry;
use defmt_semihosting as _;
use network::Network;
use readings::Source;
use semihosting::process;
use sensor::{Node, Sensor};
use smoltcp::socket::udp;
use smoltcp::wire::IpEndpoint;
use tallylink_board::{Clock, Depth, deepest};
use tallylink_smoltcp::{NoStreams, earlier, identity};

/// A line in the log for so many records that are STORED.
const NOTE_EVERY: u64 = 100;

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
    let (mut network, node, mut sensor) = start(&mut clock)?;
    let to_start = deepest();

    let mut noted = 0;
    // Of the core with its suite and driver, and of smoltcp with the controller.
    let (mut step_takes, mut network_takes) = (Depth::default(), Depth::default());
    while !sensor.is_done() {
        let now = clock.now();
        let reading = step_takes.of(|| sensor.take(node, now));
        network_takes.of(|| network.poll(now));
        let socket = network.sockets.get_mut::<udp::Socket<'_>>(network.socket);
        let step = step_takes.of(|| node.step(now, socket, &mut NoStreams));
        while let Some(event) = node.next_event() {
            sensor.note(event);
        }
        let stored = sensor.stored(node);
        if stored / NOTE_EVERY > noted {
            noted = stored / NOTE_EVERY;
            defmt::info!("stored {=u64}", stored);
        }
        let next = earlier(earlier(step, reading), network.poll_at(now));
        if next.is_none_or(|next| next > clock.now()) {
            // The tick wakes it after a millisecond at the latest; a frame that arrives waits so long.
            cortex_m::asm::wfi();
        }
    }
    for (source, tally) in Source::ALL.into_iter().zip(sensor.tallies()) {
        defmt::info!("{=str}: pushed {=u64}, refused {=u64}", source.name(), tally.pushed, tally.refused);
    }
    defmt::info!("overwritten {=u64}, stored {=u64}", node.overwritten(), sensor.stored(node));
    let totals = node.driver().endpoint().totals();
    defmt::info!("packets sent {=u64}, lost {=u64}", totals.packets_sent, totals.packets_lost);
    let (step, network) = (step_takes.bytes(), network_takes.bytes());
    defmt::info!("stack: to start {=usize}, for a step {=usize}, for the network {=usize}", to_start, step, network);
    Ok(())
}

/// What is only needed once, and apart: it would keep its part of the stack for ever.
#[inline(never)]
fn start(clock: &mut Clock) -> Result<(Network, &'static mut Node, Sensor), &'static str> {
    let arguments = Arguments::read()?;
    defmt::info!("boot {=u64}: {=u64} readings", arguments.boots, arguments.readings);
    let network = Network::start(arguments.host, arguments.boots, clock.now())?;
    let me = identity(arguments.peer, arguments.key_id, arguments.key);
    let node = sensor::node(me, arguments.boots)?;
    let gateway = IpEndpoint::new((*arguments.gateway.ip()).into(), arguments.gateway.port());
    node.connect(clock.now(), gateway).map_err(|_| "no peer")?;
    let sensor = Sensor::open(node, clock.now(), arguments.readings, arguments.every_ms, arguments.when_full)?;
    Ok((network, node, sensor))
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    defmt::error!("{}", defmt::Display2Format(info));
    process::exit(101)
}
