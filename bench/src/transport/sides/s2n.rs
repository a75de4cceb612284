//! s2n-quic set up like quinn: same sockets, packet size, stream, writes and records.
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc,
    },
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use s2n_quic::{
    Client, Server,
    client::Connect,
    provider::{
        event::{self, events},
        io::tokio::{Builder, Provider},
    },
    stream::SplittableStream as _,
};

use super::{
    MAX_DATAGRAM,
    setup::{SERVER_NAME, certificate, runtime},
};
use crate::{
    clock,
    transport::{
        ground::Place,
        side::{End, Job, Meter, Metered, Run, Side, Wire},
    },
    workload::{Checked, LengthPrefixed, Packed},
};

/// IPv4 and UDP headers, which s2n-quic counts into its MTU.
const HEADERS: u16 = 20 + 8;

/// s2n-quic over rustls and aws-lc-rs, the backend it comes with.
pub(crate) struct S2n;

impl Side for S2n {
    fn name(&self) -> &'static str {
        "s2n-quic"
    }

    fn run(&self, job: &Job) -> Result<Run> {
        let made = certificate()?;
        let certificate = made.cert.pem();
        let key = made.signing_key.serialize_pem();
        let sent = Arc::new(Counts::default());
        let received = Arc::new(Counts::default());

        let (tell, listening) = mpsc::channel();
        let (counts, tls) = (Subscriber(Arc::clone(&received)), (certificate.clone(), key));
        let receiver = Metered::spawn(job, End::Receiver, move |job, meter| {
            runtime()?.block_on(receive(tls, counts, job, &tell, meter))
        })?;
        let counts = Subscriber(Arc::clone(&sent));
        let sender = Metered::spawn(job, End::Sender, move |job, meter| {
            let to = listening.recv().context("no receiver")?;
            runtime()?.block_on(send(&certificate, counts, to, job, meter))
        })?;
        let ((elapsed, sender), (checked, receiver)) = sender.join_both(receiver)?;
        ensure!(
            !sent.other_suite.load(Relaxed) && !received.other_suite.load(Relaxed),
            "s2n-quic chose another suite than AES-128-GCM"
        );
        Ok(Run {
            threads: vec![sender, receiver],
            elapsed,
            checked,
            wire: Wire {
                datagrams: sent.datagrams.load(Relaxed),
                largest: sent.largest.load(Relaxed),
                lost: sent.lost.load(Relaxed),
                send_calls: Some(sent.send_calls.load(Relaxed)),
                receive_calls: Some(received.receive_calls.load(Relaxed)),
                repairs: None,
            },
        })
    }
}

async fn receive(
    (certificate, key): (String, String),
    counts: Subscriber,
    job: &Job,
    tell: &mpsc::Sender<SocketAddr>,
    meter: &mut Meter,
) -> Result<Checked> {
    let mut server = Server::builder()
        .with_tls((certificate.as_str(), key.as_str()))?
        .with_io(io(&job.ground.receiver)?)?
        .with_event(counts)?
        .start()?;
    tell.send(server.local_addr()?)?;
    let mut connection = server.accept().await.context("endpoint closed")?;
    let stream = connection.accept_receive_stream().await?;
    let mut stream = stream.context("connection closed")?;

    meter.start();
    let mut records = LengthPrefixed::new(Arc::clone(&job.workload));
    while let Some(chunk) = stream.receive().await? {
        records.take(&chunk);
    }
    meter.stop();

    // Until the sender has its last acknowledgement and closes; how it does so is no matter here.
    let _closed = connection.accept_receive_stream().await;
    Ok(records.finish())
}

async fn send(certificate: &str, counts: Subscriber, to: SocketAddr, job: &Job, meter: &mut Meter) -> Result<Duration> {
    let mut client =
        Client::builder().with_tls(certificate)?.with_io(io(&job.ground.sender)?)?.with_event(counts)?.start()?;
    let connect = Connect::new(to).with_server_name(SERVER_NAME);
    let mut connection = client.connect(connect).await?;
    let (_, stream) = connection.open_send_stream().await?.split();
    let mut stream = stream.context("no sending half")?;
    let size = u32::try_from(job.workload.size())?;
    let mut packed = Packed::new(&job.workload, &size.to_le_bytes());

    meter.start();
    let begun = clock::wall();
    let mut next = 0;
    while next < job.records {
        let (count, batch) = packed.batch(&job.workload, next, job.records - next);
        // It takes owned buffers only, so the copy that quinn makes inside is made here.
        stream.send(batch.to_vec().into()).await?;
        next += count;
    }
    stream.finish()?;
    stream.close().await?;
    let elapsed = begun.elapsed();
    meter.stop();

    connection.close(0u32.into());
    client.wait_idle().await?;
    Ok(elapsed)
}

fn io(place: &Place) -> Result<Provider> {
    let socket = place.udp()?;
    Ok(builder()
        .with_initial_mtu(MAX_DATAGRAM + HEADERS)?
        .with_max_mtu(MAX_DATAGRAM + HEADERS)?
        .with_rx_socket(socket)?
        .build()?)
}

fn builder() -> Builder {
    Provider::builder()
}

/// What an endpoint counted.
#[derive(Default)]
struct Counts {
    datagrams: AtomicU64,
    largest: AtomicU64,
    send_calls: AtomicU64,
    receive_calls: AtomicU64,
    lost: AtomicU64,
    other_suite: AtomicBool,
}

/// Counts what happens to a connection, in plain numbers since some of it happens often.
struct Connection {
    datagrams: u64,
    largest: u64,
    total: Arc<Counts>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.total.datagrams.fetch_add(self.datagrams, Relaxed);
        self.total.largest.fetch_max(self.largest, Relaxed);
    }
}

struct Subscriber(Arc<Counts>);

impl event::Subscriber for Subscriber {
    type ConnectionContext = Connection;

    fn create_connection_context(
        &mut self,
        _meta: &events::ConnectionMeta,
        _info: &events::ConnectionInfo<'_>,
    ) -> Connection {
        Connection { datagrams: 0, largest: 0, total: Arc::clone(&self.0) }
    }

    fn on_platform_tx(&mut self, _meta: &events::EndpointMeta, event: &events::PlatformTx) {
        self.0.send_calls.fetch_add(event.syscalls as u64, Relaxed);
    }

    fn on_platform_rx(&mut self, _meta: &events::EndpointMeta, event: &events::PlatformRx) {
        self.0.receive_calls.fetch_add(event.syscalls as u64, Relaxed);
    }

    fn on_datagram_sent(
        &mut self,
        connection: &mut Connection,
        _meta: &events::ConnectionMeta,
        event: &events::DatagramSent,
    ) {
        connection.datagrams += 1;
        connection.largest = connection.largest.max(event.len.into());
    }

    fn on_packet_lost(
        &mut self,
        _connection: &mut Connection,
        _meta: &events::ConnectionMeta,
        event: &events::PacketLost<'_>,
    ) {
        self.0.lost.fetch_add(u64::from(!event.is_mtu_probe), Relaxed);
    }

    fn on_key_update(
        &mut self,
        _connection: &mut Connection,
        _meta: &events::ConnectionMeta,
        event: &events::KeyUpdate,
    ) {
        let one_rtt = matches!(event.key_type, events::KeyType::OneRtt { .. });
        let expected = matches!(event.cipher_suite, events::CipherSuite::TLS_AES_128_GCM_SHA256 { .. });
        if one_rtt && !expected {
            self.0.other_suite.store(true, Relaxed);
        }
    }
}
