//! What best-effort work costs: closed forms, and the exact engine below the bound.

use ringfence_analysis::schedulability::caches::{Caches, Leftovers};
use ringfence_analysis::schedulability::interference::{
    AccessCosts, Allowed, BestEffort, LlcAccesses,
};
use ringfence_analysis::schedulability::problem::{MachineClaims, Measured, Problem};
use ringfence_analysis::schedulability::tolerance::{Fits, largest};
use ringfence_analysis::schedulability::verdict::{PartitionVerdict, judge};
use ringfence_scenario::model::{Access, Bandwidth, Program, Scenario};
use ringfence_scenario::{Factors, NoFiles, load_platform, parse};
use ringfence_sim::plan::plan;

use crate::simulate::first_case;

const COSTS: AccessCosts = AccessCosts {
    foreign_line_ns: 10,
    miss_ns: 5,
    bank_ns: 2,
    misses_per_line: 4,
    reach_l1: false,
};

fn beside(allowed: Allowed) -> BestEffort {
    BestEffort {
        cores: 3,
        allowed,
        quantum_lines: 1,
        period_ns: 1_000,
    }
}

const FEW: Option<LlcAccesses> = Some(LlcAccesses {
    of_core: 20,
    cores: 2,
});

#[test]
fn what_best_effort_work_adds_can_be_worked_out() {
    // Nobody runs beside a gang that tolerates nothing; three cores overshoot by a line.
    let nothing = beside(Allowed::Nothing);
    assert_eq!(
        nothing.slows_down(&COSTS, 500, None),
        Some(3 * (10 + 4 * 5))
    );
    // 500 ns and what is added reach into two periods: 3 cores of 2 x 2 + 1 lines, each
    // a request and four misses.
    let lines = beside(Allowed::Lines(2));
    assert_eq!(lines.slows_down(&COSTS, 500, None), Some(15 * 30));
    // With 20 accesses from each of two cores there are no more than 40 misses; each
    // of the 20 may wait for three other cores.
    assert_eq!(
        lines.slows_down(&COSTS, 500, FEW),
        Some(15 * 10 + 40 * 5 + 20 * 3 * 2)
    );
    // An inclusive cache takes lines out of the L1s, too.
    let inclusive = AccessCosts {
        reach_l1: true,
        ..COSTS
    };
    assert_eq!(
        lines.slows_down(&inclusive, 300, FEW),
        Some(15 * 30 + 20 * 3 * 2)
    );
    // A preemption lets it reach into two more periods.
    assert_eq!(lines.slows_down_resuming(&COSTS, None), Some(15 * 30));
    // 12 lines a core cost more than a period: it never ends.
    assert_eq!(
        beside(Allowed::Lines(12)).slows_down(&COSTS, 500, None),
        None
    );
    assert_eq!(
        beside(Allowed::Everything).slows_down(&COSTS, 500, None),
        None
    );
    let mut nobody = beside(Allowed::Everything);
    nobody.cores = 0;
    assert_eq!(nobody.slows_down(&COSTS, 500, None), Some(0));
}

#[test]
fn costs_come_from_the_platform() {
    let costs = AccessCosts::of(&load_platform("raspberry-pi-3").unwrap());
    assert_eq!(costs.misses_per_line, 16, "the ways of its LLC");
    assert!(!costs.reach_l1, "its LLC is not inclusive");
    assert!(
        costs.foreign_line_ns > 50 && costs.foreign_line_ns < 500,
        "{costs:?}"
    );
    assert!(
        costs.miss_ns > costs.foreign_line_ns && costs.miss_ns < 1_000,
        "{costs:?}"
    );
}

fn walk(access: Access, lines: u64) -> Program {
    Program::Bandwidth(Bandwidth {
        access,
        working_set_bytes: lines * 64,
        passes: 1,
    })
}

#[test]
fn what_others_leave_in_caches_can_be_worked_out() {
    let platform = load_platform("raspberry-pi-3").unwrap();
    let costs = AccessCosts::of(&platform);
    let memory = platform.memory.as_ref().unwrap();
    let program = walk(Access::Read, 1_000);
    let caches = Caches::of(&platform, &program, 2, 2).unwrap();
    let nobody = Leftovers::default();
    assert_eq!(caches.begin_ns(nobody), 0);
    // Readers leave nothing dirty, and what they have asked for.
    let requests = 4 * u64::from(memory.core.outstanding());
    let readers = nobody.and(&walk(Access::Read, 9_000), 1);
    assert_eq!(caches.begin_ns(readers), requests * costs.foreign_line_ns);
    // Of 9,000 dirty lines 1,000 are pushed out of the LLC, and 512 out of each L1.
    let writers = readers.and(&walk(Access::Write, 9_000), 1);
    let waiting =
        u64::from(memory.dram.controller.write_queue) + u64::from(memory.llc.write_back_buffer);
    let begin_ns =
        (1_000 + 1_024 + waiting + requests) * costs.foreign_line_ns + 1_024 * costs.bank_ns;
    assert_eq!(caches.begin_ns(writers), begin_ns);
    // A preemption: the working set comes back, each line with its victim.
    let pushed_out_ns = 1_000 * costs.foreign_line_ns;
    let resume_ns = begin_ns - pushed_out_ns + 1_000 * costs.miss_ns;
    assert_eq!(caches.resume_ns(writers), resume_ns);
}

