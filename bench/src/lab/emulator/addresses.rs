//! Which address of the lab is whose. Networks for benchmarks are 198.18.0.0/15 (RFC 2544) and 2001:2::/48 (RFC 5180).
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::transport::side::End;

pub(crate) const V4_PREFIX: u8 = 24;
pub(crate) const V6_PREFIX: u8 = 64;

const SENDER: u8 = 1;
const RECEIVER: u8 = 2;
const ELSEWHERE: u8 = 66;
/// The sender's outer address after its first move; the next ones follow.
const OUTER: u8 = 100;
const ROUTER: u8 = 254;

/// An end's own address over IPv4.
pub(crate) fn v4(end: End) -> Ipv4Addr {
    v4_of(host(end))
}

/// An end's own address over IPv6.
pub(crate) fn v6(end: End) -> Ipv6Addr {
    v6_of(host(end))
}

/// The sender's own address, in the family of `like`.
pub(super) fn sender(like: IpAddr) -> IpAddr {
    in_family(SENDER, like)
}

/// By what address the receiver knows the sender after so many moves.
pub(super) fn outer(inner: IpAddr, moved: u8) -> IpAddr {
    match moved {
        0 => inner,
        _ => in_family(OUTER.saturating_add(moved - 1), inner),
    }
}

/// The router's, in the family of `like`.
pub(super) fn router(like: IpAddr) -> IpAddr {
    in_family(ROUTER, like)
}

/// Of someone who is neither of the ends.
pub(super) fn elsewhere(like: IpAddr) -> IpAddr {
    in_family(ELSEWHERE, like)
}

fn host(end: End) -> u8 {
    match end {
        End::Sender => SENDER,
        End::Receiver => RECEIVER,
    }
}

fn in_family(host: u8, like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => v4_of(host).into(),
        IpAddr::V6(_) => v6_of(host).into(),
    }
}

fn v4_of(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 0, host)
}

fn v6_of(host: u8) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, host.into())
}
