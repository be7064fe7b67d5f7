//! Execution time only.

use ringfence_scenario::model;

use super::{Part, Setting};
use crate::{clock, cycles};

/// Cycles between two looks at the clock: microseconds, against some hundred nanoseconds
/// of a look.
const STRETCH_CYCLES: u64 = 10_000;
/// Time of a piece of endless work.
const STEP_NS: u64 = 1_000_000;

/// Spends time on the processor. Time in which the thread is preempted does not count;
/// `slowed_by` is for the simulator: here whoever runs beside it slows it down or not.
struct Compute {
    time_ns: u64,
}

pub(super) fn prepare(model: &model::Compute, setting: &Setting) -> Vec<Box<dyn Part>> {
    let one = || Compute {
        time_ns: model.time_ns,
    };
    (0..setting.threads)
        .map(|_| Box::new(one()) as Box<dyn Part>)
        .collect()
}

impl Part for Compute {
    fn job(&mut self, _job: u64) {
        spend(self.time_ns);
    }

    fn step(&mut self) -> u64 {
        spend(STEP_NS);
        0
    }
}

fn spend(time_ns: u64) {
    let end_ns = clock::thread_time_ns().saturating_add(time_ns);
    while clock::thread_time_ns() < end_ns {
        cycles::spend(STRETCH_CYCLES);
    }
}
