//! The operating-system model on random task sets without memory.

mod common;

use std::ops::Range;

use common::compute::{DURATION_NS, US, assemble, compute};
use common::{case, cases, outcome};
use proptest::collection::vec;
use proptest::prelude::*;
use ringfence_analysis::case::{CaseRun, Interval};
use ringfence_analysis::verdict::{ClaimKind, Outcome};
use ringfence_scenario::model::*;
use ringfence_scenario::platform::OsCosts;
use ringfence_sim::plan::plan;

fn costs(range: Range<u64>) -> impl Strategy<Value = OsCosts> {
    (range.clone(), range.clone(), range, 50 * US..1000 * US).prop_map(
        |(context_switch_ns, interrupt_ns, reschedule_latency_ns, tick_ns)| OsCosts {
            context_switch_ns,
            interrupt_ns,
            reschedule_latency_ns,
            tick_ns,
        },
    )
}

/// Cores `0..count`, in one partition or in two.
fn partitions() -> impl Strategy<Value = Vec<Partition>> {
    (1_u16..5, any::<bool>()).prop_map(|(count, split)| {
        let middle = if split { count.div_ceil(2) } else { count };
        [0..middle, middle..count]
            .into_iter()
            .filter(|cores| !cores.is_empty())
            .map(|cores| Partition {
                name: format!("from-{}", cores.start),
                cores: cores.collect(),
            })
            .collect()
    })
}

fn tolerance() -> impl Strategy<Value = Tolerance> {
    prop_oneof![
        Just(Tolerance::UNLIMITED),
        Just(Tolerance::NONE),
        Just(Tolerance {
            read_bytes_per_second: Some(100_000_000),
            write_bytes_per_second: None
        })
    ]
}

fn task(name: String, partition: Partition) -> impl Strategy<Value = Task> {
    (
        100 * US..2000 * US,
        0..500 * US,
        1_u16..5,
        1..300 * US,
        any::<prop::sample::Index>(),
        vec((0_usize..4, 1000_u32..3000), 0..2),
        prop_oneof![Just(Overrun::Queue), Just(Overrun::Skip)],
    )
        .prop_map(
            move |(period_ns, offset_ns, threads, time_ns, first, slowed_by, overrun)| {
                let mut cores = partition.cores.clone();
                let first = first.index(cores.len());
                cores.rotate_left(first);
                let slowed_by = slowed_by
                    .into_iter()
                    .map(|(gang, factor)| (format!("gang{gang}/0"), factor))
                    .collect();
                Task {
                    name: name.clone(),
                    period_ns,
                    deadline_ns: period_ns,
                    offset_ns,
                    threads,
                    cores,
                    program: compute(time_ns, slowed_by),
                    overrun,
                    known: Known::default(),
                }
            },
        )
}

fn gang(index: usize, partitions: Vec<Partition>) -> impl Strategy<Value = Gang> {
    (0..partitions.len(), 1_u8..4, tolerance(), 1_usize..3).prop_flat_map(
        move |(partition, priority, tolerance, tasks)| {
            let tasks: Vec<_> = (0..tasks)
                .map(|number| {
                    task(
                        format!("gang{index}/{number}"),
                        partitions[partition].clone(),
                    )
                })
                .collect();
            tasks.prop_map(move |tasks| Gang {
                name: format!("gang{index}"),
                partition,
                priority,
                tolerance,
                class_of_service: None,
                tasks,
            })
        },
    )
}

fn best_effort(index: usize, cores: u16) -> impl Strategy<Value = BestEffort> {
    (1_u16..4, any::<bool>(), 1_u16..16).prop_map(move |(threads, pinned, mask)| {
        let mut usable: Vec<u16> = (0..cores).filter(|core| mask >> core & 1 == 1).collect();
        if usable.is_empty() {
            usable = (0..cores).collect();
        }
        BestEffort {
            name: format!("work{index}"),
            threads,
            cores: usable,
            pinned,
            class_of_service: None,
            program: compute(0, Vec::new()),
        }
    })
}

