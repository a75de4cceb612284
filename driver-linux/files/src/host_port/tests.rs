//! Which texts say where a gateway is.

use super::*;

#[test]
fn names_and_addresses_of_both_kinds_read_back_as_written() {
    for text in ["gateway.example:7433", "localhost:1", "192.0.2.1:65535", "[2001:db8::1]:7433", "[fe80::1%eth0]:7433"]
    {
        assert_eq!(text.parse::<HostPort>().map(|to| to.to_string()), Ok(text.to_owned()));
    }
}

#[test]
fn what_is_wrong_is_named() {
    for (text, fault) in [
        ("gateway.example", "port is missing"),
        ("gateway.example:", "no number"),
        ("gateway.example:0", "no number"),
        ("gateway.example:65536", "no number"),
        (":7433", "host is missing"),
        ("2001:db8::1:7433", "brackets"),
        ("[2001:db8::zz]:7433", "no IPv6 address"),
        ("$(reboot):7433", "characters"),
        ("two words:7433", "characters"),
    ] {
        let error = text.parse::<HostPort>().unwrap_err().to_string();
        assert!(error.contains(fault) && error.contains(text), "{error}");
    }
}
