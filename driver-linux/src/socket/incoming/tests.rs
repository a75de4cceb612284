use super::{ERRORS_MAX, Incoming};
use crate::socket::SocketCounters;
use crate::socket::io::{Datagrams, Udp};
use crate::socket::testing::Scripted;
use rustix::io::Errno;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;
use tallylink_core::{Ecn, Path};

fn silent() -> Scripted {
    Scripted::new(|_| Ok(()))
}

fn datagrams(incoming: &mut Incoming) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| Some(incoming.next()?.2.to_vec())).collect()
}

#[test]
fn f05_a_run_is_taken_apart_and_a_short_last_segment_is_valid() {
    let (io, mut incoming, mut counters) = (silent(), Incoming::new(), SocketCounters::default());
    let run: Vec<u8> = [[1; 5], [2; 5]].concat().into_iter().chain([3, 3]).collect();
    io.arrives(Ok(vec![(run, 5), (vec![], 0), (vec![9; 7], 7)]));
    assert!(incoming.fill(&io, &mut counters));
    let expected = vec![vec![1; 5], vec![2; 5], vec![3; 2], vec![], vec![9; 7]];
    assert_eq!(datagrams(&mut incoming), expected);
    assert!(!incoming.fill(&io, &mut counters), "there is no more");
    assert!(datagrams(&mut incoming).is_empty());
}

#[test]
fn f05_a_full_slot_of_65535_bytes_comes_through() {
    let (io, mut incoming, mut counters) = (silent(), Incoming::new(), SocketCounters::default());
    io.arrives(Ok(vec![(vec![7; 65_535], 1452)]));
    assert!(incoming.fill(&io, &mut counters));
    let lens: Vec<usize> = datagrams(&mut incoming).iter().map(Vec::len).collect();
    assert_eq!((lens.len(), lens.iter().sum::<usize>(), lens.last()), (46, 65_535, Some(&195)));
}

#[test]
fn f07_an_error_is_counted_and_what_came_is_received_all_the_same() {
    let (io, mut incoming, mut counters) = (silent(), Incoming::new(), SocketCounters::default());
    io.arrives(Err(Errno::CONNREFUSED));
    io.arrives(Ok(vec![(vec![1], 1)]));
    assert!(incoming.fill(&io, &mut counters), "there may be more");
    assert!(datagrams(&mut incoming).is_empty());
    assert!(incoming.fill(&io, &mut counters));
    assert_eq!((datagrams(&mut incoming), counters.receive_errors), (vec![vec![1]], 1));
}

#[test]
fn errors_without_end_make_no_spin() {
    let (io, mut incoming, mut counters) = (silent(), Incoming::new(), SocketCounters::default());
    for _ in 0..2 * ERRORS_MAX {
        io.arrives(Err(Errno::BADF));
    }
    let tries = (0..).take_while(|_| incoming.fill(&io, &mut counters)).count();
    assert_eq!(tries as u32, ERRORS_MAX - 1);
}

/// Receives from a real socket until `bytes` have come.
fn until(io: &Udp, bytes: usize) -> Vec<Vec<u8>> {
    let (mut incoming, mut counters) = (Incoming::new(), SocketCounters::default());
    let mut all = Vec::new();
    for _ in 0..2_000 {
        if incoming.fill(io, &mut counters) {
            all.append(&mut datagrams(&mut incoming));
        } else {
            thread::sleep(Duration::from_millis(1));
        }
        if counters.bytes_received as usize >= bytes {
            return all;
        }
    }
    panic!("{} of {bytes} bytes came", counters.bytes_received);
}

fn bind(listen: &str) -> Udp {
    Udp::bind(listen.parse().unwrap(), 1 << 20, 1 << 20).unwrap()
}

#[test]
fn f05_segments_sent_in_one_call_arrive_as_they_were_over_ipv4_and_ipv6() {
    let to = bind("[::]:0");
    let port = to.local_addr().unwrap().port();
    for (from, remote) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "[::1]"), ("[::]:0", "127.0.0.1")] {
        let from = bind(from);
        let remote: SocketAddr = format!("{remote}:{port}").parse().unwrap();
        let bytes: Vec<u8> = (0..40u8).flat_map(|n| vec![n; if n == 39 { 17 } else { 1200 }]).collect();
        from.send(&Path::to(remote), Ecn::Ect0, &bytes, Some(1200)).unwrap();
        let came = until(&to, bytes.len());
        let expected: Vec<Vec<u8>> = bytes.chunks(1200).map(<[u8]>::to_vec).collect();
        assert_eq!(came, expected, "to {remote}");
    }
}

#[test]
fn a_datagram_tells_both_of_its_addresses_and_can_be_answered_from_the_same() {
    let (to, from) = (bind("[::]:0"), bind("127.0.0.1:0"));
    let remote = SocketAddr::new("127.0.0.2".parse().unwrap(), to.local_addr().unwrap().port());
    from.send(&Path::to(remote), Ecn::NotEct, b"ask", None).unwrap();
    let (mut incoming, mut counters) = (Incoming::new(), SocketCounters::default());
    while !incoming.fill(&to, &mut counters) {
        thread::sleep(Duration::from_millis(1));
    }
    let path = *incoming.next().unwrap().0;
    assert_eq!(path, Path { local: Some(remote.ip()), remote: from.local_addr().unwrap() });
    to.send(&path, Ecn::Ce, b"answer", None).unwrap();
    while !incoming.fill(&from, &mut counters) {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(incoming.next().unwrap().0.remote, remote, "the answer comes from the address that was asked");
}

#[test]
fn marks_arrive_as_they_left_over_ipv4_and_ipv6() {
    let to = bind("[::]:0");
    let port = to.local_addr().unwrap().port();
    for (from, remote) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "[::1]"), ("[::]:0", "127.0.0.1")] {
        let from = bind(from);
        let remote: SocketAddr = format!("{remote}:{port}").parse().unwrap();
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            for (bytes, segment) in [(vec![7; 600], None), (vec![7; 6000], Some(1200))] {
                from.send(&Path::to(remote), ecn, &bytes, segment).unwrap();
                let (mut incoming, mut counters) = (Incoming::new(), SocketCounters::default());
                while (counters.bytes_received as usize) < bytes.len() {
                    if !incoming.fill(&to, &mut counters) {
                        thread::sleep(Duration::from_millis(1));
                        continue;
                    }
                    while let Some((path, came, _)) = incoming.next() {
                        assert_eq!(came, ecn, "from {path:?}");
                    }
                }
            }
        }
    }
}
