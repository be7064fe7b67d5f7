//! What the counters say about threads and about time.

use std::collections::BTreeSet;

use ringfence_record::event::Counters;

use crate::case::{CaseRun, CoreRun, Sample};
use crate::statistics::BandwidthPoint;

/// Best-effort bytes that a thread read and wrote; `None` when the samples of
/// some core do not tell it from another thread.
///
/// Counters belong to cores. What a core moved between two samples is a
/// thread's when no other best-effort thread ran there in between. When none
/// ran, it is a late write-back of the one that ran last.
pub(crate) fn of_thread(run: &CaseRun, thread: u16) -> Option<(u64, u64)> {
    let cores: BTreeSet<u16> = run.threads[usize::from(thread)]
        .occupations
        .iter()
        .map(|on| on.core)
        .collect();
    let (mut read_bytes, mut write_bytes) = (0_u64, 0_u64);
    for core in cores {
        let course = &run.cores[usize::from(core)];
        let mut before = START;
        let mut last = None;
        for sample in &course.samples {
            let (a, b) = (before.counters, sample.counters);
            let read = b.best_effort_read_bytes - a.best_effort_read_bytes;
            let write = b.best_effort_write_bytes - a.best_effort_write_bytes;
            let mut ran = best_effort_between(run, course, before.time_ns, sample.time_ns);
            if ran.is_empty() {
                ran.extend(last);
            }
            if ran.contains(&thread) && (read > 0 || write > 0) {
                if ran.iter().any(|other| *other != thread) {
                    return None;
                }
                read_bytes = read_bytes.saturating_add(read);
                write_bytes = write_bytes.saturating_add(write);
            }
            last = ran.last().copied();
            before = *sample;
        }
    }
    Some((read_bytes, write_bytes))
}

/// Before the first sample all totals are zero.
const START: Sample = Sample {
    time_ns: 0,
    counters: Counters {
        read_bytes: 0,
        write_bytes: 0,
        best_effort_read_bytes: 0,
        best_effort_write_bytes: 0,
        llc_accesses: 0,
        llc_misses: 0,
    },
};

/// Best-effort threads that ran on a core in `[from_ns, to_ns)`, in the order of time.
fn best_effort_between(run: &CaseRun, course: &CoreRun, from_ns: u64, to_ns: u64) -> Vec<u16> {
    let first = course.occupations.partition_point(|on| on.to_ns <= from_ns);
    course.occupations[first..]
        .iter()
        .take_while(|on| on.from_ns < to_ns)
        .map(|on| on.thread)
        .filter(|thread| run.is_best_effort(*thread))
        .collect()
}

/// Traffic between samples, neighbours joined to at most `points` points.
pub(crate) fn bandwidth(samples: &[Sample], points: usize) -> Vec<BandwidthPoint> {
    let joined = samples.len().div_ceil(points).max(1);
    let mut before = START;
    samples
        .chunks(joined)
        .filter_map(|chunk| {
            let last = *chunk.last()?;
            let (a, b) = (before.counters, last.counters);
            let point = BandwidthPoint {
                from_ns: before.time_ns,
                to_ns: last.time_ns,
                read_bytes: b.read_bytes - a.read_bytes,
                write_bytes: b.write_bytes - a.write_bytes,
                best_effort_read_bytes: b.best_effort_read_bytes - a.best_effort_read_bytes,
                best_effort_write_bytes: b.best_effort_write_bytes - a.best_effort_write_bytes,
            };
            if point.from_ns == point.to_ns {
                return None;
            }
            before = last;
            Some(point)
        })
        .collect()
}
