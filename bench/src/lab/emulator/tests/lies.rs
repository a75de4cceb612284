//! Too large packets, and lies about what is too large.
use super::{SEED, departures, emulator, ms, udp};
use crate::{
    lab::emulator::{Emulator, Forgery, Profile, Script, addresses, ip},
    transport::side::End,
};

/// The MTU that an answer tells, and what it quotes; checks its checksums.
fn told(answer: &[u8]) -> (u32, &[u8]) {
    let header = ip::Header::parse(answer).expect("a packet");
    let message = &answer[header.length..];
    if header.source.is_ipv4() {
        assert_eq!(ip::checksum(0, &answer[..20]), 0);
        assert_eq!(ip::checksum(0, message), 0);
        assert_eq!(message[..2], [3, 4]);
        assert!(answer.len() <= 576);
        (u16::from_be_bytes([message[6], message[7]]).into(), &message[8..])
    } else {
        let pseudo = ip::sum(0, &answer[8..40]) + message.len() as u32 + 58;
        assert_eq!(ip::checksum(pseudo, message), 0);
        assert_eq!(message[..2], [2, 0]);
        assert!(answer.len() <= 1280);
        (u32::from_be_bytes(message[4..8].try_into().expect("four bytes")), &message[8..])
    }
}

#[test]
fn a_router_tells_whoever_sent_too_much() {
    for v6 in [false, true] {
        let mut emulator = emulator(Profile { mtu: 1280, delay: ms(5), ..Profile::default() });
        let large = udp(End::Sender, v6, 1, 1_281);
        emulator.arrive(ms(0), End::Sender, &udp(End::Sender, v6, 0, 1_280));
        emulator.arrive(ms(0), End::Sender, &large);
        let left = departures(&mut emulator, ms(5));
        assert_eq!(left.iter().map(|(_, to, _)| *to).collect::<Vec<_>>(), [End::Receiver, End::Sender]);
        let (mtu, quoted) = told(&left[1].2);
        assert_eq!(mtu, 1_280);
        assert_eq!(quoted, &large[..quoted.len()]);
        assert_eq!(emulator.counters().too_big_told, 1);
    }
}

#[test]
fn a_silent_router_tells_nobody() {
    let mut emulator = emulator(Profile { mtu: 1280, icmp: false, ..Profile::default() });
    emulator.arrive(ms(0), End::Sender, &udp(End::Sender, false, 1, 1_281));
    assert!(departures(&mut emulator, ms(5)).is_empty());
    assert_eq!(emulator.counters().too_big_silently, 1);
}

#[test]
fn what_may_be_cut_is_cut_into_pieces_that_fit_and_join() {
    let mut emulator = emulator(Profile { mtu: 576, ..Profile::default() });
    let mut large = udp(End::Sender, false, 1, 1_500);
    large[6] = 0;
    emulator.arrive(ms(0), End::Sender, &large);
    let left = departures(&mut emulator, ms(0));
    let mut joined = vec![0; large.len() - 20];
    for (index, (_, _, piece)) in left.iter().enumerate() {
        assert!(piece.len() <= 576);
        assert_eq!(ip::checksum(0, &piece[..20]), 0);
        let field = u16::from_be_bytes([piece[6], piece[7]]);
        assert_eq!(field & 0x2000 != 0, index + 1 < left.len());
        let from = usize::from(field & 0x1fff) * 8;
        joined[from..from + piece.len() - 20].copy_from_slice(&piece[20..]);
    }
    assert_eq!(left.len(), 3);
    assert_eq!(joined, large[20..]);
}

#[test]
fn the_mtu_changes_when_the_script_says_so() {
    let script = Script { mtu: vec![(ms(10), 1_280), (ms(20), 1_500)], ..Script::default() };
    let mut emulator = Emulator::new(Profile { icmp: false, ..Profile::default() }, script, SEED);
    for time in [9, 10, 19, 20] {
        emulator.arrive(ms(time), End::Receiver, &udp(End::Receiver, false, 0, 1_400));
    }
    assert_eq!(departures(&mut emulator, ms(20)).len(), 2);
    assert_eq!(emulator.counters().too_big_silently, 2);
}

#[test]
fn lies_about_the_mtu_quote_what_the_sender_sent_from_where_it_believes_to_be() {
    for v6 in [false, true] {
        let forgery = Some(Forgery { mtus: vec![68, 600, 1_280], every: ms(100) });
        let script = Script { forgery, moves: vec![ms(50)], ..Script::default() };
        let mut emulator = Emulator::new(Profile::default(), script, SEED);
        let mut lies = Vec::new();
        for step in 0..6 {
            let sent = udp(End::Sender, v6, step, 1_400);
            emulator.arrive(ms(60 * u64::from(step)), End::Sender, &sent);
            for (_, to, packet) in departures(&mut emulator, ms(60 * u64::from(step))) {
                if to == End::Sender {
                    let (mtu, quoted) = told(&packet);
                    let inner = ip::Header::parse(quoted).expect("a quoted packet");
                    assert_eq!(inner.source, ip::Header::parse(&sent).expect("a packet").source);
                    assert_ne!(addresses::outer(inner.source, 1), inner.source);
                    lies.push(mtu);
                }
            }
        }
        assert_eq!(lies, [68, 600, 1_280]);
    }
}
