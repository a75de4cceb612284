//! The counters, the one home of their names: `status` and `/metrics` show the same.

use std::collections::BTreeMap;

use tallylink_core::{Counters, Discard, Fault, Totals};
use tallylink_linux::Network;

use super::bridge::JournalNow;
use super::disk::Past;
use super::ingest::Ingest;

/// What the counters of a subject count.
pub(super) fn about(subject: &str) -> &'static str {
    match subject {
        "discarded" => "Datagrams that had no effect, by reason",
        "faults" => "Sessions that ended, by reason",
        "socket" => "At the UDP socket",
        "protocol" => "In the protocol, all peers together",
        "journal" => "In the journal",
        "refused" => "Streams that were refused, by the bound that was reached",
        "downlink" => "Of what `push` handed over for devices",
        "rollbacks" => "Outboxes or a journal older than they were, by what showed it",
        _ => "",
    }
}

/// Subjects of which each count is of one reason for the same thing.
pub(super) fn is_by_reason(subject: &str) -> bool {
    matches!(subject, "discarded" | "faults" | "refused" | "rollbacks")
}

type Counts = BTreeMap<String, u64>;

/// All of them, by subject and name.
pub(super) fn counters(network: &Network<Ingest>, journal: JournalNow, disk: Past) -> BTreeMap<String, Counts> {
    let named = |counts: &[(&str, u64)]| counts.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    let core: &Counters = network.endpoint().counters();
    let Totals {
        packets_sent,
        bytes_sent,
        packets_lost,
        losses_spurious,
        marks_heeded,
        chunks_repeated,
        paths_shrunk,
        probes,
        hellos_sent,
        packets_received,
        bytes_received,
        chunks_held,
        sessions,
        records_pushed,
        records_delivered,
    } = *network.endpoint().totals();
    let stats = journal.stats;
    let (_, _, refused_full) = network.application().queue();
    let refused = network.application().streams().refused();
    let rollbacks = network.application().streams().rollbacks();
    BTreeMap::from([
        (
            "discarded".to_owned(),
            Discard::ALL.iter().map(|why| (why.name().to_owned(), core.discarded(*why))).collect(),
        ),
        ("faults".to_owned(), Fault::ALL.iter().map(|why| (why.name().to_owned(), core.faults(*why))).collect()),
        ("downlink".to_owned(), named(&network.application().downlink_counts().each())),
        ("refused".to_owned(), named(&[("peer_streams", refused.peer_streams), ("all_streams", refused.all_streams)])),
        (
            "rollbacks".to_owned(),
            named(&[
                ("journal_older", rollbacks.journal_older),
                ("outbox_differs", rollbacks.outbox_differs),
                ("first_ahead", rollbacks.first_ahead),
            ]),
        ),
        ("socket".to_owned(), network.counters().each().map(|(name, n)| (name.to_owned(), n)).collect()),
        (
            "protocol".to_owned(),
            named(&[
                ("packets_sent", packets_sent),
                ("bytes_sent", bytes_sent),
                ("packets_lost", packets_lost),
                ("losses_spurious", losses_spurious),
                ("marks_heeded", marks_heeded),
                ("chunks_repeated", chunks_repeated),
                ("paths_shrunk", paths_shrunk),
                ("probes", probes),
                ("hellos_sent", hellos_sent),
                ("packets_received", packets_received),
                ("bytes_received", bytes_received),
                ("chunks_held", chunks_held),
                ("sessions", sessions),
                ("records_pushed", records_pushed),
                ("records_delivered", records_delivered),
                ("queue_full", refused_full),
            ]),
        ),
        (
            "journal".to_owned(),
            named(&[
                ("appended_bytes", stats.appended_bytes),
                ("appended_records", stats.appended_records),
                ("written_bytes", stats.written_bytes),
                ("writes", stats.writes),
                ("commits", stats.commits),
                ("segments", stats.segments),
                ("checkpoints", stats.checkpoints),
                ("deleted_segments", stats.deleted_segments),
                ("publish_failures", stats.publish_failures),
                ("failures", journal.failures),
                ("slow_calls", disk.slow_calls),
            ]),
        ),
    ])
}
