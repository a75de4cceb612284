//! smoltcp's addresses and the core's paths.

use core::net::SocketAddr;
use smoltcp::phy::PacketMeta;
use smoltcp::socket::udp::UdpMetadata;
use smoltcp::wire::IpEndpoint;
use tallylink_core::Path;

/// The path to an endpoint, from whatever address the interface has then.
pub(crate) fn path_to(remote: IpEndpoint) -> Path {
    Path::to(SocketAddr::from(remote))
}

/// The path that a datagram came over.
pub(crate) fn path_of(meta: &UdpMetadata) -> Path {
    Path { local: meta.local_address.map(Into::into), remote: SocketAddr::from(meta.endpoint) }
}

/// How a datagram goes over a path; `None` when this build has no such protocol.
pub(crate) fn meta_for(path: &Path) -> Option<UdpMetadata> {
    let endpoint = match path.remote {
        #[cfg(feature = "ipv4")]
        SocketAddr::V4(v4) => IpEndpoint::from(v4),
        #[cfg(feature = "ipv6")]
        SocketAddr::V6(v6) => IpEndpoint::from(v6),
        #[cfg(not(all(feature = "ipv4", feature = "ipv6")))]
        _ => return None,
    };
    let local_address = match path.local {
        #[cfg(feature = "ipv4")]
        Some(core::net::IpAddr::V4(v4)) => Some(v4.into()),
        #[cfg(feature = "ipv6")]
        Some(core::net::IpAddr::V6(v6)) => Some(v6.into()),
        _ => None,
    };
    Some(UdpMetadata { endpoint, local_address, meta: PacketMeta::default() })
}
