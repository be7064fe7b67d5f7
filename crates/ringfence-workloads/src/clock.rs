//! Clocks: CLOCK_MONOTONIC for when, the thread's own for how long it has run.

use std::num::NonZeroU64;

use rustix::thread::{ClockId as SleepClock, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// CLOCK_MONOTONIC in nanoseconds.
pub fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Time that the calling thread has been on a processor, in nanoseconds: what others
/// run meanwhile does not count.
pub fn thread_time_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// Time that all threads of this process have been on a processor, in nanoseconds.
pub fn process_time_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// Has sleeps of the calling thread end when they are to: the system may add 50 us to those of a
/// thread that is not real-time.
pub fn wake_in_time() {
    // Where that is refused, sleeps stay as they are.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Sleeps until CLOCK_MONOTONIC is at `at_ns`, and not at all if it is.
///
/// Signals do not end the sleep: their handlers run and it goes on.
pub fn sleep_until(at_ns: u64) {
    let at = timespec(at_ns);
    while clock_nanosleep_absolute(SleepClock::Monotonic, &at).is_err() {}
}

/// A time of CLOCK_MONOTONIC as the system takes it.
pub fn timespec(at_ns: u64) -> Timespec {
    Timespec {
        tv_sec: (at_ns / 1_000_000_000) as i64,
        tv_nsec: (at_ns % 1_000_000_000) as _,
    }
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