fn share() -> impl Strategy<Value = ShareLimit> {
    prop_oneof![
        Just(ShareLimit::Off),
        (100 * US..900 * US).prop_map(|limit_ns| ShareLimit::Limited {
            limit_ns,
            window_ns: 1000 * US
        })
    ]
}

fn scenario(range: Range<u64>) -> impl Strategy<Value = Scenario> {
    (costs(range), partitions(), share(), 1_usize..4, 0_usize..3).prop_flat_map(
        |(os, partitions, share, gangs, works)| {
            let cores = partitions.iter().map(|p| p.cores.len() as u16).sum();
            let gangs: Vec<_> = (0..gangs).map(|g| gang(g, partitions.clone())).collect();
            let works: Vec<_> = (0..works).map(|w| best_effort(w, cores)).collect();
            (gangs, works).prop_map(move |(gangs, best_effort)| {
                assemble(os, partitions.clone(), share, gangs, best_effort)
            })
        },
    )
}

fn expect_no_breach(run: &CaseRun) -> Result<(), TestCaseError> {
    for claim in [
        ClaimKind::CompleteRecord,
        ClaimKind::OneGangAtATime,
        ClaimKind::WorkConservation,
        ClaimKind::Budgets,
        ClaimKind::Throttling,
    ] {
        let (outcome, evidence) = outcome(run, claim);
        let name = &run.case.name;
        prop_assert!(
            matches!(outcome, Outcome::Pass | Outcome::NotClaimed),
            "{name}: {claim:?} {outcome:?} {evidence}"
        );
    }
    Ok(())
}

/// Stretches of time between two changes of who runs or is runnable.
fn steps(run: &CaseRun) -> Vec<Interval> {
    let mut times = vec![0, run.end_ns];
    for thread in &run.threads {
        times.extend(thread.occupations.iter().flat_map(|o| [o.from_ns, o.to_ns]));
        times.extend(thread.runnable.iter().flat_map(|r| [r.from_ns, r.to_ns]));
    }
    for core in &run.cores {
        times.extend(core.throttles.iter().flat_map(|t| [t.from_ns, t.to_ns]));
    }
    times.sort_unstable();
    times.dedup();
    times
        .windows(2)
        .map(|pair| Interval {
            from_ns: pair[0],
            to_ns: pair[1],
        })
        .collect()
}

fn running(run: &CaseRun, core: u16, at_ns: u64) -> Option<u16> {
    let occupations = &run.cores[usize::from(core)].occupations;
    let on = occupations
        .iter()
        .find(|on| on.from_ns <= at_ns && at_ns < on.to_ns)?;
    Some(on.thread)
}

fn is_runnable(run: &CaseRun, thread: u16, at_ns: u64) -> bool {
    run.threads[usize::from(thread)]
        .runnable
        .iter()
        .any(|r| r.from_ns <= at_ns && at_ns < r.to_ns)
}

fn is_throttled(run: &CaseRun, core: u16, at_ns: u64) -> bool {
    run.cores[usize::from(core)]
        .throttles
        .iter()
        .any(|t| t.from_ns <= at_ns && at_ns < t.to_ns)
}

/// Cores that each thread may use, by the scenario and not by what was seen.
fn usable_cores(scenario: &Scenario) -> Vec<Vec<u16>> {
    let pinned = |cores: &[u16], thread: u16| vec![cores[usize::from(thread) % cores.len()]];
    let mut usable = Vec::new();
    for task in scenario.gangs.iter().flat_map(|gang| &gang.tasks) {
        usable.extend((0..task.threads).map(|thread| pinned(&task.cores, thread)));
    }
    for work in &scenario.best_effort {
        usable.extend((0..work.threads).map(|thread| match work.pinned {
            true => pinned(&work.cores, thread),
            false => work.cores.clone(),
        }));
    }
    usable
}

