//! Runs cases on the modelled board.

use std::io::Write;

use ringfence_record::Writer;
use ringfence_scenario::model::Scenario;
use ringfence_sim::os::Fault;
use ringfence_sim::run::{RunError, RunOptions};

use super::machine_threads;
use crate::arguments::{self, Run};
use crate::progress::CaseBars;

/// Simulates every case.
pub fn run<W: Write + Send>(
    scenario: &Scenario,
    arguments: &Run,
    bars: &CaseBars,
    writer: &mut Writer<W>,
) -> Result<(), RunError> {
    let options = RunOptions {
        threads: arguments.jobs.unwrap_or_else(machine_threads).max(1),
        progress: &|progress| bars.reached(progress.case, progress.simulated_ns),
        fault: arguments.inject.and_then(|fault| match fault {
            arguments::Fault::LowerGangRuns => Some(Fault::IgnoreBlock),
            arguments::Fault::NeverThrottle => Some(Fault::NoThrottle),
            arguments::Fault::OneEventMore
            | arguments::Fault::AllBorrow
            | arguments::Fault::NoBounds => None,
        }),
    };
    ringfence_sim::run::run(scenario, &options, writer)
}
