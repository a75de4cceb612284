//! The thread that carries packets between the devices and the emulator.
//!
//! What it does costs the two ends a share of the machine, so its own CPU is told, and how long it was busy: a figure from a run
//! in which it was always busy says what the router can do, and nothing of the ends. The kernel's work of bringing a packet from
//! the device to a socket is done on this thread, too.
mod transfer;
mod view;

use std::{
    num::NonZeroU64,
    os::fd::AsFd as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Result, anyhow};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    thread::set_current_timer_slack,
};

use self::transfer::{Inbox, Outbox};
pub(crate) use self::view::View;
use super::{
    emulator::{Counters, Emulator, Queue},
    world::World,
};
use crate::{
    clock,
    transport::{ground::Ground, side::End},
};

/// How long to sleep at most: then it looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(20);

/// A router at work.
pub(crate) struct Router {
    over: Arc<AtomicBool>,
    view: Arc<View>,
    thread: JoinHandle<Result<Told>>,
}

/// What a router tells at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) counters: Counters,
    /// What the sender's packets waited in.
    pub(crate) queue: Queue,
    /// CPU of its thread.
    pub(crate) cpu: Duration,
    /// From its beginning to its end.
    pub(crate) elapsed: Duration,
    /// Packets that the devices could not hold for it, or did not take: the lab's own losses.
    pub(crate) overruns: u64,
    /// Packets that an end's socket could not hold.
    pub(crate) socket_drops: u64,
}

impl Told {
    /// Share of the time in which it was busy.
    pub(crate) fn busy(&self) -> f64 {
        self.cpu.as_secs_f64() / self.elapsed.as_secs_f64()
    }
}

/// A new world with a router in it, and the places of the two ends.
pub(crate) fn build(emulator: Emulator, v6: bool) -> Result<(Router, Ground)> {
    let world = World::new()?;
    let ground = world.ground(v6);
    Ok((Router::start(world, emulator)?, ground))
}

impl Router {
    /// Starts to carry packets of `world`, which it keeps alive.
    fn start(world: World, emulator: Emulator) -> Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let view = Arc::new(View::default());
        let (wanted, seen) = (Arc::clone(&over), Arc::clone(&view));
        let thread =
            thread::Builder::new().name("router".into()).spawn(move || run(&world, emulator, &wanted, &seen))?;
        Ok(Self { over, view, thread })
    }

    /// What can be seen of it while it works.
    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    pub(crate) fn stop(self) -> Result<Told> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the router panicked"))?
    }
}

fn run(world: &World, mut emulator: Emulator, over: &AtomicBool, view: &View) -> Result<Told> {
    // The default of 50 µs would be added to every delay.
    set_current_timer_slack(NonZeroU64::new(1))?;
    let begun = clock::wall();
    let mut inbox = Inbox::new();
    let mut outbox = Outbox::new();
    while !over.load(Ordering::Relaxed) {
        let mut moved = false;
        for (end, land) in [(End::Sender, &world.sender), (End::Receiver, &world.receiver)] {
            moved |= inbox.fetch(&land.device, |packet| {
                if end == End::Sender {
                    view.see(packet.len());
                }
                emulator.arrive(begun.elapsed(), end, packet);
            })?;
        }
        let now = begun.elapsed();
        let mut put = |to, packet: &[u8]| match to {
            End::Sender => outbox.put(&world.sender.device, packet),
            End::Receiver => outbox.put(&world.receiver.device, packet),
        };
        while emulator.depart(now, &mut put) {
            moved = true;
        }
        view.show(emulator.queue(End::Sender));
        if !moved {
            let sleep = emulator.next().map_or(TICK, |next| next.saturating_sub(begun.elapsed()).min(TICK));
            wait(world, sleep)?;
        }
    }
    let (cpu, elapsed) = (clock::thread_cpu(), begun.elapsed());
    let overruns = world.overruns()? + outbox.refused();
    let queue = *emulator.queue(End::Sender);
    Ok(Told { counters: *emulator.counters(), queue, cpu, elapsed, overruns, socket_drops: world.socket_drops()? })
}

/// Until there is a packet, or it is time.
fn wait(world: &World, at_most: Duration) -> Result<()> {
    let of = |device| PollFd::from_borrowed_fd(device, PollFlags::IN);
    let mut devices = [of(world.sender.device.as_fd()), of(world.receiver.device.as_fd())];
    let timeout = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
    match poll(&mut devices, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(other) => Err(other.into()),
    }
}
