//! What a pre-emption costs and the return from it, on one CPU: under SCHED_FIFO, under the gang
//! scheduler, and for context under the kernel's normal class.
//!
//! `overhead CYCLES` prints an array in JSON, see `Found`. It wants a machine on which nothing else
//! runs. Times are in nanoseconds of the monotonic clock; tools/overhead runs it where that clock
//! counts instructions.

mod bell;
mod cycles;
mod programs;

use std::error::Error;

use ringfence_linux::scheduler::{Regulation, Scheduler, Share, Tolerance, Use};
use ringfence_linux::sys;
use serde::Serialize;

use cycles::{HIGHER, LOWER, Measured, Scheduling};

const CPU: u16 = 0;
const MOST_THREADS: usize = 4;
/// Of regulation, as scenarios have it unless they say otherwise.
const PERIOD_NS: u64 = 1_000_000;

/// One row.
#[derive(Serialize)]
struct Found {
    scheduling: &'static str,
    /// Threads of the lower priority: one is pre-empted, the others wait behind it.
    threads: usize,
    #[serde(flatten)]
    measured: Measured,
}

/// Printed at the end: until then the CPU is to be left alone.
struct Table {
    cycles: usize,
    rows: Vec<Found>,
}

impl Table {
    /// One row for each number of threads.
    fn add(&mut self, scheduling: &'static str, by: &Scheduling<'_>) -> Result<(), Box<dyn Error>> {
        for threads in 1..=MOST_THREADS {
            let measured = cycles::measure(by, threads, self.cycles)
                .map_err(|error| format!("{scheduling}, {threads} threads: {error}"))?;
            self.rows.push(Found {
                scheduling,
                threads,
                measured,
            });
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let cycles = std::env::args().nth(1).ok_or("usage: overhead CYCLES")?;
    sys::set_affinity(0, &[CPU])?;
    let mut table = Table {
        cycles: cycles.parse()?,
        rows: Vec::new(),
    };
    table.add("fifo", &Scheduling::Fifo)?;
    table.add("normal", &Scheduling::Normal)?;
    {
        let scheduler = gangs(None)?;
        table.add("gangs-unlimited", &Scheduling::Gangs(&scheduler))?;
        check(&scheduler)?;
    }
    // The share limit that scenarios have unless they say otherwise.
    let mut scheduler = gangs(Some(Share {
        limit_ns: 950_000_000,
        window_ns: 1_000_000_000,
        origin_ns: 0,
    }))?;
    table.add("gangs", &Scheduling::Gangs(&scheduler))?;
    programs::count(true)?;
    table.add("gangs-counted", &Scheduling::Gangs(&scheduler))?;
    programs::count(false)?;
    scheduler.regulate(Regulation {
        cpus: &[CPU],
        period_ns: PERIOD_NS,
        sample_every: 0,
        by: Use::Time,
    })?;
    table.add("gangs-regulated", &Scheduling::Gangs(&scheduler))?;
    check(&scheduler)?;
    println!("{}", serde_json::to_string(&table.rows)?);
    Ok(())
}

/// The gang scheduler with a partition of the CPU, and a higher and a lower gang.
fn gangs(share: Option<Share>) -> Result<Scheduler, Box<dyn Error>> {
    let mut scheduler = Scheduler::load()?;
    scheduler.add_partition(0, &[CPU], share)?;
    scheduler.attach()?;
    for priority in [LOWER, HIGHER] {
        scheduler.add_priority(0, priority, Tolerance::UNLIMITED)?;
    }
    Ok(scheduler)
}

/// Whether the scheduler did all that it does in a run.
fn check(scheduler: &Scheduler) -> Result<(), Box<dyn Error>> {
    let faults = scheduler.counters()?;
    let (ejected, lost) = (scheduler.exit_note(), scheduler.lost_events());
    if faults != Default::default() || ejected.is_some() || lost > 0 {
        let what = format!("found {faults:?}, {ejected:?} and {lost} lost events, expected none");
        return Err(what.into());
    }
    Ok(())
}
