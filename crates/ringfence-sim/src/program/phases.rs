//! Compute-and-memory phases with a barrier after each.

use ringfence_scenario::model::{self, Pattern};

use super::barriers::Barriers;
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

impl Share {
    fn works(&self) -> bool {
        self.accesses > 0 || self.compute_ps > 0
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Phases {
    shares: Vec<Share>,
    barriers: Barriers,
    /// Operations done in this phase.
    done: u64,
    seed: u64,
    random: SplitMix64,
}

impl Phases {
    /// Sequential phases walk a part of the region for each thread, random ones all of it.
    pub(super) fn new(task: &Task, phases: &[model::Phase], thread: u16) -> Self {
        let size = |range: std::ops::Range<u64>| range.end - range.start;
        let lines = |bytes: u64| bytes.div_ceil(task.line_bytes.into());
        let shares: Vec<Share> = phases
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
            barriers: Barriers::new(
                shares.len(),
                task.endless && shares.iter().any(Share::works),
            ),
            shares,
            done: 0,
            seed,
            random: SplitMix64::new(seed),
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Op> {
        let share = loop {
            let share = self.shares[self.barriers.phase()?];
            if self.done < share.accesses.max(1) {
                break share;
            }
            self.barriers.arrive();
            self.done = 0;
        };
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
        self.barriers.has_next()
    }

    pub(super) fn resume(&mut self) {
        self.barriers.resume();
    }

    pub(super) fn begin_job(&mut self, job: u32) {
        self.barriers.begin_job();
        self.done = 0;
        self.random = SplitMix64::new(self.seed.wrapping_add(job.into()));
    }
}

/// What step `n` of `steps` gets of `total` when it is spread evenly.
#[inline]
fn spread(total: u64, steps: u64, n: u64) -> u64 {
    let until = |n: u64| u128::from(total) * u128::from(n) / u128::from(steps);
    (until(n + 1) - until(n)) as u64
}
