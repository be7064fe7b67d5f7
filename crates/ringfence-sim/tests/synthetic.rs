//! RT-Gang's synthetic task set on the modelled Raspberry Pi 3: what must hold
//! of figure 5, and that the verdict catches a regulator that does not throttle.
//!
//! The whole set is 4.8 s on the board; to see its figures:
//! `cargo run --release -p ringfence-sim --example response_times -- scenarios/rt-gang/synthetic.toml`

mod common;

use common::{case, cases, outcome, responses_ns, scenario};
use ringfence_analysis::case::CaseRun;
use ringfence_analysis::statistics::statistics;
use ringfence_analysis::verdict::{ClaimKind, Outcome};
use ringfence_scenario::model::{Program, Scenario};
use ringfence_sim::os::Fault;

const SCENARIO: &str = "rt-gang/synthetic.toml";

#[test]
fn gangs_keep_their_solo_times_one_at_a_time_and_not_side_by_side() {
    let mut scenario = scenario(SCENARIO);
    // docs/src/results/rt-gang.md has the whole of it.
    scenario.duration_ns = 300_000_000;
    let runs = cases(&scenario, None);
    let (co_run, rt_gang) = (case(&runs, "co-run"), case(&runs, "rt-gang"));
    let [solo1, solo2] =
        ["tau1", "tau2"].map(|task| p99_ns(case(&runs, &format!("solo/{task}")), task));

    for task in ["tau1", "tau2"] {
        let times = execution_spread_ns(co_run, task);
        assert!(
            times.1 > times.0 * 5 / 4,
            "{task} co-run should vary by more than a quarter: {times:?} ns"
        );
    }

    let bound1 = with_tolerance(solo1);
    let p99 = p99_ns(rt_gang, "tau1");
    assert!(p99 <= bound1, "tau1: p99 {p99} ns, bound {bound1} ns");

    let bound2 = response_bound_ns(&scenario, with_tolerance(solo2), with_tolerance(solo1));
    let p99 = p99_ns(rt_gang, "tau2");
    assert!(p99 <= bound2, "tau2: p99 {p99} ns, bound {bound2} ns");

    let hog = |run| accesses_executed(run, "tau_cpu/0");
    assert!(hog(rt_gang) >= hog(co_run));

    for claim in [
        ClaimKind::OneGangAtATime,
        ClaimKind::WorkConservation,
        ClaimKind::Budgets,
        ClaimKind::Throttling,
        ClaimKind::Deadlines,
    ] {
        let (result, evidence) = outcome(rt_gang, claim);
        assert_eq!(result, Outcome::Pass, "{claim:?}: {evidence}");
    }
}

#[test]
fn the_verdict_passes_the_regulator_and_catches_one_that_does_not_throttle() {
    let mut scenario = scenario(SCENARIO);
    scenario.duration_ns = 8_000_000;
    scenario.cases.retain(|case| case.name == "rt-gang");
    let good = cases(&scenario, None);
    let (result, evidence) = outcome(&good[0], ClaimKind::Budgets);
    assert_eq!(result, Outcome::Pass, "{evidence}");
    let broken = cases(&scenario, Some(Fault::NoThrottle));
    let (result, evidence) = outcome(&broken[0], ClaimKind::Budgets);
    assert_eq!(result, Outcome::Fail);
    assert!(evidence.contains("budget and quantum allow"), "{evidence}");
}

fn p99_ns(run: &CaseRun, task: &str) -> u64 {
    let tasks = statistics(run).tasks;
    let figures = tasks.into_iter().find(|figures| figures.task == task);
    figures.unwrap().response.unwrap().p99_ns
}

/// Shortest and longest response time.
fn execution_spread_ns(run: &CaseRun, task: &str) -> (u64, u64) {
    let times = responses_ns(run, task);
    (*times.iter().min().unwrap(), *times.iter().max().unwrap())
}

fn accesses_executed(run: &CaseRun, thread: &str) -> u64 {
    let threads = statistics(run).best_effort;
    let figures = threads.into_iter().find(|figures| figures.thread == thread);
    figures
        .unwrap()
        .accesses
        .expect("the simulator counts them")
}

/// The 5 % by which a gang may differ from its solo value.
fn with_tolerance(solo_ns: u64) -> u64 {
    solo_ns * 105 / 100
}

/// Response-time analysis of the lower gang (Audsley et al. 1993) with
/// cache-related pre-emption delay (Busquets-Mataix et al. 1996):
/// `R = C2 + ceil(R / T1) * (C1 + delay)`.
fn response_bound_ns(scenario: &Scenario, lower_ns: u64, higher_ns: u64) -> u64 {
    let period_ns = scenario.gangs[0].tasks[0].period_ns;
    let preemption_ns = higher_ns + preemption_delay_ns(scenario);
    let mut response_ns = lower_ns;
    loop {
        let next_ns = lower_ns + response_ns.div_ceil(period_ns) * preemption_ns;
        if next_ns == response_ns {
            return response_ns;
        }
        response_ns = next_ns;
    }
}

/// What one pre-emption costs the lower gang, from the platform alone: a
/// hand-over to the higher gang and one back, and the reload of the gang's whole
/// working set. Its threads reload their parts side by side, each one line at a
/// time, every line from a row that is not open.
fn preemption_delay_ns(scenario: &Scenario) -> u64 {
    let platform = &scenario.platform;
    let memory = platform.memory.as_ref().unwrap();
    let task = &scenario.gangs[1].tasks[0];
    let Program::Bandwidth(program) = &task.program else {
        panic!("not a bandwidth program");
    };
    let t = &memory.dram.timing;
    let bursts = memory.line_bytes.div_ceil(memory.dram.burst_bytes);
    let clocks = t.rp + t.rcd + t.cl + bursts * t.burst;
    let line_ps = u64::from(clocks * t.clock_ps) + u64::from(memory.dram.controller.link_ps);
    let lines = program.working_set_bytes / u64::from(memory.line_bytes) / u64::from(task.threads);
    2 * hand_over_ns(scenario) + (lines * line_ps).div_ceil(1000)
}

/// A core goes from one thread to another: an interrupt travels, is taken, and switches.
fn hand_over_ns(scenario: &Scenario) -> u64 {
    let os = &scenario.platform.os;
    os.reschedule_latency_ns + os.interrupt_ns + os.context_switch_ns
}
