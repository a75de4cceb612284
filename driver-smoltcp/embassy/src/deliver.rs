//! An endpoint and an embassy-net socket.

use crate::end::{DATAGRAM, End, GATEWAY, STREAM};
use core::convert::Infallible;
use core::net::SocketAddr;
use embassy_futures::select::{Either3, select3};
use embassy_net::udp::{UdpMetadata, UdpSocket};
use embassy_net::{IpAddress, IpEndpoint};
use embassy_time::{Duration, Instant, Timer, with_timeout};
use tallylink_core as tallylink;
use tallylink_core::wire::Open;
use tallylink_core::{Accept, Batch, Deliver, Ecn, Epoch, Event, Full, Handled, InIx, Path, PeerIx, Refusal};

/// A socket that has had no room for so long waits for a neighbour: what has arrived is looked at in between.
const NO_ROOM: Duration = Duration::from_millis(100);

/// Delivers readings for ever.
///
/// What `reading` returns is dropped midway whenever something else happens, and asked for anew: it is a channel's `receive` or
/// a ticker's `next`, which lose nothing by that.
pub async fn deliver(
    socket: &mut UdpSocket<'_>,
    end: &mut End<'_>,
    gateway: SocketAddr,
    mut reading: impl AsyncFnMut() -> [u8; 4],
) -> Infallible {
    let mut scratch = [0; DATAGRAM];
    // A path that cannot be: this end has its one peer.
    let _ = end.connect(now(), GATEWAY, Path::to(gateway));
    loop {
        if end.next_timeout().is_some_and(|due| due <= now()) {
            end.handle_timeout(now());
        }
        send_all(socket, end).await;
        while let Some(event) = end.next_event() {
            if let Event::Stored(_, below) = event {
                // Records below that are on the gateway's disk.
                let _ = below;
            }
        }
        let due = end.next_timeout().map_or(Instant::MAX, |due| Instant::from_micros(due.as_micros()));
        match select3(socket.recv_from(&mut scratch), Timer::at(due), reading()).await {
            Either3::First(Ok((len, from))) => received(socket, end, scratch.get_mut(..len), from).await,
            // Larger than any of ours.
            Either3::First(Err(_)) => {}
            Either3::Second(()) => {}
            // Full: the gateway has been away for long, and this reading is the one that is given up.
            Either3::Third(record) => drop(end.push(now(), STREAM, &record)),
        }
    }
}

/// Sends whatever there is to send now.
async fn send_all(socket: &mut UdpSocket<'_>, end: &mut End<'_>) {
    while let Some(envelope) = end.peek_transmit(now()) {
        let to = meta(&envelope.path);
        let seal = |out: &mut [u8]| {
            if !end.seal_transmit(now(), &envelope, out) {
                // The room cannot be given back. Zeros are no packet.
                out.fill(0);
            }
            (out.len(), ())
        };
        // Until there is room for exactly this packet it is only planned, and its number is not spent.
        if !matches!(with_timeout(NO_ROOM, socket.send_to_with(envelope.len.into(), to, seal)).await, Ok(Ok(()))) {
            return;
        }
    }
}

async fn received(socket: &UdpSocket<'_>, end: &mut End<'_>, datagram: Option<&mut [u8]>, from: UdpMetadata) {
    let Some(datagram) = datagram else { return };
    let path = Path { local: from.local_address.map(Into::into), remote: from.endpoint.into() };
    if let Ok(Handled::Reply(len)) = end.handle_datagram(now(), &path, Ecn::NotEct, datagram, &mut NoStreams) {
        let answer = datagram.get(..len).unwrap_or_default();
        // Without room it is lost, and asked for again.
        let _ = with_timeout(NO_ROOM, socket.send_to(answer, from)).await;
    }
}

fn now() -> tallylink::Instant {
    tallylink::Instant::from_micros(Instant::now().as_micros())
}

fn meta(path: &Path) -> UdpMetadata {
    let endpoint = IpEndpoint { addr: IpAddress::from(path.remote.ip()), port: path.remote.port() };
    UdpMetadata { endpoint, local_address: path.local.map(Into::into), meta: Default::default() }
}

/// A device that only sends.
struct NoStreams;

impl Deliver for NoStreams {
    fn open(&mut self, _: PeerIx, _: &Open<'_>) -> Result<Accept, Refusal> {
        Err(Refusal::Name)
    }

    fn records(&mut self, _: Batch<'_>) -> Result<(), Full> {
        Err(Full)
    }

    fn gap(&mut self, _: InIx, _: Epoch, _: u64, _: u64, _: u8) -> Result<(), Full> {
        Err(Full)
    }
}
