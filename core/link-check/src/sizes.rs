//! What the parts of a sensor's endpoint take: each static here is as large as what it is named after. They lie in a
//! section that is no part of the image, where `.ci/bare-metal` reads them.

use core::mem::size_of;

use tallylink_core::crypto::SoftKey;
use tallylink_core::{Held, InStream, Link, OutStream, Peer, Sent};

use crate::reach::endpoint::{Arrays, DATAGRAM, HELD, IN_FLIGHT, PEERS, RING, STREAMS, Sensor, WORDS};

/// Defines the static `$name`, of that many bytes.
macro_rules! size {
    ($name:ident, $bytes:expr) => {
        #[used]
        #[unsafe(link_section = ".sizes")]
        static $name: [u8; $bytes] = [0; $bytes];
    };
}

size!(ENDPOINT, size_of::<Sensor>());
size!(ENDPOINT_STATE, size_of::<Sensor>() - size_of::<Arrays>());
size!(PEERS_AND_LINKS, PEERS * (size_of::<Peer>() + size_of::<Link<SoftKey>>()));
size!(STREAMS_BOTH_WAYS, STREAMS * (size_of::<InStream>() + size_of::<OutStream>()));
size!(PACKETS_IN_FLIGHT, PEERS * (IN_FLIGHT * size_of::<Sent>() + WORDS * size_of::<u64>()));
size!(RING_AND_HELD_PACKETS, RING + HELD * (DATAGRAM + size_of::<Held>()));
