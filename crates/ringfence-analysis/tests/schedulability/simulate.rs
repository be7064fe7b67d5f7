//! Runs scenarios in memory.

use ringfence_analysis::case::CaseRun;
use ringfence_analysis::run::Run;
use ringfence_analysis::schedulability::problem::{MachineClaims, Problem};
use ringfence_analysis::schedulability::verdict::{PartitionVerdict, judge};
use ringfence_record::Writer;
use ringfence_record::event::Header;
use ringfence_scenario::model::Scenario;
use ringfence_sim::plan::plan;
use ringfence_sim::run::{RunOptions, run};

/// The first case of `scenario`, run and read back.
pub fn first_case(scenario: &Scenario) -> CaseRun {
    let options = RunOptions {
        threads: 1,
        progress: &|_| {},
        fault: None,
    };
    let mut writer = Writer::new(Vec::new(), &Header::default()).unwrap();
    run(scenario, &options, &mut writer).unwrap_or_else(|error| panic!("{error}"));
    let record = writer.finish().unwrap();
    let run = Run::read(&record[..]).unwrap();
    let case = run.cases.into_iter().next().unwrap();
    case.unwrap_or_else(|error| panic!("{error}"))
}

/// What the analysis says about the first case of `scenario`.
pub fn verdicts(scenario: &Scenario) -> Vec<PartitionVerdict> {
    let plan = plan(scenario).unwrap();
    let claims = &plan.cases[0].claims;
    let problem = Problem {
        scenario,
        case: &scenario.cases[0],
        claims: MachineClaims {
            hand_over_ns: claims.hand_over_ns,
            quantum_bytes: claims.budgets.as_ref().map_or(0, |b| b.quantum_bytes),
        },
        measured: &Default::default(),
        factors: &Default::default(),
    };
    let partitions = problem.partitions(None).unwrap();
    partitions.iter().map(judge).collect()
}
