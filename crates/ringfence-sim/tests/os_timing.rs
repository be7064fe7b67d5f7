//! The operating-system model in single situations, against closed forms.

mod common;

use common::compute::{DURATION_NS, US, assemble, compute};
use common::{case, cases, responses_ns};
use ringfence_analysis::case::{CaseRun, Interval};
use ringfence_scenario::model::*;
use ringfence_scenario::platform::OsCosts;
use ringfence_sim::plan::plan;

const COSTS: OsCosts = OsCosts {
    context_switch_ns: 7 * US,
    interrupt_ns: 2 * US,
    reschedule_latency_ns: US,
    tick_ns: 1000 * US,
};

const NO_COSTS: OsCosts = OsCosts {
    context_switch_ns: 0,
    interrupt_ns: 0,
    reschedule_latency_ns: 0,
    tick_ns: 100 * US,
};

/// What a core spends on an interrupt that makes it switch.
const SWITCH_NS: u64 = COSTS.interrupt_ns + COSTS.context_switch_ns;

/// One job, with a thread on each of `cores`.
fn task(name: &str, offset_ns: u64, time_ns: u64, cores: &[u16]) -> Task {
    Task {
        name: name.into(),
        period_ns: DURATION_NS,
        deadline_ns: DURATION_NS,
        offset_ns,
        threads: cores.len() as u16,
        cores: cores.to_vec(),
        program: compute(time_ns, Vec::new()),
        overrun: Overrun::Queue,
        known: Known::default(),
    }
}

/// A gang beside which best-effort work must not run.
fn gang(priority: u8, tasks: Vec<Task>) -> Gang {
    Gang {
        name: tasks[0].name.clone(),
        partition: 0,
        priority,
        tolerance: Tolerance::NONE,
        class_of_service: None,
        tasks,
    }
}

fn endless(threads: u16, cores: &[u16]) -> BestEffort {
    BestEffort {
        name: "work".into(),
        threads,
        cores: cores.to_vec(),
        pinned: true,
        class_of_service: None,
        program: compute(0, Vec::new()),
    }
}

fn run(
    os: OsCosts,
    cores: u16,
    share: ShareLimit,
    gangs: Vec<Gang>,
    best_effort: Vec<BestEffort>,
) -> Vec<CaseRun> {
    let all = Partition {
        name: "all".into(),
        cores: (0..cores).collect(),
    };
    cases(&assemble(os, vec![all], share, gangs, best_effort), None)
}

/// Who had `core` when, by thread number.
fn course(run: &CaseRun, core: u16) -> Vec<(u16, u64, u64)> {
    run.cores[usize::from(core)]
        .occupations
        .iter()
        .map(|on| (on.thread, on.from_ns, on.to_ns))
        .collect()
}

#[test]
fn a_job_that_preempts_best_effort_work_pays_one_interrupt_and_one_switch() {
    const TIME_NS: u64 = 100 * US;
    for cores in [&[0_u16][..], &[0, 1]] {
        let high = gang(9, vec![task("high", 300 * US, TIME_NS, cores)]);
        let work = endless(2, &[0, 1]);
        for run in run(
            COSTS,
            2,
            ShareLimit::Off,
            vec![high.clone()],
            vec![work.clone()],
        ) {
            let name = &run.case.name;
            assert_eq!(
                responses_ns(&run, "high"),
                [SWITCH_NS + TIME_NS],
                "{name} {cores:?}"
            );
        }
    }
}

/// Of two cores the first one to leave the lower gang waits for the second,
/// whose interrupt tells it to choose again.
#[test]
fn a_job_that_preempts_a_gang_pays_one_interrupt_and_one_switch_and_the_hand_over() {
    const TIME_NS: u64 = 100 * US;
    for cores in [&[0_u16][..], &[0, 1]] {
        let low = gang(5, vec![task("low", 0, 1000 * US, cores)]);
        let high = gang(9, vec![task("high", 300 * US, TIME_NS, cores)]);
        for run in run(
            COSTS,
            2,
            ShareLimit::Off,
            vec![low.clone(), high.clone()],
            vec![],
        ) {
            let name = run.case.name.as_str();
            let hand_over_ns = match cores.len() > 1 && name.starts_with("gang") {
                true => COSTS.reschedule_latency_ns.max(COSTS.interrupt_ns),
                false => 0,
            };
            let expected = hand_over_ns + SWITCH_NS + TIME_NS;
            assert_eq!(responses_ns(&run, "high"), [expected], "{name} {cores:?}");
        }
    }
}

const SHARE_NS: u64 = 1000 * US;
const WINDOW_NS: u64 = 3000 * US;
const SHARE: ShareLimit = ShareLimit::Limited {
    limit_ns: SHARE_NS,
    window_ns: WINDOW_NS,
};

