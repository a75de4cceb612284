//! What the router itself can do: datagrams as fast as one thread sends them, through a perfect network.
use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Result, anyhow};

use super::{
    BENCH,
    emulator::{Emulator, Profile, Script},
    router,
};
use crate::{
    report::Figure,
    transport::{sides::MAX_DATAGRAM, watch::Watch},
};

const LASTS: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(50);
const CASE: &str = "the router alone";
const SIDE: &str = "flood";

/// Packets that it carries in a second of its CPU: no side can be faster, whatever the rest of the machine does meanwhile.
pub(super) fn figures() -> Result<Vec<Figure>> {
    let (router, ground) = router::build(Emulator::new(Profile::default(), Script::default(), 0), false)?;
    let watch = Arc::new(Watch::default());
    let receiver = ground.receiver.udp_there()?;
    receiver.set_read_timeout(Some(TICK))?;
    let sender = ground.sender.udp_there()?;
    sender.connect(receiver.local_addr()?)?;

    let mut buffer = [0; MAX_DATAGRAM as usize];
    let threads = [
        spawn(&watch, move || sender.send(&[0; MAX_DATAGRAM as usize]).is_ok())?,
        spawn(&watch, move || receiver.recv(&mut buffer).is_ok())?,
    ];
    thread::sleep(LASTS);
    watch.end();
    for thread in threads {
        thread.join().map_err(|_| anyhow!("a thread panicked"))?;
    }
    let told = router.stop()?;
    let rate = told.counters.departed as f64 / told.cpu.as_secs_f64();
    let figure = |metric: &str, unit: &str, value| Figure {
        bench: BENCH.into(),
        case: CASE.into(),
        side: SIDE.into(),
        metric: metric.into(),
        value,
        unit: unit.into(),
        ratio: None,
    };
    Ok(vec![
        figure("packets_per_second_of_cpu", "1/s", rate),
        figure("payload_per_second_of_cpu", "Mbit/s", rate * f64::from(MAX_DATAGRAM) * 8e-6),
        figure("router_busy", "", told.busy()),
    ])
}

/// Does it again and again, whether it succeeds or not.
fn spawn(watch: &Arc<Watch>, mut again: impl FnMut() -> bool + Send + 'static) -> Result<JoinHandle<()>> {
    let watch = Arc::clone(watch);
    Ok(thread::Builder::new().name("flood".into()).spawn(move || {
        while !watch.is_over() {
            again();
        }
    })?)
}
