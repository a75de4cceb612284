//! Replays the fuzzers' committed corpora over the protocol's core.

#[path = "../../fuzz/src/engine/mod.rs"]
pub mod engine;
#[path = "../../fuzz/src/planted.rs"]
mod planted;
#[path = "../../fuzz/src/replay.rs"]
pub mod replay;

/// The checkout.
const TOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

macro_rules! replayed {
    ($($test:ident: $target:ident,)*) => {
        $(
            #[test]
            fn $test() {
                replay::replay(TOP, stringify!($target), engine::$target);
            }
        )*
    };
}

replayed! {
    the_corpus_of_varint_breaks_no_rule: varint,
    the_corpus_of_numbers_breaks_no_rule: numbers,
    the_corpus_of_packet_breaks_no_rule: packet,
    the_corpus_of_frames_breaks_no_rule: frames,
    the_corpus_of_handshake_breaks_no_rule: handshake,
    the_corpus_of_datagrams_breaks_no_rule: datagrams,
    the_corpus_of_sender_ops_breaks_no_rule: sender_ops,
    the_corpus_of_receiver_ops_breaks_no_rule: receiver_ops,
    the_corpus_of_ack_window_breaks_no_rule: ack_window,
    the_corpus_of_ring_breaks_no_rule: ring,
}
