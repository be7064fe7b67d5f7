//! How fast a load is simulated, in turns with the walk.

use std::time::{Duration, Instant};

use super::walk::{Walk, repeat};

/// Turns of the load and the array walk.
const TURNS: u64 = 5;
/// Least time of a turn of the walk.
const WALK_TIME: Duration = Duration::from_millis(20);
/// Slices of a turn that are timed apart: short enough that other work on the machine leaves some alone.
const SLICES: u64 = 20;

/// Wall times of a load and of the walk beside it.
pub(super) struct Speed {
    pub(super) wall_s: f64,
    pub(super) best_requests_per_s: f64,
    pub(super) walk_lines_per_s: f64,
}

/// Simulates `reads` reads in turns with the walk; `run` simulates so many more
/// of them and returns the requests that this took.
pub(super) fn timed(reads: u64, mut run: impl FnMut(u64) -> u64) -> Speed {
    let mut walk = Walk::new();
    let (mut lines, mut walk_s) = (0, 0.0);
    let (mut wall_s, mut best) = (0.0, 0.0);
    for slice in 0..TURNS * SLICES {
        if slice % SLICES == 0 {
            lines += repeat(WALK_TIME, &mut walk_s, || walk.run());
        }
        let part = reads * (slice + 1) / (TURNS * SLICES) - reads * slice / (TURNS * SLICES);
        let start = Instant::now();
        let requests = run(part);
        let slice_s = start.elapsed().as_secs_f64();
        wall_s += slice_s;
        best = f64::max(best, requests as f64 / slice_s);
    }
    Speed {
        wall_s,
        best_requests_per_s: best,
        walk_lines_per_s: lines as f64 / walk_s,
    }
}
