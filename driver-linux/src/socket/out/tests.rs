use super::{Flushed, Outgoing};
use crate::socket::SocketCounters;
use crate::socket::testing::{Scripted, Send};
use rustix::io::Errno;
use std::collections::VecDeque;
use tallylink_core::{Ecn, Envelope, Instant, Path, PeerIx, SendFault};

const NOW: Instant = Instant::from_micros(1);

fn envelope(peer: u32, len: u16) -> Envelope {
    let remote = format!("192.0.2.{peer}:7441").parse().unwrap();
    Envelope { peer: PeerIx(peer), path: Path::to(remote), len, ecn: Ecn::Ect0, segment: 1452 }
}

/// Puts a packet in whose bytes are all `mark`.
fn put(out: &mut Outgoing, e: &Envelope, mark: u8) -> bool {
    let Some(place) = out.place(e) else {
        return false;
    };
    place.fill(mark);
    out.placed(e);
    true
}

/// A batch of three full packets and a short one.
fn batch(out: &mut Outgoing, peer: u32) {
    for (mark, len) in [(1, 1452), (2, 1452), (3, 1452), (4, 100)] {
        assert!(put(out, &envelope(peer, len), mark));
    }
}

/// Answers in this order, then with success.
fn answers(list: impl IntoIterator<Item = Result<(), Errno>>) -> Scripted {
    let mut list: VecDeque<_> = list.into_iter().collect();
    Scripted::new(move |_| list.pop_front().unwrap_or(Ok(())))
}

/// What each send carried: its datagrams' first bytes, and whether it was segmented.
fn shapes(sent: &[Send]) -> Vec<(Vec<u8>, bool)> {
    let marks = |s: &Send| s.bytes.chunks(s.segment.unwrap_or(1 << 16)).map(|c| c[0]).collect();
    sent.iter().map(|s| (marks(s), s.segment.is_some())).collect()
}

fn singles() -> Vec<(Vec<u8>, bool)> {
    (1..=4).map(|mark| (vec![mark], false)).collect()
}

#[test]
fn packets_with_different_marks_do_not_leave_in_one_call() {
    let io = Scripted::new(|_| Ok(()));
    let mut out = Outgoing::new(&io);
    let plain = Envelope { ecn: Ecn::NotEct, ..envelope(1, 1200) };
    out.place(&envelope(1, 1200)).expect("an empty batch takes anything").fill(1);
    out.placed(&envelope(1, 1200));
    assert!(out.place(&plain).is_none());
    assert_eq!(out.flush(&io, Instant::from_micros(0), &mut SocketCounters::default()), Flushed::Sent);
    assert_eq!(io.sent().first().map(|s| s.ecn), Some(Ecn::Ect0));
}

#[test]
fn packets_for_one_path_leave_in_one_call_and_a_short_one_ends_the_batch() {
    let io = answers([]);
    let (mut out, mut counters) = (Outgoing::new(&io), SocketCounters::default());
    batch(&mut out, 1);
    assert!(!put(&mut out, &envelope(1, 100), 9), "a short packet ends the batch");
    assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Sent);
    assert_eq!(shapes(&io.sent()), [(vec![1, 2, 3, 4], true)]);
    assert_eq!((counters.send_calls, counters.datagrams_sent, counters.bytes_sent), (1, 4, 3 * 1452 + 100));
    batch(&mut out, 2);
    assert!(!put(&mut out, &envelope(3, 1452), 9), "another path");
}

#[test]
fn a_batch_has_at_most_64_segments_and_65507_bytes() {
    let io = answers([]);
    for (len, most) in [(1452, 45), (100, 64)] {
        let mut out = Outgoing::new(&io);
        let placed = (0..100).take_while(|_| put(&mut out, &envelope(1, len), 1)).count();
        assert_eq!(placed, most, "{len} bytes each");
    }
}

#[test]
fn f01_after_eio_the_same_packets_leave_singly_and_the_socket_remembers() {
    let io = answers([Err(Errno::IO)]);
    let (mut out, mut counters) = (Outgoing::new(&io), SocketCounters::default());
    batch(&mut out, 1);
    assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Sent);
    let sent = shapes(&io.sent());
    assert_eq!(sent[0], (vec![1, 2, 3, 4], true));
    assert_eq!(sent[1..], singles());
    batch(&mut out, 2);
    assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Sent);
    assert_eq!(shapes(&io.sent()), singles());
    assert_eq!((counters.offload_broken, counters.datagrams_sent), (1, 8));
}

