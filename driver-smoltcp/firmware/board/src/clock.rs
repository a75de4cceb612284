//! The time since the start, from SysTick: an interrupt each millisecond, and the counter between two of them.

use crate::boards::HERTZ;
use core::sync::atomic::{AtomicU32, Ordering};
use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m_rt::exception;
use smoltcp::time::Instant;

const TICKS_PER_MS: u32 = HERTZ / 1000;

static MILLISECONDS: AtomicU32 = AtomicU32::new(0);

#[exception]
fn SysTick() {
    // One core, and nobody else writes: no read-modify-write is needed, which a Cortex-M0 has none of.
    MILLISECONDS.store(MILLISECONDS.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// A clock that never goes back.
pub struct Clock {
    /// Milliseconds counted before the 32-bit count wrapped, and its last reading.
    wrapped: u64,
    counted: u32,
    last: i64,
}

impl Clock {
    /// Has SysTick count.
    pub fn start(mut systick: SYST) -> Self {
        systick.set_clock_source(SystClkSource::Core);
        systick.set_reload(TICKS_PER_MS - 1);
        systick.clear_current();
        systick.enable_interrupt();
        systick.enable_counter();
        Self { wrapped: 0, counted: 0, last: 0 }
    }

    /// The time since the start.
    pub fn now(&mut self) -> Instant {
        let (ms, ticks) = loop {
            let before = MILLISECONDS.load(Ordering::Relaxed);
            let left = SYST::get_current();
            if MILLISECONDS.load(Ordering::Relaxed) == before {
                break (before, TICKS_PER_MS.saturating_sub(1).saturating_sub(left));
            }
        };
        if ms < self.counted {
            self.wrapped += 1 << 32;
        }
        self.counted = ms;
        let micros = (self.wrapped + u64::from(ms)) * 1000 + u64::from(ticks) * 1000 / u64::from(TICKS_PER_MS);
        // The counter wraps a moment before the interrupt is taken: that moment seems a millisecond earlier than it is.
        self.last = self.last.max(i64::try_from(micros).unwrap_or(i64::MAX));
        Instant::from_micros(self.last)
    }
}
