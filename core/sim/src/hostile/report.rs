//! What an attack came to.

use std::collections::BTreeMap;

/// What the attacked end did, and how often.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Datagrams of the raw peer.
    pub datagrams: u64,
    /// What came of them: "accepted", "answered", or the name of a `Discard` or `Fault`.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Nanoseconds that each of them took, by the clock that the stage was given.
    pub costs: Vec<u64>,
    /// The most that the driver was asked for one of them.
    pub most_calls: u64,
    /// Packets that the raw peer got.
    pub sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Times that a timer fired or a datagram of the real peer arrived.
    pub turns: u64,
    /// Records of the real peer that were stored meanwhile.
    pub served: u64,
}

impl Report {
    pub(super) fn note(&mut self, outcome: &'static str, cost: u64, calls: u64) {
        self.datagrams += 1;
        *self.outcomes.entry(outcome).or_default() += 1;
        self.costs.push(cost);
        self.most_calls = self.most_calls.max(calls);
    }
}
