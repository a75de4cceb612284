//! The kernel's TCP with CUBIC, in the clear: what a path's other users are. Same writes and records as quinn.
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, mpsc},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};

use crate::{
    clock,
    transport::{
        side::{End, Job, Meter, Metered, Run, Side, Wire},
        watch::{Patience, TICK},
    },
    workload::{Checked, LengthPrefixed, Packed},
};

/// Bytes that are read at a time.
const READ: usize = 256 << 10;
const CUBIC: &str = "cubic";
/// What the receiver answers when all has come.
const ALL_HERE: u8 = b'.';

pub(crate) struct Tcp;

impl Side for Tcp {
    fn name(&self) -> &'static str {
        "tcp-cubic"
    }

    fn run(&self, job: &Job) -> Result<Run> {
        let (tell, listening) = mpsc::channel();
        let receiver = Metered::spawn(job, End::Receiver, move |job, meter| receive(job, &tell, meter))?;
        let sender = Metered::spawn(job, End::Sender, move |job, meter| {
            let to = listening.recv().context("no receiver")?;
            send(to, job, meter)
        })?;
        let ((elapsed, sender), (checked, receiver)) = sender.join_both(receiver)?;
        Ok(Run { threads: vec![sender, receiver], elapsed, checked, wire: Wire::default() })
    }
}

fn receive(job: &Job, tell: &mpsc::Sender<SocketAddr>, meter: &mut Meter) -> Result<Checked> {
    let listener = TcpListener::bind(job.ground.receiver.any_port())?;
    tell.send(listener.local_addr()?)?;
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(TICK))?;

    meter.start();
    let mut records = LengthPrefixed::new(Arc::clone(&job.workload));
    let mut buffer = vec![0; READ];
    while !job.watch.is_over() {
        match stream.read(&mut buffer) {
            Ok(0) => {
                stream.write_all(&[ALL_HERE])?;
                meter.stop();
                return Ok(records.finish());
            }
            Ok(length) => records.take(&buffer[..length]),
            Err(error) if waits(&error) => {}
            Err(error) => return Err(error.into()),
        }
        job.watch.set_received(records.records());
    }
    meter.stop();
    Ok(records.so_far())
}

fn send(to: SocketAddr, job: &Job, meter: &mut Meter) -> Result<Duration> {
    let mut stream = TcpStream::connect(to)?;
    set_tcp_congestion(&stream, CUBIC).context("this kernel has no TCP CUBIC")?;
    ensure!(tcp_congestion(&stream)? == CUBIC, "this kernel does not use CUBIC though told to");
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(TICK))?;
    stream.set_read_timeout(Some(TICK))?;
    let size = u32::try_from(job.workload.size())?;
    let mut packed = Packed::new(&job.workload, &size.to_le_bytes());

    meter.start();
    let begun = clock::wall();
    let mut patience = Patience::new();
    let mut next = 0;
    while next < job.records && !job.watch.is_over() {
        let (count, batch) = packed.batch(&job.workload, next, job.records - next);
        let mut rest = batch;
        while !rest.is_empty() && !job.watch.is_over() {
            match stream.write(rest) {
                Ok(length) => rest = &rest[length..],
                Err(error) if waits(&error) => patience.check(job.watch.received())?,
                // Who ends first closes the connection under the other.
                Err(_) if job.watch.is_over() => break,
                Err(error) => return Err(error.into()),
            }
        }
        next += count;
    }
    if !job.watch.is_over() {
        stream.shutdown(Shutdown::Write)?;
    }
    while !job.watch.is_over() {
        match stream.read_exact(&mut [0]) {
            Ok(()) => break,
            Err(error) if waits(&error) || job.watch.is_over() => patience.check(job.watch.received())?,
            Err(error) => return Err(error.into()),
        }
    }
    let elapsed = begun.elapsed();
    meter.stop();
    Ok(elapsed)
}

fn waits(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
