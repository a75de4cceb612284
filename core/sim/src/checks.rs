//! What must hold when everything is said and done, and after each crash.

use crate::ledger::Ledger;
use crate::log::Log;
use crate::world::World;

impl World {
    /// True when everything that was pushed is STORED.
    pub(crate) fn finished(&mut self) -> bool {
        (0..self.plan.streams.len()).all(|stream| {
            let end = self.plan.streams[stream].sender;
            self.sending(end, stream).is_some_and(|mut s| s.finished())
        })
    }

    /// What is not finished.
    pub(crate) fn unfinished(&mut self) -> String {
        let mut what = String::from("not everything was stored in time:");
        for stream in 0..self.plan.streams.len() {
            let end = self.plan.streams[stream].sender;
            if let Some(mut sending) = self.sending(end, stream)
                && !sending.finished()
            {
                what += &format!(" stream {stream} of end {end};");
            }
        }
        what
    }

    /// Reads every journal from its beginning, and holds it against what was pushed and what was confirmed.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let ledger = self.shared.ledger.borrow();
        for (stream, plan) in self.plan.streams.iter().enumerate() {
            if ledger.receiver_keeps[stream] {
                let log = &self.ends[plan.receiver].log;
                log.audit(stream, &ledger).map_err(|e| format!("stream {stream}: {e}"))?;
                confirmed_is_there(&ledger, log, stream)?;
            }
        }
        Ok(())
    }
}

/// Nothing that was confirmed may be missing.
fn confirmed_is_there(ledger: &Ledger, log: &Log, stream: usize) -> Result<(), String> {
    for source in ledger.of_stream(stream) {
        let of = ledger.source(source);
        let there = log
            .entries
            .iter()
            .filter(|e| e.stream == stream && ledger.named(stream, e.epoch) == Some(source))
            .map(|e| e.to.number)
            .next_back()
            .unwrap_or(0);
        if let Some(lost) = (there..of.told).find(|n| !ledger.may_miss(source, *n)) {
            return Err(format!("record {lost} of stream {stream} was confirmed, and is lost"));
        }
    }
    Ok(())
}
