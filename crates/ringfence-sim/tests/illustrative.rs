//! RT-Gang's illustrative example: every figure of the paper, exactly.

mod common;

use common::{case, cases, outcome, scenario, worst_response_ns};
use ringfence_analysis::statistics::statistics;
use ringfence_analysis::verdict::{ClaimKind, Outcome};
use ringfence_sim::os::Fault;

const SCENARIO: &str = "rt-gang/illustrative.toml";

#[test]
fn slack_and_response_times_are_the_papers() {
    let runs = cases(&scenario(SCENARIO), None);
    for (name, slack_us, tau1_us, tau2_us) in [
        ("ideal", 28_000, 2_000, 4_000),
        ("co-run", 20_800, 5_600, 4_000),
        ("rt-gang", 28_000, 2_000, 6_000),
    ] {
        let run = case(&runs, name);
        let slack = statistics(run).slack.unwrap();
        assert_eq!(slack.hyperperiod_ns, Some(10_000_000), "{name}");
        assert_eq!(slack.hyperperiods, 10, "{name}");
        assert_eq!(slack.hyperperiod_min_ns, Some(slack_us * 1000), "{name}");
        assert_eq!(slack.hyperperiod_max_ns, Some(slack_us * 1000), "{name}");
        assert_eq!(worst_response_ns(run, "tau1"), tau1_us * 1000, "{name}");
        assert_eq!(worst_response_ns(run, "tau2"), tau2_us * 1000, "{name}");
    }
}

#[test]
fn best_effort_work_gets_all_the_slack() {
    for run in cases(&scenario(SCENARIO), None) {
        let figures = statistics(&run);
        let best_effort: u64 = figures.best_effort.iter().map(|t| t.core_time_ns).sum();
        assert_eq!(
            best_effort,
            figures.slack.as_ref().unwrap().run_ns,
            "{}",
            run.case.name
        );
    }
}

#[test]
fn the_verdict_passes_the_gang_scheduler_and_catches_one_that_ignores_the_policy() {
    let scenario = scenario(SCENARIO);
    let claim = ClaimKind::OneGangAtATime;
    let good = cases(&scenario, None);
    let (result, evidence) = outcome(case(&good, "rt-gang"), claim);
    assert_eq!(result, Outcome::Pass, "{evidence}");
    let broken = cases(&scenario, Some(Fault::IgnoreBlock));
    let (result, evidence) = outcome(case(&broken, "rt-gang"), claim);
    assert_eq!(result, Outcome::Fail);
    assert!(evidence.contains("'tau2/0'"), "{evidence}");
}
