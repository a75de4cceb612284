//! Addresses.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The mark of a datagram that routers may change (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Routers drop it when they are congested, and cannot say so otherwise.
    #[default]
    NotEct,
    /// ECT(1), which Tallylink does not send.
    Ect1,
    /// ECT(0): routers may mark it.
    Ect0,
    /// A router was congested.
    Ce,
}

/// A path: this end's address, where the driver knows it, and the other end's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// The address that datagrams of this path arrive at, when the driver can tell.
    pub local: Option<IpAddr>,
    /// The other end.
    pub remote: SocketAddr,
}

impl Path {
    /// A path to `remote`, from whatever address the system chooses.
    #[must_use]
    pub const fn to(remote: SocketAddr) -> Self {
        Self { local: None, remote }
    }

    /// True when both lead to the same end: an IPv4 address mapped into IPv6 is the same address, a link-local one is another on
    /// each link (RFC 4007 §6), and the flow label and an unknown local address make no difference.
    #[must_use]
    #[inline]
    pub fn same(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        let (a, b) = (self.remote, other.remote);
        let scopes = match (a, b) {
            (SocketAddr::V6(a), SocketAddr::V6(b)) if a.ip().is_unicast_link_local() => a.scope_id() == b.scope_id(),
            _ => true,
        };
        let locals = match (self.local, other.local) {
            (Some(a), Some(b)) => a.to_canonical() == b.to_canonical(),
            _ => true,
        };
        scopes && locals && a.port() == b.port() && a.ip().to_canonical() == b.ip().to_canonical()
    }

    /// No path at all.
    pub(crate) const NOWHERE: Self =
        Self { local: None, remote: SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0) };
}

#[cfg(test)]
mod tests;
