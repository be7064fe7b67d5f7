//! Runs scenarios in memory and reads their records back.

// Each test file uses its own part of this.
#![allow(dead_code)]

pub mod compute;

use std::path::Path;

use ringfence_analysis::case::CaseRun;
use ringfence_analysis::run::Run;
use ringfence_analysis::verdict::{ClaimKind, Outcome, judge};
use ringfence_record::Writer;
use ringfence_record::event::Header;
use ringfence_scenario::load;
use ringfence_scenario::model::Scenario;
use ringfence_sim::os::Fault;
use ringfence_sim::run::{RunOptions, run};

/// A scenario file of this repository.
pub fn scenario(name: &str) -> Scenario {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    load(&scenarios.join(name)).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The record of `scenario`, in bytes.
pub fn record(scenario: &Scenario, threads: usize, fault: Option<Fault>) -> Vec<u8> {
    let options = RunOptions {
        threads,
        progress: &|_| {},
        fault,
    };
    let mut writer = Writer::new(Vec::new(), &Header::default()).unwrap();
    run(scenario, &options, &mut writer).unwrap_or_else(|error| panic!("{error}"));
    writer.finish().unwrap()
}

/// The cases of `scenario`, run and read back.
pub fn cases(scenario: &Scenario, fault: Option<Fault>) -> Vec<CaseRun> {
    let run = Run::read(&record(scenario, 2, fault)[..]).unwrap();
    assert!(run.damage.is_none());
    run.cases
        .into_iter()
        .map(|case| case.unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

/// The case called `name`.
pub fn case<'a>(cases: &'a [CaseRun], name: &str) -> &'a CaseRun {
    cases.iter().find(|case| case.case.name == name).unwrap()
}

/// What the verdict on `run` says about `claim`, with the evidence.
pub fn outcome(run: &CaseRun, claim: ClaimKind) -> (Outcome, String) {
    let verdict = judge(run);
    let result = verdict.claim(claim).unwrap();
    let evidence = result
        .evidence
        .iter()
        .map(|breach| format!("\n  {} ns: {}", breach.time_ns, breach.text));
    (result.outcome, evidence.collect())
}

/// Longest response time of `task`, in nanoseconds.
pub fn worst_response_ns(run: &CaseRun, task: &str) -> u64 {
    let responses = responses_ns(run, task);
    responses.into_iter().max().unwrap()
}

/// Response times of the finished jobs of `task`, in nanoseconds.
pub fn responses_ns(run: &CaseRun, task: &str) -> Vec<u64> {
    let index = run.case.tasks.iter().position(|t| t.name == task).unwrap();
    run.jobs[index]
        .iter()
        .filter_map(|job| job.response_ns())
        .collect()
}
