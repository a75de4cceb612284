//! `status`: how the running gateway is.

mod show;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::downlink::{Place, all_waiting};
use crate::keystore::KeyStore;
use crate::query::Names;
use crate::{Error, peer};

/// The arguments of `status`.
#[derive(Debug, Args)]
pub struct Status {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What a gateway tells of itself.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// Its version.
    pub version: String,
    /// Seconds since it began.
    pub up_seconds: u64,
    /// Its data directory.
    pub data: PathBuf,
    /// Whether it takes records and stores them.
    pub ready: bool,
    /// What is wrong.
    pub troubles: Vec<Trouble>,
    /// Counts since it began, by subject and name.
    pub counters: BTreeMap<String, BTreeMap<String, u64>>,
    /// Its sockets.
    pub sockets: Vec<Socket>,
    /// The queue between network and disk.
    pub queue: Queue,
    /// The disk.
    pub disk: Disk,
    /// The peers that it heard since it began, or all with what is not stored.
    pub peers: Vec<PeerNow>,
    /// How many peers are provisioned.
    pub peers_provisioned: u64,
    /// What waits for devices; read from the data directory, not told by the gateway.
    #[serde(default)]
    pub downlink: Vec<DownlinkNow>,
}

/// What waits for a device on one stream.
#[derive(Debug, Serialize, Deserialize)]
pub struct DownlinkNow {
    /// Its id.
    pub peer: String,
    /// Its name, if the key store knows it.
    pub name: Option<String>,
    /// The stream.
    pub stream: String,
    /// Records that it has not stored.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Something that is wrong.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trouble {
    /// With what.
    pub subject: String,
    /// Since when (RFC 3339).
    pub since: String,
    /// What it is.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
    /// Whether no records are taken or stored because of it.
    pub stops: bool,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, since, what, remedy, .. } = self;
        write!(f, "{subject}: since {since}: {what}; {remedy}")
    }
}

/// A socket.
#[derive(Debug, Serialize, Deserialize)]
pub struct Socket {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Bytes of receive buffer that were asked for.
    pub receive_buffer_asked: u64,
    /// Bytes of receive buffer that the kernel gave.
    pub receive_buffer: u64,
    /// Bytes of send buffer that were asked for.
    pub send_buffer_asked: u64,
    /// Bytes of send buffer that the kernel gave.
    pub send_buffer: u64,
    /// Datagrams that the kernel dropped because the receive buffer was full.
    pub kernel_drops: Option<u64>,
}

/// The queue between network and disk.
#[derive(Debug, Serialize, Deserialize)]
pub struct Queue {
    /// Bytes that wait for the disk.
    pub waiting_bytes: u64,
    /// Bytes that may wait.
    pub capacity_bytes: u64,
}

/// The disk.
#[derive(Debug, Serialize, Deserialize)]
pub struct Disk {
    /// Bytes of all journal segments.
    pub journal_bytes: u64,
    /// Bytes that are free.
    pub free_bytes: Option<u64>,
    /// Whether the journal takes records.
    pub works: bool,
    /// The longest that a call of the disk took, in microseconds.
    pub longest_call_us: u64,
}

/// A peer.
#[derive(Debug, Serialize, Deserialize)]
pub struct PeerNow {
    /// Its id.
    pub peer: String,
    /// Its name; the key store knows it, not the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its address.
    pub address: Option<SocketAddr>,
    /// Whether it has a session.
    pub session: bool,
    /// The suite of its session.
    pub suite: Option<String>,
    /// Microseconds since it was last heard.
    pub last_heard_us: u64,
    /// Round-trip time in microseconds; 0 if it is not known.
    pub round_trip_us: u64,
    /// Records received and not yet stored.
    pub unstored_records: u64,
}

/// Asks the running gateway and prints what it says.
///
/// # Errors
/// There is no gateway to ask, or it does not answer as it should.
pub fn run(status: &Status, config: &Config) -> Result<(), Error> {
    let text = ask(config)?;
    let wrong = |error: serde_json::Error| Error::Status { socket: config.status_socket_path(), error: error.into() };
    let mut report: Report = serde_json::from_str(&text).map_err(wrong)?;
    let names = Names::read(&KeyStore::in_data_dir(&config.data_dir()));
    for peer in &mut report.peers {
        let id = peer.peer.parse::<crate::PeerId>().ok();
        peer.name = id.and_then(|id| names.name(id.0)).map(str::to_owned);
    }
    report.downlink = waiting(config, &names)?;
    if status.json {
        let json = serde_json::to_string(&report).map_err(wrong)?;
        return peer::print(&format!("{json}\n"));
    }
    peer::print(&show::text(&report))
}

fn waiting(config: &Config, names: &Names) -> Result<Vec<DownlinkNow>, Error> {
    let all = all_waiting(&Place::in_data_dir(&config.data_dir()))?;
    let each = all.into_iter().flat_map(|(peer, streams)| streams.into_iter().map(move |waits| (peer, waits)));
    let now = each.map(|(peer, waits)| DownlinkNow {
        peer: peer.to_string(),
        name: names.name(peer.0).map(str::to_owned),
        stream: waits.stream,
        records: waits.records,
        bytes: waits.bytes,
    });
    Ok(now.collect())
}

fn ask(config: &Config) -> Result<String, Error> {
    let socket = config.status_socket_path();
    let mut text = String::new();
    let asked = UnixStream::connect(&socket).and_then(|mut stream| stream.read_to_string(&mut text));
    match asked {
        Ok(0) => Err(Error::Status { socket, error: io::Error::other("the gateway runs but does not answer") }),
        Ok(_) => Ok(text),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            Err(Error::NoGateway { socket })
        }
        Err(error) => Err(Error::Status { socket, error }),
    }
}
