//! No simulated response exceeds its bound, over random task sets.
//!
//! `RINGFENCE_TASK_SETS=10000 cargo test --release -p ringfence-analysis --test
//! schedulability -- simulated_responses --nocapture` draws as many sets and says
//! how much of the bounds the simulations reached.

use ringfence_analysis::case::{CaseRun, Job, JobEnd};
use ringfence_scenario::model::Scenario;

use crate::generate::scenario;
use crate::simulate::{first_case, verdicts};

/// Sets in a run of all tests; the figures in the book come from 10,000.
const TASK_SETS: u64 = 300;

/// How much of their bounds simulated responses reached.
#[derive(Default)]
pub struct Reached {
    sets: u64,
    tasks: u64,
    unbounded: u64,
    /// Tasks by tenths of the bound that their longest response reached.
    tenths: [u64; 11],
    exceeded: Vec<String>,
}

#[test]
fn simulated_responses_stay_below_their_bounds() {
    let sets = std::env::var("RINGFENCE_TASK_SETS").map_or(TASK_SETS, |sets| sets.parse().unwrap());
    let mut reached = Reached::default();
    for seed in 0..sets {
        reached.check(seed, &scenario(seed));
    }
    reached.judge();
}

impl Reached {
    /// Simulates the only case of `scenario` and compares.
    pub fn check(&mut self, seed: u64, scenario: &Scenario) {
        let run = first_case(scenario);
        self.sets += 1;
        let verdicts = verdicts(scenario);
        for task in verdicts.iter().flat_map(|verdict| &verdict.tasks) {
            self.tasks += 1;
            let Some(bound) = task.response else {
                self.unbounded += 1;
                continue;
            };
            let seen_ns = longest_ns(&run, &task.task);
            if seen_ns > bound.response_ns {
                self.exceeded.push(format!(
                    "set {seed}, task {}: {seen_ns} ns seen, bound {bound:?}",
                    task.task
                ));
            }
            self.tenths[(seen_ns * 10 / bound.response_ns).min(10) as usize] += 1;
        }
    }

    /// Says what was reached; no bound may be exceeded, and most tasks must have one.
    pub fn judge(self) {
        let Self {
            sets,
            tasks,
            unbounded,
            tenths,
            exceeded,
        } = self;
        println!(
            "{sets} sets, {tasks} tasks, {unbounded} of them without a bound, {} above it",
            exceeded.len()
        );
        println!("tasks by longest response / bound, in tenths rounded down: {tenths:?}");
        assert!(exceeded.is_empty(), "{exceeded:#?}");
        assert!(unbounded * 2 < tasks, "the sets are too heavy to say much");
    }
}

/// The longest time that a job of `task` took or, unfinished, has taken so far.
pub fn longest_ns(run: &CaseRun, task: &str) -> u64 {
    let index = run.case.tasks.iter().position(|t| t.name == task).unwrap();
    let taken = |job: &Job| match job.end {
        JobEnd::Finished(at_ns) => at_ns - job.released_ns,
        JobEnd::Dropped(_) => 0,
        JobEnd::Unfinished => run.end_ns - job.released_ns,
    };
    run.jobs[index].iter().map(taken).max().unwrap_or(0)
}
