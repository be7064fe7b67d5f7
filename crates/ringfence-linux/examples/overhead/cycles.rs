//! One cycle: a lower thread wakes a higher one, is pre-empted at once, the higher one sleeps
//! again and the lower one goes on.

use std::error::Error;
use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ringfence_linux::class::{Class, Fair};
use ringfence_linux::scheduler::{Membership, Scheduler};
use serde::Serialize;

use crate::bell::Bell;
use crate::programs::{self, Program};

pub const HIGHER: u32 = 20;
pub const LOWER: u32 = 10;

/// What a thread ends with.
pub type Done<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Who decides what runs.
pub enum Scheduling<'a> {
    /// The kernel's SCHED_FIFO.
    Fifo,
    /// The kernel's normal class; the higher thread has the most weight.
    Normal,
    /// The gang scheduler; each priority is a gang.
    Gangs(&'a Scheduler),
}

impl Scheduling<'_> {
    /// Gives the calling thread a priority.
    fn enter(&self, priority: u32) -> Done<()> {
        let nice = if priority == HIGHER { -20 } else { 0 };
        let slice_ns = None;
        match self {
            Self::Fifo => Class::Fifo { priority }.set(0)?,
            Self::Normal => Class::Other(Fair { nice, slice_ns }).set(0)?,
            Self::Gangs(scheduler) => {
                let tid = rustix::thread::gettid().as_raw_nonzero().get();
                let member = Membership {
                    partition: 0,
                    priority,
                };
                scheduler.join(tid, member)?;
            }
        }
        Ok(())
    }
}

/// What was measured many times.
#[derive(Serialize)]
pub struct Lengths {
    count: usize,
    least_ns: u64,
    /// A tenth were shorter, a tenth longer.
    low_ns: u64,
    median_ns: u64,
    high_ns: u64,
    most_ns: u64,
}

impl Lengths {
    /// Of at least one.
    fn of(mut lengths: Vec<u64>) -> Self {
        lengths.sort_unstable();
        let last = lengths.len() - 1;
        Self {
            count: lengths.len(),
            least_ns: lengths[0],
            low_ns: lengths[last / 10],
            median_ns: lengths[last / 2],
            high_ns: lengths[last - last / 10],
            most_ns: lengths[last],
        }
    }
}

/// What is known of one number of threads.
#[derive(Serialize)]
pub struct Measured {
    /// The lower thread's call that wakes the higher one, until it returns.
    cycle: Lengths,
    /// The system calls of a cycle to no effect: nobody sleeps, and nobody has to.
    calls: Lengths,
    /// Reading the clock; it is in both of the others.
    clock: Lengths,
    /// What BPF programs did in a cycle, if the kernel counts it; that makes cycles longer.
    programs: Vec<Program>,
}

/// What the threads share.
#[derive(Default)]
struct Shared {
    /// Wakes the higher thread.
    bell: Bell,
    /// What the higher thread has heard of it.
    heard: AtomicU32,
    /// Makes the lower threads runnable that wait behind the measured one.
    start: Bell,
    ready: AtomicUsize,
    /// One of those has run.
    overtaken: AtomicBool,
    ended: AtomicBool,
}

/// Measures so many cycles with so many lower threads.
///
/// # Errors
/// A thread could not get its priority, or the switches were others than those that were wanted.
pub fn measure(by: &Scheduling<'_>, threads: usize, cycles: usize) -> Done<Measured> {
    let shared = Shared::default();
    thread::scope(|scope| {
        let mut helpers = vec![scope.spawn(|| higher(by, &shared))];
        helpers.extend((1..threads).map(|_| scope.spawn(|| waiting(by, &shared))));
        let measured = scope.spawn(|| {
            let found = lower(by, &shared, threads - 1, cycles);
            // Whatever came of it: the others wait for that.
            shared.ended.store(true, Ordering::SeqCst);
            shared.start.ring(u32::MAX >> 1);
            shared.bell.ring(1);
            found
        });
        let found = measured
            .join()
            .map_err(|_| "the measured thread panicked")?;
        for helper in helpers {
            helper.join().map_err(|_| "a thread panicked")??;
        }
        found
    })
}

/// Sleeps until the bell rings, again and again.
fn higher(by: &Scheduling<'_>, shared: &Shared) -> Done<()> {
    by.enter(HIGHER)?;
    while !shared.ended.load(Ordering::SeqCst) {
        let rung = shared.bell.rung();
        shared.heard.store(rung, Ordering::SeqCst);
        shared.bell.wait(rung);
    }
    Ok(())
}

/// Waits for the CPU behind the measured thread, once it was made runnable.
fn waiting(by: &Scheduling<'_>, shared: &Shared) -> Done<()> {
    let entered = by.enter(LOWER);
    shared.ready.fetch_add(1, Ordering::SeqCst);
    entered?;
    shared.start.wait(0);
    while !shared.ended.load(Ordering::SeqCst) {
        shared.overtaken.store(true, Ordering::SeqCst);
        hint::spin_loop();
    }
    Ok(())
}

/// The thread that is pre-empted, with `behind` others that wait for the CPU.
fn lower(by: &Scheduling<'_>, shared: &Shared, behind: usize, cycles: usize) -> Done<Measured> {
    by.enter(LOWER)?;
    while shared.ready.load(Ordering::SeqCst) < behind {
        thread::sleep(Duration::from_millis(1));
    }
    // Until all sleep.
    thread::sleep(Duration::from_millis(20));
    let nobody = Bell::default();
    let clock = (0..cycles).map(|_| length(|| ())).collect();
    let calls = (0..cycles).map(|_| {
        length(|| {
            nobody.ring(1);
            nobody.wait(0);
        })
    });
    let calls = calls.collect();
    // Its equals: from now on they want the CPU and do not get it.
    let woken = shared.start.ring(behind as u32);
    if woken != behind {
        return Err(format!("found {woken} lower threads asleep, expected {behind}").into());
    }
    let before = programs::counted();
    let cycle: Vec<u64> = (0..cycles).filter_map(|_| cycle(shared)).collect();
    let programs = programs::since(&before, cycles);
    let late = cycles - cycle.len();
    let overtaken = shared.overtaken.load(Ordering::SeqCst);
    // The normal class is fair, and promises neither.
    let promises = !matches!(by, Scheduling::Normal);
    if late == cycles || promises && (late > 0 || overtaken) {
        let what = format!("{late} of {cycles} wake-ups without pre-emption");
        return Err(format!("found {what}, and an equal that overtook: {overtaken}").into());
    }
    Ok(Measured {
        cycle: Lengths::of(cycle),
        calls: Lengths::of(calls),
        clock: Lengths::of(clock),
        programs,
    })
}

/// One cycle, if the higher thread ran at once.
fn cycle(shared: &Shared) -> Option<u64> {
    let length = length(|| {
        shared.bell.ring(1);
    });
    let at_once = shared.heard.load(Ordering::SeqCst) == shared.bell.rung();
    if !at_once {
        thread::sleep(Duration::from_millis(1));
    }
    at_once.then_some(length)
}

/// How long it takes, and two readings of the clock.
fn length(what: impl FnOnce()) -> u64 {
    let before = Instant::now();
    what();
    before.elapsed().as_nanos() as u64
}
