//! The driver over smoltcp's devices: a device end and a gateway end, each on a UDP socket, in virtual time.

mod cable;
mod checksum;
mod dhcp;
mod dns;
mod downlink;
mod full_rings;
mod inbox;
mod ipv6;
mod loopback;
mod neighbours;
mod overwriting;
mod quiet;
mod services;
mod setup;
mod sleeping;
mod world;