/// A gang that computes a lot and reads a little, next to three memory hogs.
fn camera(tolerance: &str) -> Scenario {
    let source = format!(
        r#"
        share = "off"
        [scenario]
        name = "camera"
        platform = "raspberry-pi-3"
        duration = "40 ms"
        [[gang]]
        name = "camera"
        priority = 2
        tolerance = {tolerance}
        [[gang.task]]
        name = "camera"
        period = "4 ms"
        cores = "0"
        known = {{ wcet = "1 ms", llc_accesses = 5_000 }}
        program = {{ kind = "phases", phase = [
            {{ compute_cycles = 500_000, read = "128 KiB", working_set = "64 KiB" }},
        ] }}
        [[best_effort]]
        name = "hog"
        threads = 3
        cores = "1-3"
        pinned = true
        program = {{ kind = "bandwidth", access = "write", working_set = "4 MiB" }}
        [[case]]
        name = "rt-gang"
        "#
    );
    let parsed = parse(&source, "camera", std::path::Path::new(""), &NoFiles);
    parsed.unwrap_or_else(|problems| panic!("{problems}"))
}

/// Runs `with` on the problem of the scenario's only case.
fn analysed<T>(scenario: &Scenario, with: impl Fn(&Problem<'_>) -> T) -> T {
    let plan = plan(scenario).unwrap();
    let claims = &plan.cases[0].claims;
    with(&Problem {
        scenario,
        case: &scenario.cases[0],
        claims: MachineClaims {
            hand_over_ns: claims.hand_over_ns,
            quantum_bytes: claims.budgets.as_ref().map_or(0, |b| b.quantum_bytes),
        },
        measured: &Default::default(),
        factors: &Factors::default(),
    })
}

fn verdict(scenario: &Scenario) -> PartitionVerdict {
    analysed(scenario, |problem| {
        judge(&problem.partitions(None).unwrap()[0])
    })
}

fn largest_rate(scenario: &Scenario) -> u64 {
    let found = analysed(scenario, |problem| largest(problem).unwrap());
    match found[0].fits {
        Fits::UpTo {
            bytes_per_second, ..
        } => bytes_per_second,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_largest_tolerance_fits_and_a_line_more_does_not() {
    let rate = largest_rate(&camera("\"none\""));
    assert!(rate > 1_000_000, "{rate}");
    assert!(verdict(&camera(&format!("\"{rate} B/s\""))).schedulable);
    // A line of 64 bytes a millisecond.
    let more = rate + 64_000;
    assert!(!verdict(&camera(&format!("\"{more} B/s\""))).schedulable);
}

#[test]
fn the_exact_engine_stays_below_the_bound() {
    let rate = largest_rate(&camera("\"none\""));
    let scenario = camera(&format!("\"{rate} B/s\""));
    let mut alone = scenario.clone();
    alone.cases[0].best_effort.clear();
    let longest = |scenario: &Scenario| {
        let jobs = first_case(scenario).jobs.remove(0);
        jobs.iter()
            .filter_map(|job| job.response_ns())
            .max()
            .unwrap()
    };
    let (alone_ns, beside_ns) = (longest(&alone), longest(&scenario));
    let response = verdict(&scenario).tasks[0].response.unwrap();
    println!("alone {alone_ns} ns, beside {beside_ns} ns, bound {response:?}");
    assert!(alone_ns <= 1_000_000, "the stated wcet holds: {alone_ns}");
    assert!(beside_ns > alone_ns, "best-effort work costs something");
    assert!(beside_ns <= response.response_ns);
}

#[test]
fn what_was_measured_takes_the_place_of_the_bound() {
    let scenario = camera("\"100 MB/s\"");
    assert!(!verdict(&scenario).schedulable);
    let seen = Measured {
        execution_ns: 900_000,
        llc_accesses: 4_000,
        interference_ns: Some(100_000),
    };
    let measured = [("camera".to_owned(), seen)].into();
    let bounded = analysed(&scenario, |problem| {
        let problem = Problem {
            measured: &measured,
            ..*problem
        };
        judge(&problem.partitions(None).unwrap()[0])
    });
    let response = bounded.tasks[0].response.unwrap();
    // What the scenario states counts before what was measured.
    assert_eq!(response.own.execution, 1_000_000);
    assert_eq!(response.own.interference, 100_000);
}
