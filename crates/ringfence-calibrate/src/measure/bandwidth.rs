//! Bandwidth walks, on one processor and on all.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use ringfence_workloads::aggressor::Access;

use super::{Effort, MeasureError, timed, walk};
use crate::disturbance::Watch;
use crate::figures::Levels;
use crate::statistics::Spread;
use ringfence_workloads::cpu;

/// Nanoseconds a line that is read.
pub fn read(
    bytes: u64,
    line_bytes: u64,
    effort: Effort,
    watch: &mut Watch,
) -> Result<Spread, MeasureError> {
    alone(bytes, line_bytes, Access::Read, effort, watch)
}

/// Nanoseconds a line that is written.
pub fn write(
    bytes: u64,
    line_bytes: u64,
    effort: Effort,
    watch: &mut Watch,
) -> Result<Spread, MeasureError> {
    alone(bytes, line_bytes, Access::Write, effort, watch)
}

fn alone(
    bytes: u64,
    line_bytes: u64,
    access: Access,
    effort: Effort,
    watch: &mut Watch,
) -> Result<Spread, MeasureError> {
    let mut array = walk(bytes, line_bytes, access)?;
    array.run(array.accesses_per_pass());
    Ok(timed(effort, watch, |accesses| array.run(accesses)))
}

/// Bytes a second of all `cpus` together, each in an array of its own.
pub fn all(
    cpus: &[u16],
    sizes: &Levels<u64>,
    line_bytes: u64,
    access: Access,
    effort: Effort,
) -> Result<Levels<f64>, MeasureError> {
    sizes.try_map(|&bytes| {
        let ns = together(cpus, bytes, line_bytes, access, effort)?;
        Ok(ns.iter().map(|ns| line_bytes as f64 / ns * 1e9).sum())
    })
}

/// Nanoseconds a line on each processor, all at the same time: those that have measured go on
/// walking until the last has.
fn together(
    cpus: &[u16],
    bytes: u64,
    line_bytes: u64,
    access: Access,
    effort: Effort,
) -> Result<Vec<f64>, MeasureError> {
    let start = Barrier::new(cpus.len());
    let measuring = AtomicUsize::new(cpus.len());
    let failed = AtomicBool::new(false);
    let one = |cpu: u16| -> Result<f64, MeasureError> {
        let pinned = cpu::pin(cpu).map_err(MeasureError::system("pinning to a processor"));
        let array = pinned.and_then(|()| Ok(walk(bytes, line_bytes, access)?));
        failed.fetch_or(array.is_err(), Ordering::SeqCst);
        start.wait();
        let mut array = array?;
        if failed.load(Ordering::SeqCst) {
            return Ok(f64::INFINITY);
        }
        array.run(array.accesses_per_pass());
        start.wait();
        let seen = timed(effort, &mut Watch::start(), |accesses| array.run(accesses));
        measuring.fetch_sub(1, Ordering::SeqCst);
        while measuring.load(Ordering::SeqCst) > 0 {
            array.run(1000);
        }
        Ok(seen.undisturbed())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = cpus
            .iter()
            .map(|&cpu| scope.spawn(move || one(cpu)))
            .collect();
        let results = threads.into_iter().map(|thread| {
            let result = thread.join();
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        results.collect()
    })
}
