//! HOST:PORT as people write it. The name is resolved by whoever connects, at each try.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// Where a gateway can be reached: a name or an address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// Without brackets.
    pub host: String,
    /// Never 0.
    pub port: u16,
}

/// Why a text is no HOST:PORT.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{}\" is not HOST:PORT ({fault}); write gateway.example:7433, 192.0.2.1:7433 or [2001:db8::1]:7433", text.escape_debug())]
pub struct HostPortError {
    text: String,
    fault: &'static str,
}

impl FromStr for HostPort {
    type Err = HostPortError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).map_err(|fault| HostPortError { text: text.to_owned(), fault })
    }
}

fn parse(text: &str) -> Result<HostPort, &'static str> {
    let (host, port) = text.rsplit_once(':').ok_or("the port is missing")?;
    let port = match port.parse() {
        Ok(0) | Err(_) => return Err("the port is no number from 1 to 65535"),
        Ok(port) => port,
    };
    let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(v6) => {
            // A zone (RFC 4007 §11) names a link of this machine, such as fe80::1%eth0.
            let (address, zone) = v6.split_once('%').unwrap_or((v6, "eth0"));
            address.parse::<Ipv6Addr>().map_err(|_| "what is in brackets is no IPv6 address")?;
            zone.bytes().all(is_name_byte).then_some(v6).ok_or("the zone after % has odd characters")?
        }
        None if host.contains(':') => return Err("an IPv6 address belongs in brackets"),
        None => host,
    };
    match host.len() {
        0 => Err("the host is missing"),
        // RFC 1035 §2.3.4.
        256.. => Err("the host is longer than a name may be"),
        _ if !host.bytes().all(|byte| is_name_byte(byte) || matches!(byte, b':' | b'%')) => {
            Err("the host has characters that no name has")
        }
        _ => Ok(HostPort { host: host.to_owned(), port }),
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

#[cfg(test)]
mod tests;
