//! Every attack, by what is wrong in it.

mod acks;
mod chunks;
mod confirmations;
mod form;
mod sessions;
mod streams;

use super::report::Report;
use super::stage::{Clock, Stage};
use tallylink_core::{Config, End};

/// Bytes of a ring, as a power of two: as much under way as the largest table of packets has.
const RING_BITS: u32 = 23;

/// Something that the holder of a key may do.
#[derive(Clone, Copy)]
pub struct Attack {
    /// What it is.
    pub name: &'static str,
    /// The end that is attacked.
    pub on: End,
    /// What comes of its datagrams: all of these occur, and nothing else does.
    pub outcomes: &'static [&'static str],
    play: fn(&mut Stage),
}

impl Attack {
    /// Whether the attacked end is a sender with records for its attacker, which may get as many packets as the path takes.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.on == End::Device
    }

    /// Plays it against an endpoint with these limits, and lets it come to rest. The clock is asked before and after each
    /// datagram.
    ///
    /// # Panics
    /// The real peer was not served, or its session ended.
    #[must_use]
    pub fn run(&self, config: &Config, clock: Clock) -> Report {
        let mut stage = Stage::new(self.on, config, RING_BITS, clock);
        (self.play)(&mut stage);
        stage.pass(10_000_000);
        stage.serve();
        stage.report
    }
}

const fn on_gateway(name: &'static str, outcomes: &'static [&'static str], play: fn(&mut Stage)) -> Attack {
    Attack { name, on: End::Gateway, outcomes, play }
}

const fn on_device(name: &'static str, outcomes: &'static [&'static str], play: fn(&mut Stage)) -> Attack {
    Attack { name, on: End::Device, outcomes, play }
}

/// All of them.
pub const ATTACKS: &[Attack] = &[
    on_gateway("every frame cut at every length", &["accepted", "bad_frame"], form::cuts),
    on_gateway("every varint spelled too long", &["bad_frame"], form::spellings),
    on_device("every varint spelled too long, at a device", &["bad_frame"], form::spellings),
    on_gateway("types that no frame has", &["bad_frame"], form::types),
    on_gateway("padding that is not zero", &["bad_frame"], form::padding),
    on_gateway("ACKs of what was never sent", &["ack_of_unsent"], acks::of_unsent),
    on_device("ACKs of what was never sent, at a device", &["ack_of_unsent"], acks::of_unsent),
    on_gateway("ACKs with ranges of 2^62", &["ack_of_unsent", "bad_frame"], acks::huge_ranges),
    on_gateway("an ACK with counts, cut short", &["bad_frame"], acks::unannounced),
    on_device("ACKs of skipped numbers", &["accepted", "ack_of_unsent"], acks::optimistic),
    on_device("as many ACKs as a datagram holds", &["accepted", "bad_frame"], acks::storm),
    on_device("ACKs that come late, over and over", &["accepted"], acks::late),
    on_device("counts of marks that cannot be", &["accepted"], acks::marks),
    on_gateway("OPENs without end", &["accepted"], streams::without_end),
    on_gateway("OPENs of one name under ever new ids", &["accepted"], streams::ids_without_end),
    on_gateway("an OPEN that differs from the one before", &["accepted", "open_changed"], streams::changed),
    on_gateway(
        "chunks of streams that are not open",
        &["accepted", "before_open", "refused_stream"],
        streams::not_open,
    ),
    on_gateway("SKIPs without end", &["accepted"], streams::skips),
    on_gateway("QUERYs without end", &["accepted"], streams::queries),
    on_gateway("records above the limit", &["record_too_large"], chunks::too_large),
    on_gateway("record numbers beyond the largest", &["accepted", "bad_frame"], chunks::numbers),
    on_gateway("parts that contradict each other", &["accepted", "contradiction"], chunks::contradictions),
    on_gateway("parts that overlap", &["accepted"], chunks::overlaps),
    on_gateway("chunks ahead of a gap, in the worst order", &["accepted", "held_full"], chunks::held),
    on_gateway("a gap that closes before all that is held", &["accepted"], chunks::released),
    on_gateway("a gap that closes before pieces that overlap", &["accepted"], chunks::released_overlapping),
    on_gateway("as many chunks as a datagram holds", &["accepted", "bad_frame"], chunks::tiny),
    on_gateway("records without bytes", &["accepted"], chunks::empty),
    on_device("chunks from a gateway that opened nothing", &["before_open"], chunks::unopened),
    on_device("STORED of what was never pushed", &["stored_unsent"], confirmations::stored_unsent),
    on_gateway("STORED and OPENED at a gateway that sends nothing", &["stored_unsent"], confirmations::stored_unsent),
    on_device("OPENED above all numbers", &["accepted"], confirmations::opened_ahead),
    on_device("credit that shrinks and grows", &["accepted"], confirmations::credit),
    on_device("BUSY without end", &["accepted"], confirmations::busy),
    on_device("REFUSED without end", &["accepted"], confirmations::refused),
    on_device("labels that change all the time", &["accepted"], confirmations::labels),
    on_gateway("a label from a device", &["accepted"], confirmations::labels),
    on_gateway("resets without end", &["accepted", "answered"], sessions::resets),
    on_device("a gateway that ends every session", &["bad_frame"], sessions::ended_by_gateway),
    on_gateway("HELLOs without end", &["answered", "reply_limit"], sessions::hellos),
    on_gateway("packets twice, and older ones", &["accepted", "duplicate", "too_old"], sessions::repeats),
    on_gateway("packet numbers at the end", &["accepted", "duplicate", "too_old"], sessions::numbers),
    on_gateway("WELCOME to a gateway", &["wrong_end"], sessions::welcomes),
    on_device("HELLO to a device", &["wrong_end"], sessions::wrong_hellos),
];
