//! Holds best-effort work to a share of each period: a thread on each core that is above it
//! and below all gangs, and turns round while best-effort work has had its share.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::channel;
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use ringfence_policy::regulator::Budget;
use ringfence_workloads::{clock, cpu};

use super::event_queue::{Hearer, Teller, event_queue};
use crate::live::Board;
use crate::scheduler::{Event, What};
use crate::sys;

/// Priority of its threads in SCHED_FIFO.
pub const PRIORITY: i32 = 1;
/// No gang runs.
const NO_GANG: u64 = u64::MAX;
/// A gang runs that tolerates everything.
const UNLIMITED: u64 = u64::MAX - 1;

/// The threads, until this is dropped.
#[derive(Debug)]
pub struct Throttle {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    events: Vec<Hearer>,
}

/// Sets how much best-effort work is allowed.
#[derive(Debug)]
pub struct Level {
    shared: Arc<Shared>,
    threads: Vec<Thread>,
}

#[derive(Debug)]
struct Shared {
    origin_ns: u64,
    period_ns: u64,
    /// Of each period, or [`NO_GANG`], or [`UNLIMITED`].
    allowed_ns: AtomicU64,
    has_ended: AtomicBool,
    told: Told,
}

/// How others learn what is throttled.
#[derive(Debug)]
pub struct Told {
    /// Order of all that is told.
    pub sequence: Arc<AtomicU64>,
    /// Where they see it.
    pub board: Arc<Board>,
}

impl Throttle {
    /// Starts a thread on each of `cores`; no gang runs yet. Periods begin at `origin_ns`.
    ///
    /// # Errors
    /// It is not allowed.
    pub fn start(cores: &[u16], period_ns: u64, origin_ns: u64, told: Told) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            origin_ns,
            period_ns,
            allowed_ns: AtomicU64::new(NO_GANG),
            has_ended: AtomicBool::new(false),
            told,
        });
        let mut throttle = Self {
            shared,
            threads: Vec::new(),
            events: Vec::new(),
        };
        for &core in cores {
            throttle.start_on(core)?;
        }
        Ok(throttle)
    }

    fn start_on(&mut self, core: u16) -> io::Result<()> {
        let (mut teller, hearer) = event_queue();
        let (ready, is_ready) = channel();
        let shared = Arc::clone(&self.shared);
        let builder = std::thread::Builder::new().name(format!("rf-throttle-{core}"));
        self.threads.push(builder.spawn(move || {
            let prepared =
                cpu::pin(core).and_then(|()| sys::set_class(0, libc::SCHED_FIFO, PRIORITY));
            let is_prepared = prepared.is_ok();
            let _ = ready.send(prepared);
            if is_prepared {
                shared.live(core, &mut teller);
            }
        })?);
        self.events.push(hearer);
        let prepared = is_ready.recv();
        prepared.unwrap_or_else(|_| Err(io::Error::other("a throttle thread has panicked")))
    }

    /// What sets how much is allowed.
    pub fn level(&self) -> Level {
        let threads = self.threads.iter();
        Level {
            shared: Arc::clone(&self.shared),
            threads: threads.map(|thread| thread.thread().clone()).collect(),
        }
    }

    /// What was throttled since it was last asked.
    pub fn events(&mut self) -> impl Iterator<Item = Event> {
        self.events.iter_mut().flat_map(Hearer::events)
    }

    /// How many events found no place so far.
    pub fn lost(&self) -> u64 {
        self.events.iter().map(Hearer::lost).sum()
    }
}

impl Level {
    /// Takes over the strictest tolerance of the gangs that run now, in nanoseconds of each
    /// period; `None` when none runs.
    pub fn set(&self, threshold: Option<Budget>) {
        let allowed_ns = threshold.map_or(NO_GANG, |budget| budget.reads.min(UNLIMITED));
        let limit_ns = Some(allowed_ns).filter(|&time_ns| time_ns < self.shared.period_ns);
        self.shared.told.board.set_allowed_ns(limit_ns);
        if self.shared.allowed_ns.swap(allowed_ns, Relaxed) != allowed_ns {
            self.wake();
        }
    }

    fn wake(&self) {
        for thread in &self.threads {
            thread.unpark();
        }
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Relaxed);
        self.level().wake();
        for thread in self.threads.drain(..) {
            // One that has panicked throttles nothing any more.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn live(&self, core: u16, events: &mut Teller) {
        while !self.has_ended.load(Relaxed) {
            let allowed_ns = self.allowed_ns.load(Relaxed);
            if allowed_ns >= self.period_ns {
                std::thread::park();
                continue;
            }
            let now_ns = clock::now_ns();
            let into_ns = now_ns.saturating_sub(self.origin_ns) % self.period_ns;
            if into_ns < allowed_ns {
                std::thread::park_timeout(Duration::from_nanos(allowed_ns - into_ns));
                continue;
            }
            self.keep_off(core, now_ns - into_ns + self.period_ns, events);
        }
    }

    /// Best-effort work has had its share of the period that ends at `end_ns`.
    fn keep_off(&self, core: u16, end_ns: u64, events: &mut Teller) {
        self.tell(events, What::Throttled { cpu: core });
        self.told.board.set_throttled(core, true);
        self.told.board.count_throttled(core);
        let no_gang = loop {
            if self.has_ended.load(Relaxed) || self.allowed_ns.load(Relaxed) >= self.period_ns {
                break true;
            }
            if clock::now_ns() >= end_ns {
                break false;
            }
            std::hint::spin_loop();
        };
        self.told.board.set_throttled(core, false);
        self.tell(events, What::Unthrottled { cpu: core, no_gang });
    }

    fn tell(&self, events: &mut Teller, what: What) {
        let event = Event {
            time_ns: clock::now_ns(),
            sequence: self.told.sequence.fetch_add(1, Relaxed),
            what,
        };
        events.tell(event);
    }
}
