//! The MQTT client, and the subscriber that is away.
use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use rumqttc::{AsyncClient, Event, EventLoop, MqttOptions, Packet, QoS};
use tokio::runtime;

use super::{RECORD, Run, broker::Broker};
use crate::{
    clock,
    drain::cpu,
    process::Conversation,
    workload::{HEAD, Workload},
};

const TOPIC: &str = "records";
/// Messages that may be unconfirmed.
const IN_FLIGHT: u16 = 100;
/// Without any news for so long it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a message is confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Qos {
    AtLeastOnce,
    ExactlyOnce,
}

impl Qos {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AtLeastOnce => "mosquitto, QoS 1",
            Self::ExactlyOnce => "mosquitto, QoS 2",
        }
    }

    fn level(self) -> QoS {
        match self {
            Self::AtLeastOnce => QoS::AtLeastOnce,
            Self::ExactlyOnce => QoS::ExactlyOnce,
        }
    }

    fn argument(self) -> &'static str {
        match self {
            Self::AtLeastOnce => "--qos=at-least-once",
            Self::ExactlyOnce => "--qos=exactly-once",
        }
    }
}

/// Publishes, for `mqtt`.
#[derive(Args)]
pub(crate) struct MqttRole {
    #[arg(long)]
    qos: Qos,
    #[arg(long)]
    port: u16,
    #[arg(long)]
    messages: u64,
    #[arg(long)]
    seed: u64,
}

impl MqttRole {
    pub(crate) fn run(&self) -> Result<()> {
        let workload = Workload::new(self.seed, RECORD);
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (begun, before) = (clock::wall(), clock::process_cpu());
        runtime.block_on(publish(self.port, self.qos, self.messages, &workload))?;
        println!("done {} {}", begun.elapsed().as_nanos(), clock::process_cpu().saturating_sub(before).as_nanos());
        // It stays until the bench has looked at the broker.
        io::stdin().read_to_end(&mut Vec::new())?;
        Ok(())
    }
}

/// Publishes all messages to a broker, from a process of its own, and has the subscriber come for them.
pub(super) fn run(program: &Path, qos: Qos, messages: u64, seed: u64, home: &Path, log: &File) -> Result<Run> {
    let broker = Broker::start(program, home, log)?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(subscribe(broker.port, qos))?;
    let cpu = || Ok::<_, anyhow::Error>(cpu::of_process(broker.id())?.values().sum::<Duration>());
    let before = cpu()?;
    let mut arguments = vec!["mqtt-client".to_owned(), qos.argument().to_owned(), format!("--port={}", broker.port)];
    arguments.extend([format!("--messages={messages}"), format!("--seed={seed}")]);
    let mut client = Conversation::start(&arguments, log)?;
    let done = client.hear("done ")?;
    let server = cpu()?.saturating_sub(before).as_secs_f64();
    client.finish()?;
    let (elapsed, client) = done.split_once(' ').context("two numbers")?;
    let seconds = |nanoseconds: &str| Ok::<_, anyhow::Error>(Duration::from_nanos(nanoseconds.parse()?).as_secs_f64());
    let errors = runtime.block_on(collect(broker.port, messages, &Workload::new(seed, RECORD)))?;
    Ok(Run { records: messages, seconds: seconds(elapsed)?, client: seconds(client)?, server, errors })
}

fn connect(port: u16, name: &str, clean: bool) -> (AsyncClient, EventLoop) {
    let mut options = MqttOptions::new(name, "127.0.0.1", port);
    options.set_inflight(IN_FLIGHT).set_clean_session(clean).set_keep_alive(Duration::from_secs(600));
    AsyncClient::new(options, usize::from(IN_FLIGHT))
}

async fn publish(port: u16, qos: Qos, messages: u64, workload: &Workload) -> Result<()> {
    let (client, mut events) = connect(port, "publisher", true);
    let mut confirmed = 0;
    let publisher = async {
        let mut payload = vec![0; RECORD];
        for number in 0..messages {
            fill(&mut payload, workload, number);
            client.publish(TOPIC, qos.level(), false, payload.clone()).await?;
        }
        // Kept until all are confirmed: without a client the other half ends.
        Ok::<_, anyhow::Error>(())
    };
    let confirmations = async {
        while confirmed < messages {
            if let Event::Incoming(Packet::PubAck(_) | Packet::PubComp(_)) = next(&mut events).await? {
                confirmed += 1;
            }
        }
        Ok::<_, anyhow::Error>(())
    };
    tokio::try_join!(publisher, confirmations)?;
    Ok(())
}

/// Leaves a subscription behind, for which the broker keeps what is published.
async fn subscribe(port: u16, qos: Qos) -> Result<()> {
    let (client, mut events) = connect(port, "subscriber", false);
    client.subscribe(TOPIC, qos.level()).await?;
    while !matches!(next(&mut events).await?, Event::Incoming(Packet::SubAck(_))) {}
    client.disconnect().await?;
    // It says when the connection is gone, by an error.
    while next(&mut events).await.is_ok() {}
    Ok(())
}

/// Takes what the broker kept: how many are not what was published next, and how many are missing.
async fn collect(port: u16, messages: u64, workload: &Workload) -> Result<u64> {
    let (_client, mut events) = connect(port, "subscriber", false);
    let (mut taken, mut wrong) = (0, 0);
    while taken < messages {
        if let Event::Incoming(Packet::Publish(publish)) = next(&mut events).await? {
            wrong += u64::from(!workload.is_record(taken, &publish.payload));
            taken += 1;
        }
    }
    Ok(wrong)
}

async fn next(events: &mut EventLoop) -> Result<Event> {
    match tokio::time::timeout(PATIENCE, events.poll()).await {
        Ok(event) => Ok(event?),
        Err(_) => bail!("the broker said nothing for {PATIENCE:?}"),
    }
}

fn fill(payload: &mut [u8], workload: &Workload, number: u64) {
    payload[..HEAD].copy_from_slice(&workload.head(number));
    payload[HEAD..].copy_from_slice(workload.body(number));
}
