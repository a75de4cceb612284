//! The bytes on the wire: one place where they become typed values, and the one place that writes them.
//!
//! Nothing in here can panic, whatever the bytes: every read goes through [`cursor::Reader`], which owns all slice
//! arithmetic, and every value is checked against its stated largest before it leaves. `core/docs/wire-format.md` is the
//! normative text; the sections cited here are its sections.

pub mod ack;
pub mod cursor;
pub mod frame;
pub mod handshake;
pub mod number;
pub mod packet;
pub mod varint;

pub use ack::{AckRanges, EcnCounts, PacketRange};
pub use cursor::{Malformed, NoRoom, Reader, Writer};
pub use frame::{Chunk, Frame, Open, Previous, QueryFor};
pub use handshake::{Hello, Limits, Reject, RejectReason, Welcome};
pub use packet::{DataHeader, LongData, Packet};