/// When the jobs of gangs that are tasks of one processor finish, by plain
/// fixed-priority scheduling: the reference for one gang at a time.
fn uniprocessor_responses_ns(gangs: &[Gang]) -> Vec<Vec<u64>> {
    let mut pending: Vec<Vec<(u64, u64)>> = vec![Vec::new(); gangs.len()];
    let mut responses = vec![Vec::new(); gangs.len()];
    let mut now = 0;
    let release =
        |gang: &Gang, number: u64| gang.tasks[0].offset_ns + number * gang.tasks[0].period_ns;
    let mut released = vec![0; gangs.len()];
    while now < DURATION_NS {
        for (index, gang) in gangs.iter().enumerate() {
            while release(gang, released[index]) <= now {
                let Program::Compute(compute) = &gang.tasks[0].program else {
                    panic!("not compute");
                };
                pending[index].push((release(gang, released[index]), compute.time_ns));
                released[index] += 1;
            }
        }
        let next_release = gangs
            .iter()
            .zip(&released)
            .map(|(gang, &number)| release(gang, number))
            .min()
            .unwrap();
        let chosen = (0..gangs.len())
            .filter(|&index| !pending[index].is_empty())
            .max_by_key(|&index| gangs[index].priority);
        let Some(index) = chosen else {
            now = next_release;
            continue;
        };
        let (released_ns, left_ns) = pending[index][0];
        let end = now + left_ns;
        if end <= next_release {
            pending[index].remove(0);
            now = end;
            if end <= DURATION_NS {
                responses[index].push(end - released_ns);
            }
        } else {
            pending[index][0].1 -= next_release - now;
            now = next_release;
        }
    }
    responses
}

fn lone_task(index: usize, cores: u16) -> impl Strategy<Value = Gang> {
    (
        100 * US..2000 * US,
        0..500 * US,
        1_u16..=cores,
        1..400 * US,
        0..cores,
    )
        .prop_map(move |(period_ns, offset_ns, threads, time_ns, first)| {
            let mut on: Vec<u16> = (0..cores).collect();
            on.rotate_left(usize::from(first));
            let name = format!("gang{index}");
            Gang {
                name: name.clone(),
                partition: 0,
                priority: index as u8 + 1,
                tolerance: Tolerance::UNLIMITED,
                class_of_service: None,
                tasks: vec![Task {
                    name,
                    period_ns,
                    deadline_ns: period_ns,
                    offset_ns,
                    threads,
                    cores: on,
                    program: compute(time_ns, Vec::new()),
                    overrun: Overrun::Queue,
                    known: Known::default(),
                }],
            }
        })
}

/// Gangs of distinct priority with one task each, whose threads have a core each.
fn lone_tasks() -> impl Strategy<Value = Scenario> {
    (1_u16..5, 1_usize..5, 0_usize..3).prop_flat_map(|(cores, gangs, works)| {
        let gangs: Vec<_> = (0..gangs).map(|g| lone_task(g, cores)).collect();
        let works: Vec<_> = (0..works).map(|w| best_effort(w, cores)).collect();
        (costs(0..1), gangs, works).prop_map(move |(os, gangs, works)| {
            let all = Partition {
                name: "all".into(),
                cores: (0..cores).collect(),
            };
            assemble(os, vec![all], ShareLimit::Off, gangs, works)
        })
    })
}

