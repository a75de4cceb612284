//! Explicit congestion notification: marks that leave, marks that arrive, and paths that do not carry them.

use crate::hostile::live_with;
use crate::support::{Pair, record, small_config};
use std::cell::Cell;
use std::rc::Rc;
use tallylink_core::wire::frame::write_ack_ecn;
use tallylink_core::wire::{EcnCounts, PacketRange, Writer};
use tallylink_core::{Config, Discard, Ecn, Fault};

/// Pushes and runs until `count` records of 1,000 bytes are stored.
fn transfer(pair: &mut Pair, count: u64) {
    let stream = pair.open(0, "s", 1 << 18);
    for i in 0..count as usize {
        while pair.push(stream, &record(i, 1000)).is_err() {
            pair.run(pair.now + 1_000);
        }
    }
    pair.run_until_stored(count, 60_000_000);
}

fn pair(device: Config, gateway: Config) -> (Pair, Rc<Cell<u64>>) {
    let mut pair = Pair::of(device, gateway, 1 << 18);
    let marked = Rc::new(Cell::new(0));
    let counter = Rc::clone(&marked);
    pair.delay_us = 5_000;
    pair.mark = Box::new(move |_, ecn| {
        counter.set(counter.get() + u64::from(ecn == Ecn::Ect0));
        ecn
    });
    (pair, marked)
}

#[test]
fn packets_leave_marked_when_both_ends_want_it() {
    let (mut both, marked) = pair(small_config(), small_config());
    transfer(&mut both, 500);
    assert!(marked.get() > 300, "{} marked", marked.get());
    assert_eq!(both.device.endpoint.totals().marks_heeded, 0);
    for (device, gateway) in [(false, true), (true, false)] {
        let config = |ecn| Config { ecn, ..small_config() };
        let (mut one, marked) = pair(config(device), config(gateway));
        transfer(&mut one, 500);
        assert_eq!(marked.get(), 0);
    }
}

#[test]
fn a_mark_slows_the_sender_down_and_nothing_is_lost() {
    let mut times = [0; 2];
    for (time, congested) in times.iter_mut().zip([false, true]) {
        let (mut pair, _) = pair(small_config(), small_config());
        let mut packets = 0;
        pair.mark = Box::new(move |up, ecn| {
            packets += u32::from(up);
            if congested && up && ecn == Ecn::Ect0 && packets % 50 == 0 { Ecn::Ce } else { ecn }
        });
        transfer(&mut pair, 2_000);
        let totals = pair.device.endpoint.totals();
        assert_eq!(totals.marks_heeded > 5, congested, "{totals:?}");
        assert_eq!(totals.packets_lost, 0);
        *time = pair.now;
    }
    assert!(times[1] > times[0], "{times:?} us");
}

#[test]
fn a_path_that_takes_marks_off_gets_none_any_more() {
    let (mut pair, _) = pair(small_config(), small_config());
    let marked = Rc::new(Cell::new(0));
    let counter = Rc::clone(&marked);
    pair.mark = Box::new(move |up, ecn| {
        counter.set(counter.get() + u64::from(up && ecn == Ecn::Ect0));
        Ecn::NotEct
    });
    transfer(&mut pair, 1_000);
    assert!((1..100).contains(&marked.get()), "{} marked", marked.get());
}

#[test]
fn records_pass_a_path_that_drops_what_is_marked() {
    let (mut pair, _) = pair(small_config(), small_config());
    let last = Rc::new(Cell::new(Ecn::NotEct));
    let seen = Rc::clone(&last);
    pair.mark = Box::new(move |up, ecn| {
        if up {
            seen.set(ecn);
        }
        ecn
    });
    // What is marked gets a mark that the gateway's network does not let through.
    pair.drop_marked = true;
    transfer(&mut pair, 200);
    assert!(pair.now < 10_000_000, "{} us", pair.now);
    assert_eq!(last.get(), Ecn::NotEct);
}

/// wire-format §6: a frame that was not announced ends the session.
#[test]
fn counts_that_nobody_asked_for_end_the_session() {
    let (mut gateway, mut device) = live_with(Config { ecn: false, ..small_config() });
    let mut buffer = [0; 64];
    let mut w = Writer::new(&mut buffer);
    write_ack_ecn(&mut w, 0, &[PacketRange { low: 0, high: 0 }], &EcnCounts::NONE).unwrap();
    let ended = device.send_bytes(&mut gateway, 0, w.into_written());
    assert_eq!(ended, Err(Discard::EndedByFault));
    assert_eq!(gateway.faults(Fault::BadFrame), 1);
}
