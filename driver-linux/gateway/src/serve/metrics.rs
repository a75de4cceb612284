//! `/metrics`: what `status` tells, in the text form that Prometheus reads.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::counters::{about, is_by_reason};
use super::health::Subject;
use crate::status::Report;

/// What the text is, for HTTP.
pub(super) const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// A report as metrics.
///
/// # Errors
/// Memory could not be had.
pub(super) fn text(report: Report) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("tallylink");
    registry.register_collector(Box::new(Metrics(report)));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Metrics(Report);

impl Collector for Metrics {
    fn encode(&self, mut to: DescriptorEncoder<'_>) -> fmt::Result {
        let report = &self.0;
        gauge(&mut to, "ready", "1 if records are taken and stored", u64::from(report.ready))?;
        troubles(&mut to, report)?;
        gauge(&mut to, "up_seconds", "Since the gateway began", report.up_seconds)?;
        gauge(&mut to, "peers_provisioned", "Peers of the key store", report.peers_provisioned)?;
        gauge(&mut to, "queue_waiting_bytes", "Bytes that wait for the disk", report.queue.waiting_bytes)?;
        gauge(&mut to, "queue_capacity_bytes", "Bytes that may wait for the disk", report.queue.capacity_bytes)?;
        gauge(&mut to, "journal_size_bytes", "Bytes of all journal segments", report.disk.journal_bytes)?;
        if let Some(free) = report.disk.free_bytes {
            gauge(&mut to, "disk_free_bytes", "Bytes that are free on the disk of the journal", free)?;
        }
        let longest = report.disk.longest_call_us as f64 / 1e6;
        let about = "The longest that a call of the disk took";
        let metric = to.encode_descriptor("disk_longest_call_seconds", about, None, MetricType::Gauge)?;
        ConstGauge::new(longest).encode(metric)?;
        if let Some(drops) = report.sockets.iter().map(|socket| socket.kernel_drops).sum::<Option<u64>>() {
            let about = "Datagrams that the kernel dropped because the receive buffer was full";
            let metric = to.encode_descriptor("socket_kernel_drops", about, None, MetricType::Counter)?;
            ConstCounter::new(drops).encode(metric)?;
        }
        counters(&mut to, report)
    }
}

fn gauge(to: &mut DescriptorEncoder<'_>, name: &str, about: &str, value: u64) -> fmt::Result {
    let metric = to.encode_descriptor(name, about, None, MetricType::Gauge)?;
    ConstGauge::new(value).encode(metric)
}

/// One line for each subject, so that an alert can name it before it ever happened.
fn troubles(to: &mut DescriptorEncoder<'_>, report: &Report) -> fmt::Result {
    let mut metric = to.encode_descriptor("trouble", "1 if that is wrong; see `status`", None, MetricType::Gauge)?;
    for subject in Subject::ALL.map(Subject::name).into_iter().chain(["disk"]) {
        let wrong = report.troubles.iter().any(|trouble| trouble.subject == subject);
        ConstGauge::new(u64::from(wrong)).encode(metric.encode_family(&[("subject", subject)])?)?;
    }
    Ok(())
}

fn counters(to: &mut DescriptorEncoder<'_>, report: &Report) -> fmt::Result {
    for (subject, counts) in &report.counters {
        if is_by_reason(subject) {
            let mut metric = to.encode_descriptor(subject, about(subject), None, MetricType::Counter)?;
            for (reason, count) in counts {
                ConstCounter::new(*count).encode(metric.encode_family(&[("reason", reason.as_str())])?)?;
            }
            continue;
        }
        for (name, count) in counts {
            let about = format!("{}: {}", about(subject), name.replace('_', " "));
            let name = format!("{subject}_{name}");
            let metric = to.encode_descriptor(&name, &about, None, MetricType::Counter)?;
            ConstCounter::new(*count).encode(metric)?;
        }
    }
    Ok(())
}