#[test]
fn best_effort_threads_of_one_core_share_it_to_a_tick() {
    let work = |name: &str, threads| BestEffort {
        name: name.into(),
        threads,
        cores: vec![0],
        pinned: true,
        class_of_service: None,
        program: compute(0, Vec::new()),
    };
    let os = OsCosts {
        context_switch_ns: 3 * US,
        interrupt_ns: 2 * US,
        reschedule_latency_ns: US,
        tick_ns: 100 * US,
    };
    let all = Partition {
        name: "all".into(),
        cores: vec![0],
    };
    let share = ShareLimit::Off;
    let scenario = assemble(
        os,
        vec![all],
        share,
        vec![],
        vec![work("a", 2), work("b", 1)],
    );
    for run in cases(&scenario, None) {
        let times: Vec<u64> = run
            .threads
            .iter()
            .map(|thread| thread.occupations.iter().map(|on| on.length_ns()).sum())
            .collect();
        assert_eq!(times.iter().sum::<u64>(), DURATION_NS);
        let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
        assert!(
            most - least <= os.tick_ns + os.interrupt_ns + os.context_switch_ns,
            "{times:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn the_verdict_finds_no_breach_with_costs(scenario in scenario(0..8000)) {
        for run in cases(&scenario, None) {
            expect_no_breach(&run)?;
        }
    }

    #[test]
    fn the_verdict_finds_no_breach_without_costs(scenario in scenario(0..1)) {
        for run in cases(&scenario, None) {
            expect_no_breach(&run)?;
        }
    }

    #[test]
    fn threads_stay_on_the_cores_that_they_may_use_and_the_plan_names(scenario in scenario(0..8000)) {
        let usable = usable_cores(&scenario);
        let plan = plan(&scenario).unwrap();
        for (run, plan) in cases(&scenario, None).iter().zip(&plan.cases) {
            for (thread, usable) in run.threads.iter().zip(&usable) {
                prop_assert!(thread.occupations.iter().all(|on| usable.contains(&on.core)));
            }
            let planned: Vec<_> = plan.threads.iter().map(|t| (&t.name, &t.cores)).collect();
            let declared = run.case.threads.iter().map(|t| &t.name);
            prop_assert_eq!(planned, declared.zip(&usable).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_core_idles_while_best_effort_work_waits_for_it(scenario in scenario(0..1)) {
        let usable = usable_cores(&scenario);
        for run in cases(&scenario, None) {
            for step in steps(&run) {
                let at = step.from_ns;
                let on: Vec<_> = (0..run.case.cores).map(|core| running(&run, core, at)).collect();
                let gang_runs = on.iter().flatten().any(|&thread| !run.is_best_effort(thread));
                for thread in (0..run.threads.len() as u16).filter(|&t| run.is_best_effort(t)) {
                    if on.contains(&Some(thread)) {
                        continue;
                    }
                    for &core in &usable[usize::from(thread)] {
                        let held = gang_runs && is_throttled(&run, core, at);
                        let free = on[usize::from(core)].is_none() && !held;
                        prop_assert!(
                            !free,
                            "{}: {} waits at {at} ns although core {core} is free",
                            run.case.name,
                            run.thread_name(thread)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn fixed_priority_runs_the_most_important_thread_of_each_core(scenario in scenario(0..1)) {
        let usable = usable_cores(&scenario);
        let runs = cases(&scenario, None);
        let run = case(&runs, "fixed-priority");
        let priority = |thread| run.gang_of(thread).map_or(0, |gang| gang.priority);
        for step in steps(run) {
            for core in 0..run.case.cores {
                let most = (0..run.threads.len() as u16)
                    .filter(|&t| !run.is_best_effort(t) && usable[usize::from(t)] == [core])
                    .filter(|&t| is_runnable(run, t, step.from_ns))
                    .map(priority)
                    .max()
                    .unwrap_or(0);
                let on = running(run, core, step.from_ns).map_or(0, priority);
                prop_assert_eq!(on, most, "core {} at {} ns", core, step.from_ns);
            }
        }
    }

    #[test]
    fn one_gang_at_a_time_is_uniprocessor_scheduling(scenario in lone_tasks()) {
        let runs = cases(&scenario, None);
        let run = case(&runs, "gang");
        let expected = uniprocessor_responses_ns(&scenario.gangs);
        for (gang, expected) in scenario.gangs.iter().zip(expected) {
            prop_assert_eq!(common::responses_ns(run, &gang.name), expected, "{}", gang.name);
        }
    }
}
