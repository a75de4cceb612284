//! quinn as a user who wants speed sets it up: AES-128-GCM only, GSO and GRO on, full-size packets
//! from the start, one stream, large writes, each record behind its size.
use std::{
    net::SocketAddr,
    sync::{Arc, mpsc},
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use quinn::{
    ClientConfig, Endpoint, EndpointConfig, MtuDiscoveryConfig, ServerConfig, TokioRuntime, TransportConfig, VarInt,
    crypto::rustls::{QuicClientConfig, QuicServerConfig},
};
use rustls::{
    CipherSuite, RootCertStore,
    crypto::{CryptoProvider, aws_lc_rs, ring},
    pki_types::{CertificateDer, PrivatePkcs8KeyDer},
    version::TLS13,
};

use super::{
    MAX_DATAGRAM,
    setup::{SERVER_NAME, certificate, runtime},
};
use crate::{
    clock,
    transport::{
        ground::{Place, Room},
        side::{End, Job, Meter, Metered, Run, Side, Wire},
    },
    workload::{Checked, LengthPrefixed, Packed},
};

/// A connection ends after so long a silence.
const PATIENCE_MS: u32 = 600_000;

/// quinn over one of rustls's crypto backends.
pub(crate) struct Quinn {
    name: &'static str,
    provider: fn() -> CryptoProvider,
}

impl Quinn {
    pub(crate) fn ring() -> Self {
        Self { name: "quinn-ring", provider: ring::default_provider }
    }

    pub(crate) fn aws_lc() -> Self {
        Self { name: "quinn-aws-lc", provider: aws_lc_rs::default_provider }
    }
}

impl Side for Quinn {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&self, job: &Job) -> Result<Run> {
        let (server, certificate) = server((self.provider)(), job.ground.room)?;
        let client = client((self.provider)(), certificate, job.ground.room)?;
        let (tell, listening) = mpsc::channel();
        let receiver = Metered::spawn(job, End::Receiver, move |job, meter| {
            take(server, job, |listening| Ok(tell.send(listening)?), meter)
        })?;
        let sender = Metered::spawn(job, End::Sender, move |job, meter| {
            let to = listening.recv().context("no receiver")?;
            give(client, to, job, meter)
        })?;
        let (((elapsed, wire), sender), (checked, receiver)) = sender.join_both(receiver)?;
        Ok(Run { threads: vec![sender, receiver], elapsed, checked, wire })
    }
}

/// Takes the records of one connection, on this thread; `tell` is told where.
pub(crate) fn take(
    config: ServerConfig,
    job: &Job,
    tell: impl FnOnce(SocketAddr) -> Result<()>,
    meter: &mut Meter,
) -> Result<Checked> {
    runtime()?.block_on(receive(config, job, tell, meter))
}

/// Brings all records to the receiver at `to`, on this thread.
pub(crate) fn give(config: ClientConfig, to: SocketAddr, job: &Job, meter: &mut Meter) -> Result<(Duration, Wire)> {
    runtime()?.block_on(send(config, to, job, meter))
}

async fn receive(
    config: ServerConfig,
    job: &Job,
    tell: impl FnOnce(SocketAddr) -> Result<()>,
    meter: &mut Meter,
) -> Result<Checked> {
    let endpoint = endpoint(Some(config), &job.ground.receiver)?;
    tell(endpoint.local_addr()?)?;
    let incoming = endpoint.accept().await.context("endpoint closed")?;
    let connection = incoming.await?;
    let mut stream = connection.accept_uni().await?;

    meter.start();
    let mut records = LengthPrefixed::new(Arc::clone(&job.workload));
    while let Some(chunk) = stream.read_chunk(usize::MAX, true).await? {
        records.take(&chunk.bytes);
        job.watch.set_received(records.records());
    }
    meter.stop();

    // The sender closes once it has its last acknowledgement.
    connection.closed().await;
    endpoint.wait_idle().await;
    Ok(records.finish())
}

async fn send(config: ClientConfig, to: SocketAddr, job: &Job, meter: &mut Meter) -> Result<(Duration, Wire)> {
    let endpoint = endpoint(None, &job.ground.sender)?;
    let connection = endpoint.connect_with(config, to, SERVER_NAME)?.await?;
    let mut stream = connection.open_uni().await?;
    let size = u32::try_from(job.workload.size())?;
    let mut packed = Packed::new(&job.workload, &size.to_le_bytes());

    meter.start();
    let begun = clock::wall();
    let mut next = 0;
    while next < job.records {
        let (count, batch) = packed.batch(&job.workload, next, job.records - next);
        stream.write_all(batch).await?;
        next += count;
    }
    stream.finish()?;
    if let Some(code) = stream.stopped().await? {
        return Err(anyhow!("the receiver stopped the stream with {code}"));
    }
    let elapsed = begun.elapsed();
    meter.stop();

    let stats = connection.stats();
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    let wire = Wire {
        datagrams: stats.udp_tx.datagrams,
        largest: stats.path.current_mtu.into(),
        lost: stats.path.lost_packets,
        send_calls: Some(stats.udp_tx.ios),
        // Its `udp_rx.ios` counts what it was handed, not calls.
        receive_calls: None,
        repairs: None,
    };
    Ok((elapsed, wire))
}

fn endpoint(server: Option<ServerConfig>, place: &Place) -> Result<Endpoint> {
    let runtime = Arc::new(TokioRuntime);
    Ok(Endpoint::new(EndpointConfig::default(), server, place.udp()?, runtime)?)
}

/// A receiver's configuration, and the certificate by which its sender knows it.
pub(crate) fn server(provider: CryptoProvider, room: Option<Room>) -> Result<(ServerConfig, CertificateDer<'static>)> {
    let made = certificate()?;
    let certificate: CertificateDer<'static> = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let tls = rustls::ServerConfig::builder_with_provider(one_suite(provider))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())?;
    let mut server = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    server.transport_config(Arc::new(transport(room)));
    Ok((server, certificate))
}

/// The configuration of a sender to the receiver that has this certificate.
pub(crate) fn client(
    provider: CryptoProvider,
    certificate: CertificateDer<'static>,
    room: Option<Room>,
) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let tls = rustls::ClientConfig::builder_with_provider(one_suite(provider))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    client.transport_config(Arc::new(transport(room)));
    Ok(client)
}

fn one_suite(mut provider: CryptoProvider) -> Arc<CryptoProvider> {
    provider.cipher_suites.retain(|suite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256);
    Arc::new(provider)
}

fn transport(room: Option<Room>) -> TransportConfig {
    // Discovery stays on, so that it climbs back should losses be taken for a black hole.
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(MAX_DATAGRAM);
    let mut transport = TransportConfig::default();
    transport.initial_mtu(MAX_DATAGRAM).mtu_discovery_config(Some(discovery)).enable_segmentation_offload(true);
    // By default it gives up after 30 s of silence, which bursts of losses bring about where the round trip is long.
    transport.max_idle_timeout(Some(VarInt::from_u32(PATIENCE_MS).into()));
    if let Some(room) = room {
        transport
            .stream_receive_window(room.bytes.into())
            .receive_window(room.bytes.into())
            .send_window(room.bytes.into());
    }
    transport
}