#[test]
fn f02_a_segment_above_one_routes_mtu_disturbs_nobody_else() {
    for errno in [Errno::MSGSIZE, Errno::INVAL] {
        // To peer 1, segmented sends and single datagrams above 1,300 bytes fail, as behind a narrow route.
        let io = Scripted::new(move |s: &Send| match s.path.remote.ip().to_string().as_str() {
            "192.0.2.1" if s.segment.is_some_and(|len| len > 1300) => Err(errno),
            "192.0.2.1" if s.segment.is_none() && s.bytes.len() > 1300 => Err(Errno::MSGSIZE),
            _ => Ok(()),
        });
        let (mut out, mut counters) = (Outgoing::new(&io), SocketCounters::default());
        batch(&mut out, 1);
        assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Failed(PeerIx(1), SendFault::TooBig));
        assert_eq!(io.sent().len(), 5, "the batch, and each packet of it");
        assert_eq!((counters.offload_refused, counters.datagrams_too_big, counters.datagrams_sent), (1, 3, 1));
        batch(&mut out, 2);
        assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Sent);
        assert_eq!(shapes(&io.sent()), [(vec![1, 2, 3, 4], true)], "another peer keeps segmented sends");
        for mark in [1, 2] {
            assert!(put(&mut out, &envelope(1, 1200), mark));
        }
        assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Sent);
        assert_eq!(shapes(&io.sent()), [(vec![1, 2], true)], "and so does this one, at a smaller size");
        batch(&mut out, 1);
        assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Failed(PeerIx(1), SendFault::TooBig));
        assert_eq!(shapes(&io.sent()), singles(), "it is remembered");
    }
}

#[test]
fn f02_when_singles_pass_where_segments_do_not_nothing_is_lost() {
    let io = Scripted::new(|s: &Send| if s.segment.is_some() { Err(Errno::MSGSIZE) } else { Ok(()) });
    let (mut out, mut counters) = (Outgoing::new(&io), SocketCounters::default());
    batch(&mut out, 1);
    assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Sent);
    assert_eq!(shapes(&io.sent())[1..], singles());
}

#[test]
fn f04_enobufs_is_loss_and_nothing_waits() {
    let io = answers([Err(Errno::NOBUFS)]);
    let (mut out, mut counters) = (Outgoing::new(&io), SocketCounters::default());
    batch(&mut out, 1);
    assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Failed(PeerIx(1), SendFault::Lost));
    assert!(out.is_empty());
    assert_eq!((counters.datagrams_no_buffers, counters.send_blocked, io.sent().len()), (4, 0, 1));
}

#[test]
fn f07_an_error_about_another_peer_costs_one_repetition() {
    let io = answers([Err(Errno::CONNREFUSED)]);
    let (mut out, mut counters) = (Outgoing::new(&io), SocketCounters::default());
    batch(&mut out, 1);
    assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Sent);
    let whole = (vec![1, 2, 3, 4], true);
    assert_eq!(shapes(&io.sent()), [whole.clone(), whole]);
    assert_eq!((counters.sends_repeated, counters.datagrams_send_failed), (1, 0));
}

#[test]
fn f07_a_send_that_fails_twice_is_loss_and_the_next_one_goes_on() {
    let io = answers([Err(Errno::HOSTUNREACH), Err(Errno::HOSTUNREACH)]);
    let (mut out, mut counters) = (Outgoing::new(&io), SocketCounters::default());
    batch(&mut out, 1);
    assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Failed(PeerIx(1), SendFault::Lost));
    batch(&mut out, 2);
    assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Sent);
    assert_eq!((counters.sends_repeated, counters.datagrams_send_failed, counters.datagrams_sent), (1, 4, 4));
}

#[test]
fn a_repetition_leaves_the_source_address_to_the_system() {
    let io = answers([Err(Errno::ADDRNOTAVAIL)]);
    let (mut out, mut counters) = (Outgoing::new(&io), SocketCounters::default());
    let mut e = envelope(1, 100);
    e.path.local = Some("198.51.100.1".parse().unwrap());
    assert!(put(&mut out, &e, 1));
    assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Sent);
    let locals: Vec<_> = io.sent().iter().map(|s| s.path.local).collect();
    assert_eq!(locals, [e.path.local, None]);
}

#[test]
fn a_full_socket_keeps_the_batch_and_goes_on_where_it_stopped() {
    let blocked = Err(Errno::AGAIN);
    let io = answers([Err(Errno::IO), Ok(()), Ok(()), blocked, blocked]);
    let (mut out, mut counters) = (Outgoing::new(&io), SocketCounters::default());
    batch(&mut out, 1);
    assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Blocked);
    assert!(!put(&mut out, &envelope(1, 1452), 9), "nothing joins a batch that waits");
    assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Blocked);
    assert_eq!(out.flush(&io, NOW, &mut counters), Flushed::Sent);
    let marks: Vec<_> = shapes(&io.sent()).into_iter().map(|(marks, _)| marks).collect();
    assert_eq!(marks, [vec![1, 2, 3, 4], vec![1], vec![2], vec![3], vec![3], vec![3], vec![4]]);
    assert_eq!((counters.send_blocked, counters.datagrams_sent), (2, 4));
}
