//! CUBIC (RFC 9438) in integers: windows in bytes, times in milliseconds. Slow start is HyStart++'s.

use super::congestion::{Acked, Law, WINDOW_MAX};
use super::hystart::HyStart;
use crate::time::{Duration, Instant};

/// A window is cut to 7/10, and after a second cut below the first it gives up a further share (RFC 9438 §4.6, §4.7).
const BETA_TENTHS: u64 = 7;
/// The curve is the same from here on: no window grows for so long.
const CURVE_MS: u64 = 100_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Cubic {
    hystart: HyStart,
    /// The window before the last cut, less what fast convergence gives up, and before it does: `W_max` and `cwnd_prior`.
    plateau: u64,
    prior: u64,
    /// Congestion avoidance, once it has begun.
    stage: Option<Stage>,
}

/// A stage of congestion avoidance (RFC 9438 §4.2).
#[derive(Clone, Copy, Debug)]
struct Stage {
    start: Instant,
    /// `K`: when the curve reaches the plateau.
    reaches_ms: u64,
    /// `W_est`: the window that Reno would have.
    friendly: u64,
    /// What the divisions leave: nothing acknowledged is forgotten.
    friendly_rest: u64,
    rest: u64,
}

impl Cubic {
    pub(super) const fn new() -> Self {
        Self { hystart: HyStart::new(), plateau: 0, prior: 0, stage: None }
    }

    /// A stage begins with this window. Without a cut before it, the window is the plateau (RFC 9438 §4.8, §4.10).
    fn begin(&mut self, window: u64, now: Instant, datagram: u64) -> Stage {
        self.plateau = self.plateau.max(window);
        let below = self.plateau.saturating_sub(window).min(WINDOW_MAX);
        // K = cbrt((W_max - cwnd) / C) in seconds, with C = 0.4 and windows in datagrams.
        let cube = below.saturating_mul(2_500_000_000).checked_div(datagram).unwrap_or(0);
        Stage { start: now, reaches_ms: cube_root(cube), friendly: window, friendly_rest: 0, rest: 0 }
    }

    /// `W_cubic` at this time of a stage (RFC 9438 §4.2).
    fn curve(&self, ms: u64, reaches_ms: u64, datagram: u64) -> u64 {
        let away = ms.abs_diff(reaches_ms).min(CURVE_MS);
        let cube = away.saturating_mul(away).saturating_mul(away);
        // 0.4 datagrams for the cube of a second; divided in two steps, so that nothing overflows.
        let height = (cube / 1000).saturating_mul(datagram.saturating_mul(2)) / 5_000_000;
        match ms < reaches_ms {
            true => self.plateau.saturating_sub(height),
            false => self.plateau.saturating_add(height),
        }
    }
}

impl Law for Cubic {
    fn slow_start(&mut self, acked: &Acked, first: bool) -> Option<u64> {
        // RFC 9406 §4.3: later slow starts end where the last cut says.
        if first { self.hystart.growth(acked) } else { Some(acked.bytes) }
    }

    fn avoid(&mut self, window: u64, acked: &Acked, datagram: u64) -> u64 {
        let mut stage = match self.stage {
            Some(stage) => stage,
            None => self.begin(window, acked.now, datagram),
        };
        let bytes = acked.bytes.min(window);
        // RFC 9438 §4.3: 3 (1 - beta) / (1 + beta) datagrams a window, and a whole one once above the window before the cut.
        let tenths = if stage.friendly < self.prior { 9 } else { 17 };
        let grown = stage.friendly_rest.saturating_add(bytes.saturating_mul(datagram).saturating_mul(tenths));
        let whole = window.saturating_mul(17).max(1);
        stage.friendly = stage.friendly.saturating_add(grown.checked_div(whole).unwrap_or(0));
        stage.friendly_rest = grown.checked_rem(whole).unwrap_or(0);

        let ms = acked.now.since(stage.start).as_micros() / 1000;
        let grown = if self.curve(ms, stage.reaches_ms, datagram) < stage.friendly {
            stage.friendly
        } else {
            // RFC 9438 §4.4, §4.5: towards where the curve is a round trip ahead, by half the window at the most.
            let ahead = ms.saturating_add(acked.rtt.as_micros() / 1000);
            let target = self.curve(ahead, stage.reaches_ms, datagram).min(window.saturating_add(window >> 1));
            let share = stage.rest.saturating_add(target.saturating_sub(window).saturating_mul(bytes));
            stage.rest = share.checked_rem(window).unwrap_or(0);
            window.saturating_add(share.checked_div(window).unwrap_or(0))
        };
        self.stage = Some(stage);
        grown.max(window)
    }

    fn cut(&mut self, window: u64) -> u64 {
        self.prior = window;
        // RFC 9438 §4.7: a window that did not come back to where it was makes room for others.
        self.plateau = if window < self.plateau { window.saturating_mul(17) / 20 } else { window };
        self.stage = None;
        window.saturating_mul(BETA_TENTHS) / 10
    }

    fn idle(&mut self, spent: Duration) {
        // RFC 9438 §4.2: the curve stands still while the application has nothing to send.
        if let Some(stage) = &mut self.stage {
            stage.start = stage.start + spent;
        }
    }

    fn forget(&mut self) {
        (self.plateau, self.prior, self.stage) = (0, 0, None);
    }
}

/// The cube root, rounded down: one bit of the result at a time.
fn cube_root(of: u64) -> u64 {
    let mut root = 0u64;
    let mut bit = 1u64 << 21;
    while bit > 0 {
        let next = root | bit;
        if next.checked_mul(next).and_then(|square| square.checked_mul(next)).is_some_and(|cube| cube <= of) {
            root = next;
        }
        bit >>= 1;
    }
    root
}

#[cfg(test)]
mod tests;
