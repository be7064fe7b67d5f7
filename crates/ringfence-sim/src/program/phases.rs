//! Compute-and-memory phases with a barrier after each.

use ringfence_scenario::model::{self, Pattern};

use super::task::Task;
use super::{Access, Op, Order};
use crate::machine::Picoseconds;
use crate::random::SplitMix64;

/// A thread's share of one phase.
#[derive(Debug, Clone, Copy)]
struct Share {
    compute_ps: Picoseconds,
    accesses: u64,
    writes: u64,
    pattern: Pattern,
    /// Lines that this thread walks.
    first: u64,
    lines: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Phases {
    shares: Vec<Share>,
    phase: usize,
    /// Operations done in this phase; one more than its accesses when it has ended.
    done: u64,
    ended: bool,
    endless: bool,
    seed: u64,
    random: SplitMix64,
}

impl Phases {
    /// Sequential phases walk a part of the region for each thread, random ones all of it.
    pub(super) fn new(task: &Task, phases: &[model::Phase], thread: u16) -> Self {
        let size = |range: std::ops::Range<u64>| range.end - range.start;
        let lines = |bytes: u64| bytes.div_ceil(task.line_bytes.into());
        let shares = phases
            .iter()
            .map(|phase| {
                let region = task.lines(phase.working_set_bytes);
                let part = task.share(region, thread);
                let (first, lines_walked) = match phase.pattern {
                    Pattern::Sequential if !part.is_empty() => (part.start, size(part)),
                    _ => (0, region),
                };
                let writes = size(task.share(lines(phase.write_bytes), thread));
                Share {
                    compute_ps: task
                        .clock
                        .cycles(size(task.share(phase.compute_cycles, thread))),
                    accesses: writes + size(task.share(lines(phase.read_bytes), thread)),
                    writes,
                    pattern: phase.pattern,
                    first,
                    lines: lines_walked,
                }
            })
            .collect();
        let seed = task.random(thread).next_u64();
        Self {
            shares,
            phase: 0,
            done: 0,
            ended: false,
            endless: task.endless,
            seed,
            random: SplitMix64::new(seed),
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Op> {
        if self.ended {
            return None;
        }
        let share = *self.shares.get(self.phase)?;
        if self.done >= share.accesses.max(1) {
            if !self.endless {
                self.ended = true;
                return None;
            }
            self.phase = if self.has_next() { self.phase + 1 } else { 0 };
            self.done = 0;
            return self.next();
        }
        let n = self.done;
        self.done += 1;
        let line = match share.pattern {
            Pattern::Sequential => share.first + n % share.lines,
            Pattern::Random => share.first + self.random.below(share.lines),
        };
        let access = if share.accesses == 0 {
            Access::None
        } else if spread(share.writes, share.accesses, n) > 0 {
            Access::Store
        } else {
            Access::Load
        };
        Some(Op {
            compute_ps: spread(share.compute_ps, share.accesses.max(1), n),
            line,
            access,
            order: Order::Independent,
        })
    }

    pub(super) fn has_next(&self) -> bool {
        self.phase + 1 < self.shares.len()
    }

    /// Goes on with the next phase after an end.
    pub(super) fn resume(&mut self) {
        if self.ended && self.has_next() {
            self.phase += 1;
            self.done = 0;
            self.ended = false;
        }
    }

    pub(super) fn begin_job(&mut self, job: u32) {
        self.phase = 0;
        self.done = 0;
        self.ended = false;
        self.random = SplitMix64::new(self.seed.wrapping_add(job.into()));
    }
}

/// What step `n` of `steps` gets of `total` when it is spread evenly.
#[inline]
fn spread(total: u64, steps: u64, n: u64) -> u64 {
    let until = |n: u64| u128::from(total) * u128::from(n) / u128::from(steps);
    (until(n + 1) - until(n)) as u64
}
