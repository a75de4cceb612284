//! Frames as bytes, for peers that a test plays itself.

use tallylink_core::wire::{Frame, Reader, Writer};

/// The bytes of these frames, one behind the other.
pub(crate) fn bytes_of(frames: &[Frame<'_>]) -> Vec<u8> {
    let mut buffer = vec![0; 2000];
    let mut w = Writer::new(&mut buffer);
    for frame in frames {
        frame.write(&mut w).expect("there is room");
    }
    w.into_written().to_vec()
}

/// The frames in the bytes of an opened packet.
pub(crate) fn frames_in(bytes: &[u8]) -> Vec<Frame<'_>> {
    let mut r = Reader::new(bytes);
    let mut frames = vec![];
    while !r.is_empty() {
        frames.push(Frame::parse(&mut r).expect("the core sends well-formed frames"));
    }
    frames
}
