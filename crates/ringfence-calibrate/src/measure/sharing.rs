//! Which processors share the last-level cache.

use std::thread;

use ringfence_workloads::aggressor::Access;

use super::{Effort, MeasureError, lists, walk};
use crate::figures::{Levels, Sharing};
use crate::statistics::Spread;
use ringfence_workloads::cpu;
use ringfence_workloads::inventory::Cache;

/// Lets each other processor fetch an array of `bytes` and then the first one chase through
/// it: a hit says that both use the same cache. One runs after the other, never beside it.
pub fn measure(
    cpus: &[u16],
    private: &Cache,
    bytes: u64,
    latency_ns: &Levels<Spread>,
    effort: Effort,
) -> Result<Vec<Sharing>, MeasureError> {
    let (hit, miss) = (latency_ns.llc.undisturbed(), latency_ns.dram.undisturbed());
    let Some((&first, others)) = cpus.split_first() else {
        return Ok(Vec::new());
    };
    let mut sharing = Vec::new();
    for &cpu in others {
        let mut ns = Vec::new();
        for _ in 0..effort.repetitions().min(5) {
            ns.push(fetched_by(cpu, first, private, bytes)?);
        }
        let ns = Spread::of(ns).undisturbed();
        sharing.push(Sharing {
            cpu,
            ns,
            is_shared: ns < (hit * miss).sqrt(),
        });
    }
    Ok(sharing)
}

/// Nanoseconds of the loads of `reader` after `fetcher` has fetched all lines.
fn fetched_by(fetcher: u16, reader: u16, private: &Cache, bytes: u64) -> Result<f64, MeasureError> {
    let on = |cpu: u16| cpu::pin(cpu).map_err(MeasureError::system("pinning to a processor"));
    // Each in a thread of its own, which starts and ends on its processor.
    let mut chase = run(|| {
        on(fetcher)?;
        let mut chase = lists(bytes, private.line_bytes, 1)?;
        chase.run(chase.accesses_per_pass() * 3);
        // Out of its private cache.
        let mut other = walk(private.size_bytes * 2, private.line_bytes, Access::Read)?;
        other.run(other.accesses_per_pass());
        Ok::<_, MeasureError>(chase)
    })?;
    run(move || {
        on(reader)?;
        // Half a pass: one that went on would meet its own lines.
        let half = chase.accesses_per_pass() / 2;
        let start = std::time::Instant::now();
        let made = chase.run(half);
        Ok(start.elapsed().as_nanos() as f64 / made as f64)
    })
}

fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let joined = scope.spawn(work).join();
        joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
