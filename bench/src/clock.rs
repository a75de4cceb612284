//! The only place in this crate that reads a clock.
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Time on the wall, for rates and latencies.
#[expect(clippy::disallowed_methods, reason = "a measuring program reads the clock, and reads it only here")]
pub(crate) fn wall() -> Instant {
    Instant::now()
}

/// CPU that the calling thread has used since it began.
pub(crate) fn thread_cpu() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// CPU that all threads of this process, living and ended, have used.
pub(crate) fn process_cpu() -> Duration {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanoseconds)
}
