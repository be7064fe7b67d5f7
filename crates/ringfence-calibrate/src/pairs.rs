//! Programs side by side: a victim on one processor, an aggressor on another.
//!
//! Every round times the victim alone and then beside the aggressor, so that a machine
//! that becomes slower or faster changes both.

use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Instant;

use ringfence_workloads::aggressor::{Access, Kind, Shape, Walk};
use serde::Serialize;

use crate::disturbance::{Watch, involuntary_switches, involuntary_switches_of_thread};
use crate::figures::Levels;
use crate::measure::{ATTEMPTS, Effort, MeasureError};
use crate::statistics::Spread;
use ringfence_workloads::cpu;

/// A program of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Name as papers on contention use it, such as `BwRead(DRAM)`.
    pub name: &'static str,
    /// What it does.
    pub shape: Shape,
}

/// What runs side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Whose time is taken.
    pub victim: Program,
    /// What runs on the other processor; `None` is nothing, which shows what the
    /// measurement is worth.
    pub aggressor: Option<Program>,
}

/// What a pair showed. Times are nanoseconds of one access of the victim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slowdown {
    /// Alone.
    pub alone_ns: Spread,
    /// Beside the aggressor.
    pub beside_ns: Spread,
    /// The second over the first of each round.
    pub factor: Spread,
}

/// Lists of an aggressor that walks several.
const AGGRESSOR_LISTS: usize = 6;

/// The pairs to compare, for arrays of these sizes: every victim beside nothing and beside every
/// aggressor. Two walks that read the same level are left out, as calibration uses them.
pub fn pairs(sizes: &Levels<u64>, line_bytes: u64) -> Vec<Pair> {
    let program = |name, kind, access, size_bytes| Program {
        name,
        shape: Shape {
            kind,
            access,
            size_bytes,
            line_bytes,
        },
    };
    let lists = |lists| Kind::LinkedLists { lists, bank: None };
    let victims = [
        program("Chase(LLC)", lists(1), Access::Read, sizes.llc),
        program("Chase(DRAM)", lists(1), Access::Read, sizes.dram),
        program("BwRead(LLC)", Kind::Bandwidth, Access::Read, sizes.llc),
        program("BwRead(DRAM)", Kind::Bandwidth, Access::Read, sizes.dram),
    ];
    let aggressors = [
        program("BwRead(LLC)", Kind::Bandwidth, Access::Read, sizes.llc),
        program("BwRead(DRAM)", Kind::Bandwidth, Access::Read, sizes.dram),
        program("BwWrite(DRAM)", Kind::Bandwidth, Access::Write, sizes.dram),
        program(
            "PLLRead(DRAM)",
            lists(AGGRESSOR_LISTS),
            Access::Read,
            sizes.dram,
        ),
        program(
            "PLLWrite(DRAM)",
            lists(AGGRESSOR_LISTS),
            Access::Write,
            sizes.dram,
        ),
    ];
    let mut pairs = Vec::new();
    for victim in &victims {
        let beside = aggressors.iter().filter(|other| other.name != victim.name);
        let beside = std::iter::once(None).chain(beside.cloned().map(Some));
        pairs.extend(beside.map(|aggressor| Pair {
            victim: victim.clone(),
            aggressor,
        }));
    }
    pairs
}

/// Runs `pair` on the processors `cpus`; the calling thread stays pinned to the first.
/// `llc_bytes` is the last-level cache, which an aggressor fills before anything is timed.
///
/// # Errors
/// When the system refuses memory or a processor.
pub fn measure(
    pair: &Pair,
    cpus: [u16; 2],
    llc_bytes: u64,
    effort: Effort,
    watch: &mut Watch,
) -> Result<Slowdown, MeasureError> {
    cpu::pin(cpus[0]).map_err(MeasureError::system("pinning to a processor"))?;
    let mut victim = Victim::new(&pair.victim.shape, llc_bytes, effort)?;
    let Some(aggressor) = &pair.aggressor else {
        return Ok(run_rounds(&mut victim, None, effort, watch));
    };
    let mut walk = Walk::new(&aggressor.shape)?;
    let llc_lines = llc_bytes / aggressor.shape.line_bytes;
    let state = State::default();
    thread::scope(|scope| {
        let runner = scope.spawn(|| -> Result<(), MeasureError> {
            let pinned = cpu::pin(cpus[1]);
            state.serve(pinned.is_ok(), &mut walk);
            pinned.map_err(MeasureError::system("pinning to a processor"))
        });
        let control = Control {
            state: &state,
            thread: runner.thread().clone(),
            warm_accesses: llc_lines,
        };
        let seen = run_rounds(&mut victim, Some(&control), effort, watch);
        control.order(Order::End);
        let ended = runner.join();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(seen)
    })
}

fn run_rounds(
    victim: &mut Victim,
    aggressor: Option<&Control<'_>>,
    effort: Effort,
    watch: &mut Watch,
) -> Slowdown {
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    while kept.len() < effort.repetitions()
        && kept.len() + dropped.len() < ATTEMPTS * effort.repetitions()
    {
        let (alone, is_calm) = victim.slice(None);
        if let Some(aggressor) = aggressor {
            aggressor.run();
        }
        let (beside, is_calm_beside) = victim.slice(aggressor);
        if let Some(aggressor) = aggressor {
            aggressor.rest();
        }
        let is_kept = is_calm && is_calm_beside;
        watch.slice(is_kept);
        match is_kept {
            true => kept.push((alone, beside)),
            false => dropped.push((alone, beside)),
        }
    }
    if kept.len() < effort.repetitions().div_ceil(2) {
        kept.append(&mut dropped);
    }
    let of = |value: fn(&(f64, f64)) -> f64| Spread::of(kept.iter().map(value).collect());
    Slowdown {
        alone_ns: of(|&(alone, _)| alone),
        beside_ns: of(|&(_, beside)| beside),
        factor: of(|&(alone, beside)| beside / alone),
    }
}

