//! Strangers who only send on what others sent: to whom it came from, or from one gateway to another.
use std::{
    io::ErrorKind,
    net::{Ipv4Addr, UdpSocket},
    time::Duration,
};

use anyhow::{Result, ensure};

use super::{
    gateway::{Gateway, Home},
    relay::Relay,
};

const RECORDS: u64 = 20_000;
/// After so long nobody answers any more.
const SILENCE: Duration = Duration::from_millis(5);
/// An exchange that is still going on then never ends.
const ENDLESS: u64 = 100;

/// What they came to.
pub(super) struct Mirrored {
    /// Whether a device whose packets came back to it stored something else than it was given.
    pub(super) journal_differs: bool,
    /// Datagrams that were carried between two gateways.
    pub(super) carried: u64,
    /// Answers that one of them began, one to the other, at the most.
    pub(super) answers_most: u64,
}

pub(super) fn all() -> Result<Mirrored> {
    let home = Home::new()?;
    home.add_peer("roof")?;
    let mut gateway = Gateway::start(&home)?;
    let lines: Vec<u8> = (0..RECORDS).flat_map(|number| format!("{number}\n").into_bytes()).collect();
    let relay = Relay::reflecting(gateway.address)?;
    home.ok(&["send", "--to", &relay.address.to_string(), "--key", "roof.key", "--stream", "s"], &lines)?;
    let capture = relay.capture_both()?;
    let stored = home.ok(&["query", "--stream", "s", "--format", "raw"], b"")?;

    let elsewhere = Home::new()?;
    elsewhere.add_peer("field")?;
    let other = Gateway::start(&elsewhere)?;
    // As each gateway sees it, the other is its peer: the socket stands for the one with the other.
    let between = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    between.set_read_timeout(Some(SILENCE))?;
    let (mut carried, mut answers_most) = (0, 0);
    let mut buffer = vec![0; 1 << 16];
    // Sessions that live, and sessions that nobody knows.
    for begins in [&gateway, &other] {
        for datagram in &capture {
            between.send_to(datagram, begins.address)?;
            let mut answers = 0;
            while answers < ENDLESS {
                match between.recv_from(&mut buffer) {
                    Ok((len, from)) => {
                        answers += 1;
                        let to = if from == gateway.address { other.address } else { gateway.address };
                        between.send_to(&buffer[..len], to)?;
                    }
                    Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                    Err(error) => return Err(error.into()),
                }
            }
            carried += 1 + answers;
            answers_most = answers_most.max(answers);
        }
    }
    ensure!(gateway.ended()?.is_none(), "the gateway ended");
    Ok(Mirrored { journal_differs: stored != lines, carried, answers_most })
}
