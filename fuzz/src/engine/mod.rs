//! The protocol's core.

mod ack_window;
mod bytes;
mod datagrams;
mod frames;
mod handshake;
mod inbox;
mod model;
mod numbers;
mod packet;
mod receiver_ops;
mod ring;
mod sender_ops;
mod varint;

pub use ack_window::ack_window;
pub use datagrams::datagrams;
pub use frames::frames;
pub use handshake::handshake;
pub use numbers::numbers;
pub use packet::packet;
pub use receiver_ops::receiver_ops;
pub use ring::ring;
pub use sender_ops::sender_ops;
pub use varint::varint;
