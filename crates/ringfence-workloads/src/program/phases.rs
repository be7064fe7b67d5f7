//! Compute-and-memory phases with a barrier after each.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use ringfence_scenario::model::{self, Pattern};

use super::{Barrier, Part, ProgramError, Setting, Spread, memory};
use crate::cycles;
use crate::large_pages::SharedPages;
use ringfence_victims::random::Random;

/// A thread's share of one phase.
#[derive(Debug, Clone, Copy)]
struct Share {
    compute_cycles: u64,
    accesses: u64,
    writes: u64,
    pattern: Pattern,
    /// Lines that this thread walks.
    first: u64,
    lines: u64,
}

struct Phases {
    memory: Arc<SharedPages<AtomicU32>>,
    words_per_line: u64,
    barrier: Arc<Barrier>,
    shares: Vec<Share>,
    seed: u64,
    random: Random,
    /// Phase that comes next in endless work.
    next: usize,
}

/// Sequential phases walk a part of the region for each thread, random ones all of it.
pub(super) fn prepare(
    phases: &[model::Phase],
    setting: &Setting,
) -> Result<Vec<Box<dyn Part>>, ProgramError> {
    let regions = phases
        .iter()
        .map(|phase| setting.lines(phase.working_set_bytes));
    let lines = regions.max().unwrap_or(1);
    let memory = Arc::new(memory(lines.saturating_mul(setting.line_bytes))?.share());
    let barrier = Arc::new(Barrier::new(setting.threads));
    let threads = (0..setting.threads).map(|thread| {
        let seed = setting.random(thread).next_bits();
        Box::new(Phases {
            memory: Arc::clone(&memory),
            words_per_line: setting.words_per_line() as u64,
            barrier: Arc::clone(&barrier),
            shares: phases
                .iter()
                .map(|phase| Share::of(phase, setting, thread))
                .collect(),
            seed,
            random: Random::new(seed),
            next: 0,
        }) as Box<dyn Part>
    });
    Ok(threads.collect())
}

impl Share {
    fn of(phase: &model::Phase, setting: &Setting, thread: u16) -> Self {
        let part = |total: u64| {
            let range = setting.share(total, thread);
            range.end - range.start
        };
        let region = setting.lines(phase.working_set_bytes);
        let own = setting.share(region, thread);
        let (first, lines) = match phase.pattern {
            Pattern::Sequential if !own.is_empty() => (own.start, own.end - own.start),
            _ => (0, region),
        };
        let writes = part(phase.write_bytes.div_ceil(setting.line_bytes));
        Self {
            compute_cycles: part(phase.compute_cycles),
            accesses: writes + part(phase.read_bytes.div_ceil(setting.line_bytes)),
            writes,
            pattern: phase.pattern,
            first,
            lines,
        }
    }
}

impl Phases {
    /// This thread's part of a phase.
    fn run(&mut self, share: &Share) {
        if share.accesses == 0 {
            cycles::spend(share.compute_cycles);
        }
        let mut cycles = Spread::new(share.compute_cycles, share.accesses);
        let mut writes = Spread::new(share.writes, share.accesses);
        let mut sum = 0_u32;
        for n in 0..share.accesses {
            cycles::spend(cycles.next());
            let line = match share.pattern {
                Pattern::Sequential => share.first + n % share.lines,
                Pattern::Random => {
                    let bound = u32::try_from(share.lines).unwrap_or(u32::MAX);
                    share.first + u64::from(self.random.below(bound))
                }
            };
            let word = &self.memory[(line * self.words_per_line) as usize];
            match writes.next() {
                0 => sum = sum.wrapping_add(word.load(Relaxed)),
                _ => word.store(n as u32, Relaxed),
            }
        }
        black_box(sum);
    }
}

impl Part for Phases {
    fn job(&mut self, job: u64) {
        self.random = Random::new(self.seed.wrapping_add(job));
        for phase in 0..self.shares.len() {
            let share = self.shares[phase];
            self.run(&share);
            self.barrier.wait();
        }
    }

    fn step(&mut self) -> u64 {
        let Some(&share) = self.shares.get(self.next) else {
            return 0;
        };
        self.next = (self.next + 1) % self.shares.len();
        self.run(&share);
        share.accesses
    }
}
