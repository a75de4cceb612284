//! A gateway's report as text for a person.

use std::fmt::Write as _;
use std::time::Duration;

use bytesize::ByteSize;

use super::{DownlinkNow, PeerNow, Report};

/// Everything that is not zero, and the peers.
pub(super) fn text(report: &Report) -> String {
    let mut text = String::new();
    let Report {
        version,
        up_seconds,
        data,
        ready,
        troubles,
        counters,
        sockets,
        queue,
        disk,
        peers,
        peers_provisioned,
        downlink,
    } = report;
    let up = humantime::format_duration(Duration::from_secs(*up_seconds));
    let _ = writeln!(text, "tallylink {version}, up {up}, data in {}", data.display());
    if !ready {
        let _ = writeln!(text, "NOT READY: records are not taken or not stored");
    }
    for trouble in troubles {
        let _ = writeln!(text, "{trouble}");
    }
    for socket in sockets {
        let (asked, given) = (ByteSize(socket.receive_buffer_asked), ByteSize(socket.receive_buffer));
        let _ = write!(text, "listening on {}, receive buffer {given}", socket.listen);
        if given < asked {
            let _ = write!(text, " of {asked} asked for (raise net.core.rmem_max)");
        }
        match socket.kernel_drops {
            None | Some(0) => text.push('\n'),
            Some(drops) => {
                let _ = writeln!(text, ", {drops} datagrams dropped by the kernel");
            }
        }
    }
    let (waiting, capacity) = (ByteSize(queue.waiting_bytes), ByteSize(queue.capacity_bytes));
    let _ = write!(text, "journal {}, {waiting} of {capacity} waiting for the disk", ByteSize(disk.journal_bytes));
    if let Some(free) = disk.free_bytes {
        let _ = write!(text, ", {} free", ByteSize(free));
    }
    text.push('\n');

    let _ = writeln!(text, "\n{} of {peers_provisioned} peers heard:", peers.len());
    for peer in peers {
        text.push_str(&line(peer));
    }
    if !downlink.is_empty() {
        text.push_str("\nwaiting for devices:\n");
    }
    for DownlinkNow { peer, name, stream, records, bytes } in downlink {
        let (name, stream) = (name.as_deref().unwrap_or(peer), stream.escape_debug());
        let _ = writeln!(text, "  {name}  {stream}: {records} records, {}", ByteSize(*bytes));
    }
    for (subject, counts) in counters.iter().filter(|(_, counts)| counts.values().any(|count| *count > 0)) {
        let _ = writeln!(text, "\n{subject}:");
        for (name, count) in counts.iter().filter(|(_, count)| **count > 0) {
            let _ = writeln!(text, "  {count:>15}  {name}");
        }
    }
    text
}

fn line(peer: &PeerNow) -> String {
    let name = peer.name.as_deref().unwrap_or(&peer.peer);
    let address = peer.address.map_or_else(|| "no address".to_owned(), |address| address.to_string());
    let heard = humantime::format_duration(Duration::from_millis(peer.last_heard_us / 1000));
    let session = if peer.session { "" } else { ", no session" };
    let unstored = match peer.unstored_records {
        0 => String::new(),
        some => format!(", {some} records not stored yet"),
    };
    format!("  {name}  {address}, heard {heard} ago{session}{unstored}\n")
}