#[test]
fn a_job_goes_on_in_the_next_window_after_one_interrupt_and_one_switch() {
    const TIME_NS: u64 = 1500 * US;
    let job = gang(5, vec![task("job", 0, TIME_NS, &[0])]);
    for run in &run(COSTS, 1, SHARE, vec![job], vec![endless(1, &[0])])[2..] {
        let expected = WINDOW_NS - SHARE_NS + 2 * SWITCH_NS + TIME_NS;
        assert_eq!(responses_ns(run, "job"), [expected], "{}", run.case.name);
    }
}

/// The gang of the first window leaves its last core without anybody asking
/// the policy again: because a higher gang was refused before, or because the
/// last thread sleeps.
#[test]
fn best_effort_work_is_free_once_the_share_is_used_up() {
    let latency_ns = COSTS.reschedule_latency_ns;
    let left_ns = SHARE_NS + latency_ns;
    let refused = vec![
        gang(5, vec![task("low", 0, 2000 * US, &[0])]),
        gang(
            9,
            vec![task("high", SHARE_NS + latency_ns / 2, 100 * US, &[1])],
        ),
    ];
    let sleeps = vec![gang(
        5,
        vec![
            task("long", 0, 2000 * US, &[0]),
            task("short", 0, left_ns - SWITCH_NS, &[1]),
        ],
    )];
    for gangs in [refused, sleeps] {
        let priority = gangs.last().unwrap().priority;
        let runs = run(COSTS, 3, SHARE, gangs, vec![endless(1, &[2])]);
        let run = case(&runs, "gang-regulated");
        let rest = Interval {
            from_ns: left_ns,
            to_ns: WINDOW_NS,
        };
        let active: Vec<_> = run.partitions[0]
            .iter()
            .filter(|active| active.from_ns < rest.to_ns && active.to_ns > rest.from_ns)
            .map(|active| (active.from_ns, active.to_ns, active.priority))
            .collect();
        assert_eq!(
            active,
            [(rest.from_ns, rest.to_ns, None)],
            "gang {priority}"
        );
        let again = (rest.from_ns + latency_ns, rest.to_ns + latency_ns);
        let on_core: Vec<_> = course(run, 2).iter().map(|on| (on.1, on.2)).collect();
        assert!(on_core.contains(&again), "gang {priority}: {on_core:?}");
    }
}

/// What arrives while an idle core handles an interrupt waits until it has, and
/// is then handled as one: a burst does not put the core out of reach.
#[test]
fn interrupts_of_an_idle_core_do_not_pile_up() {
    const TIME_NS: u64 = 100 * US;
    const BURST_NS: u64 = 300 * US;
    let waits =
        |name, priority, offset_ns| gang(priority, vec![task(name, offset_ns, TIME_NS, &[0])]);
    // Core 0 handles the first release until its interrupt is over; the others
    // come meanwhile, and so does the end of the gang that keeps them waiting.
    let handled_ns = BURST_NS + COSTS.interrupt_ns;
    let blocker_ns = handled_ns - 500 - SWITCH_NS;
    let last_ns = BURST_NS + 1000;
    let gangs = vec![
        gang(9, vec![task("blocker", 0, blocker_ns, &[1])]),
        waits("first", 1, BURST_NS),
        waits("second", 2, BURST_NS + 500),
        waits("last", 3, last_ns),
    ];
    let runs = run(COSTS, 2, ShareLimit::Off, gangs, vec![]);
    let expected = handled_ns + SWITCH_NS + TIME_NS - last_ns;
    assert_eq!(responses_ns(case(&runs, "gang"), "last"), [expected]);
}

#[test]
fn a_slice_begins_anew_after_throttling() {
    let job = gang(5, vec![task("job", 30 * US, 50 * US, &[1])]);
    let runs = run(
        NO_COSTS,
        2,
        ShareLimit::Off,
        vec![job],
        vec![endless(2, &[0])],
    );
    let run = case(&runs, "gang-regulated");
    let (first, second) = (1, 2);
    let expected = [
        (first, 0, 30 * US),
        (second, 80 * US, 180 * US),
        (first, 180 * US, 280 * US),
    ];
    assert_eq!(course(run, 0)[..3], expected);
}

#[test]
fn a_case_that_cannot_run_has_no_plan() {
    let work = endless(u16::MAX, &[0]);
    let all = Partition {
        name: "all".into(),
        cores: vec![0],
    };
    let many = assemble(
        NO_COSTS,
        vec![all],
        ShareLimit::Off,
        vec![],
        vec![work.clone(), work],
    );
    let error = plan(&many).unwrap_err().to_string();
    assert!(error.contains("131070 threads"), "{error}");
}