/// The program whose time is taken.
struct Victim {
    walk: Walk,
    /// Accesses that put its array into the cache, if it fits.
    warm_accesses: u64,
    slice_accesses: u64,
}

impl Victim {
    fn new(shape: &Shape, llc_bytes: u64, effort: Effort) -> Result<Self, MeasureError> {
        let mut walk = Walk::new(shape)?;
        let pass = walk.accesses_per_pass();
        let warm_accesses = if shape.size_bytes <= llc_bytes {
            pass
        } else {
            0
        };
        // What making the array has left in the cache goes out.
        walk.run((2 * pass).min(llc_bytes / shape.line_bytes));
        let start = Instant::now();
        let made = walk.run(100_000);
        let ns = start.elapsed().as_nanos().max(1) as f64 / made as f64;
        let slice_ns = effort.slice().as_nanos() as f64;
        Ok(Self {
            walk,
            warm_accesses,
            slice_accesses: (slice_ns / ns).max(1.0) as u64,
        })
    }

    /// Nanoseconds of an access, and whether nothing else ran on the processor, nor on that
    /// of an `aggressor`.
    fn slice(&mut self, aggressor: Option<&Control<'_>>) -> (f64, bool) {
        let switches = || (involuntary_switches(), aggressor.map(Control::switches));
        self.walk.run(self.warm_accesses);
        let before = switches();
        let start = Instant::now();
        let made = self.walk.run(self.slice_accesses);
        let ns = start.elapsed().as_nanos() as f64 / made as f64;
        (ns, switches() == before)
    }
}

/// What the aggressor is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Order {
    Rest = 0,
    Run = 1,
    End = 2,
}

/// Shared with the aggressor's thread.
#[derive(Default)]
struct State {
    order: AtomicU8,
    /// The order that it follows.
    follows: AtomicU8,
    accesses: AtomicU64,
    /// Number of its thread.
    thread: AtomicI32,
}

/// Accesses between two looks at the order.
const CHUNK: u64 = 2048;

impl State {
    fn is(&self, order: Order) -> bool {
        self.order.load(Ordering::SeqCst) == order as u8
    }

    /// Follows orders until the end; does nothing but that when it is not `able` to walk.
    fn serve(&self, able: bool, walk: &mut Walk) {
        self.thread.store(cpu::thread_number(), Ordering::SeqCst);
        while !self.is(Order::End) {
            self.follows.store(Order::Rest as u8, Ordering::SeqCst);
            while self.is(Order::Rest) {
                thread::park();
            }
            self.follows.store(Order::Run as u8, Ordering::SeqCst);
            while self.is(Order::Run) {
                let made = if able { walk.run(CHUNK) } else { CHUNK };
                self.accesses.fetch_add(made, Ordering::SeqCst);
            }
        }
    }
}

/// The aggressor as the victim's thread sees it.
struct Control<'a> {
    state: &'a State,
    thread: Thread,
    /// Accesses before the caches are as it leaves them.
    warm_accesses: u64,
}

impl Control<'_> {
    fn order(&self, order: Order) {
        self.state.order.store(order as u8, Ordering::SeqCst);
        self.thread.unpark();
    }

    /// Makes it run, and waits until it has walked through the caches.
    fn run(&self) {
        let before = self.state.accesses.load(Ordering::SeqCst);
        self.order(Order::Run);
        while self.state.accesses.load(Ordering::SeqCst) - before < self.warm_accesses {
            std::hint::spin_loop();
        }
    }

    /// How often it has had to leave its processor to other work.
    fn switches(&self) -> u64 {
        involuntary_switches_of_thread(self.state.thread.load(Ordering::SeqCst))
    }

    /// Makes it rest.
    fn rest(&self) {
        self.order(Order::Rest);
        while self.state.follows.load(Ordering::SeqCst) != Order::Rest as u8 {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Levels<u64> = Levels {
        private: 1 << 14,
        llc: 1 << 18,
        dram: 1 << 20,
    };

    #[test]
    fn no_pair_is_one_that_calibration_uses() {
        let pairs = pairs(&SIZES, 64);
        assert_eq!(
            pairs.iter().filter(|pair| pair.aggressor.is_none()).count(),
            4
        );
        assert_eq!(pairs.len(), 4 * 6 - 2);
        for pair in pairs {
            let same = pair.aggressor.is_some_and(|other| {
                other.shape.kind == Kind::Bandwidth && other.shape == pair.victim.shape
            });
            assert!(!same);
        }
    }

    /// Says nothing of the figures: only that victim and aggressor come to an end.
    #[test]
    fn rounds_with_and_without_an_aggressor_end() {
        let cpus = cpu::allowed().unwrap();
        let pairs = pairs(&SIZES, 64);
        let last = cpus[cpus.len() - 1];
        for pair in [&pairs[0], &pairs[3]] {
            let seen = thread::scope(|scope| {
                let run = || {
                    measure(
                        pair,
                        [cpus[0], last],
                        1 << 18,
                        Effort::Quick,
                        &mut Watch::start(),
                    )
                };
                scope.spawn(run).join().unwrap().unwrap()
            });
            assert!(
                seen.factor.count >= 2 && seen.alone_ns.least > 0.0,
                "{seen:?}"
            );
        }
    }
}
