//! The codec of the wire format: against vectors of another implementation, and as properties of all values and all bytes.

mod ack;
mod cursor;
mod frame;
mod frame_vectors;
mod number;
mod packet;
mod packet_vectors;
mod samples;
mod varint;
#[path = "../crypto/vectors.rs"]
mod vectors;
