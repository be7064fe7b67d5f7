//! Timed pieces of a walk.

use std::time::{Duration, Instant};

use ringfence_workloads::aggressor::{Access, Kind, Shape, ShapeError, Walk};

use crate::disturbance::{Watch, involuntary_switches};
use crate::statistics::Spread;

/// How much time a measurement may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A few seconds: enough to see that it works.
    Quick,
    /// Enough repetitions to state a spread.
    Full,
}

impl Effort {
    /// Repetitions of each measurement.
    pub fn repetitions(self) -> usize {
        match self {
            Self::Quick => 3,
            Self::Full => 31,
        }
    }

    /// Length of a repetition: well above the resolution of the clock, and short enough that
    /// most are over before the next interruption.
    pub fn slice(self) -> Duration {
        match self {
            Self::Quick => Duration::from_millis(1),
            Self::Full => Duration::from_millis(2),
        }
    }
}

/// A bandwidth walk.
///
/// # Errors
/// When there is no memory for it.
pub fn walk(size_bytes: u64, line_bytes: u64, access: Access) -> Result<Walk, ShapeError> {
    Walk::new(&Shape {
        kind: Kind::Bandwidth,
        access,
        size_bytes,
        line_bytes,
    })
}

/// Linked lists that are read.
///
/// # Errors
/// When there is no memory for them.
pub fn lists(size_bytes: u64, line_bytes: u64, lists: usize) -> Result<Walk, ShapeError> {
    Walk::new(&Shape {
        kind: Kind::LinkedLists { lists, bank: None },
        access: Access::Read,
        size_bytes,
        line_bytes,
    })
}

/// Pieces that are tried for one that is wanted: on a busy machine many are interrupted.
pub(crate) const ATTEMPTS: usize = 4;

/// Runs pieces of `work`, which takes a number of accesses and returns how many it made, for
/// `effort`; nanoseconds of an access in each. Pieces during which the system put other
/// work on the processor are thrown away and repeated.
pub fn timed(effort: Effort, watch: &mut Watch, mut work: impl FnMut(u64) -> u64) -> Spread {
    let accesses = accesses_of(effort.slice(), &mut work);
    let wanted = effort.repetitions();
    let (mut kept, mut dropped) = (Vec::new(), Vec::new());
    while kept.len() < wanted && kept.len() + dropped.len() < ATTEMPTS * wanted {
        let switches = involuntary_switches();
        let start = Instant::now();
        let made = work(accesses);
        let ns = start.elapsed().as_nanos() as f64 / made as f64;
        let is_kept = involuntary_switches() == switches;
        watch.slice(is_kept);
        match is_kept {
            true => kept.push(ns),
            false => dropped.push(ns),
        }
    }
    // On a busy machine nothing else is left; the watch has counted it.
    if kept.len() < wanted.div_ceil(2) {
        kept.append(&mut dropped);
    }
    Spread::of(kept)
}

/// Accesses that take about `slice`.
fn accesses_of(slice: Duration, work: &mut impl FnMut(u64) -> u64) -> u64 {
    let mut accesses = 1000;
    loop {
        let start = Instant::now();
        let made = work(accesses);
        let elapsed = start.elapsed();
        if elapsed * 4 >= slice {
            let ns_each = elapsed.as_nanos().max(1) / u128::from(made.max(1));
            return (slice.as_nanos() / ns_each.max(1)).max(1) as u64;
        }
        accesses *= 4;
    }
}
