//! The gang rules against random schedules: good ones pass, an overlap fails,
//! and a naive checker that looks at every nanosecond comes to the same result.

use crate::common::{off, on, read};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use ringfence_analysis::case::CaseRun;
use ringfence_analysis::verdict::{ClaimKind, Outcome, judge};
use ringfence_record::event::OffReason::{Preempted, Sleeping};
use ringfence_record::event::*;

const TICKS: usize = 60;

/// One partition; each thread is a task of its own, pinned to a core.
#[derive(Debug, Clone)]
struct Setup {
    cores: u16,
    /// Priority and core of each thread.
    threads: Vec<(u8, u16)>,
    hand_over_ns: u64,
    overlap_ns: Option<u64>,
    instant_after_ns: Option<u64>,
}

/// Who is on which core and who wants to run, for every nanosecond.
#[derive(Debug, Clone)]
struct Schedule {
    /// `running[tick][core]`
    running: Vec<Vec<Option<u16>>>,
    /// `runnable[tick][thread]`
    runnable: Vec<Vec<bool>>,
}

fn any_setup() -> impl Strategy<Value = Setup> {
    (2..=4_u16).prop_flat_map(|cores| {
        let threads = vec((1..=3_u8, 0..cores), 2..=6);
        let overlap_ns = proptest::option::of(0..6_u64);
        let instant_after_ns = proptest::option::of(0..12_u64);
        (threads, 0..6_u64, overlap_ns, instant_after_ns).prop_map(
            move |(threads, hand_over_ns, overlap_ns, instant_after_ns)| Setup {
                cores,
                threads,
                hand_over_ns,
                overlap_ns,
                instant_after_ns,
            },
        )
    })
}

/// For each thread, how long it sleeps and how much it then works, in turn.
fn any_load(threads: usize) -> impl Strategy<Value = Vec<Vec<(usize, usize)>>> {
    vec(vec((0..15_usize, 1..10_usize), 1..5), threads)
}

/// One gang at a time, decided whenever a hand-over has passed.
fn schedule(setup: &Setup, load: &[Vec<(usize, usize)>]) -> Schedule {
    let threads = setup.threads.len();
    let mut bursts: Vec<_> = load.iter().map(|bursts| bursts.iter().copied()).collect();
    let mut sleep: Vec<usize> = vec![0; threads];
    let mut work: Vec<usize> = vec![0; threads];
    for thread in 0..threads {
        (sleep[thread], work[thread]) = bursts[thread].next().unwrap_or((TICKS, 0));
    }
    let mut on_core = vec![None; usize::from(setup.cores)];
    let mut schedule = Schedule {
        running: Vec::new(),
        runnable: Vec::new(),
    };
    for tick in 0..TICKS {
        let runnable: Vec<bool> = (0..threads).map(|t| sleep[t] == 0 && work[t] > 0).collect();
        if (tick as u64).is_multiple_of(setup.hand_over_ns + 1) {
            let highest = (0..threads)
                .filter(|t| runnable[*t])
                .map(|t| setup.threads[t].0)
                .max();
            for (core, place) in on_core.iter_mut().enumerate() {
                *place = (0..threads).find(|&t| {
                    let (priority, home) = setup.threads[t];
                    runnable[t] && Some(priority) == highest && usize::from(home) == core
                });
            }
        }
        schedule.runnable.push(runnable);
        schedule
            .running
            .push(on_core.iter().map(|t| t.map(|t| t as u16)).collect());
        for sleep in &mut sleep {
            *sleep = sleep.saturating_sub(1);
        }
        for place in &mut on_core {
            let Some(thread) = *place else { continue };
            work[thread] -= 1;
            if work[thread] == 0 {
                (sleep[thread], work[thread]) = bursts[thread].next().unwrap_or((TICKS, 0));
                *place = None;
            }
        }
    }
    schedule
}

/// A thread that waits goes on waiting until it runs: it cannot fall asleep
/// off its core.
fn keep_waiting(schedule: &mut Schedule) {
    for tick in 1..TICKS {
        for thread in 0..schedule.runnable[tick].len() {
            let ran = schedule.running[tick - 1].contains(&Some(thread as u16));
            schedule.runnable[tick][thread] |= schedule.runnable[tick - 1][thread] && !ran;
        }
    }
}

/// The schedule as a section of a record.
fn record(setup: &Setup, schedule: &Schedule) -> CaseRun {
    let mut events = vec![Event::CaseBegin(Box::new(declare(setup)))];
    let idle = vec![None; usize::from(setup.cores)];
    let asleep = vec![false; setup.threads.len()];
    for tick in 0..TICKS {
        let time_ns = tick as u64;
        let (ran, wanted) = match tick {
            0 => (&idle, &asleep),
            _ => (&schedule.running[tick - 1], &schedule.runnable[tick - 1]),
        };
        let (runs, wants) = (&schedule.running[tick], &schedule.runnable[tick]);
        for (core, place) in (0..).zip(ran) {
            let Some(thread) = *place else { continue };
            let sleeps = !wants[usize::from(thread)];
            if sleeps || runs[usize::from(core)] != Some(thread) {
                let reason = if sleeps { Sleeping } else { Preempted };
                events.push(off(time_ns, core, thread, reason));
            }
        }
        for (thread, wants) in (0..).zip(wants) {
            if *wants && !wanted[usize::from(thread)] {
                events.push(Event::ThreadWoke { time_ns, thread });
            }
        }
        for (core, place) in (0..).zip(runs) {
            let Some(thread) = *place else { continue };
            if ran[usize::from(core)] != Some(thread) || !wants[usize::from(thread)] {
                events.push(on(time_ns, core, thread));
            }
        }
    }
    let time_ns = TICKS as u64;
    events.push(Event::CaseEnd { time_ns });
    read(&events).expect("the generator is well-formed")
}

fn declare(setup: &Setup) -> Case {
    let names = |index: usize| format!("t{index}");
    let threads = setup.threads.iter().enumerate();
    Case {
        name: "random".into(),
        duration_ns: TICKS as u64,
        cores: setup.cores,
        claims: Claims {
            one_gang_at_a_time: true,
            hand_over_ns: setup.hand_over_ns,
            overlap_ns: setup.overlap_ns,
            instant_after_ns: setup.instant_after_ns,
            ..Claims::default()
        },
        partitions: vec![Partition {
            name: "all".into(),
            cores: (0..setup.cores).collect(),
        }],
        gangs: threads
            .clone()
            .map(|(index, (priority, _))| Gang {
                name: names(index),
                partition: 0,
                priority: *priority,
                tolerance_read_bytes_per_second: None,
                tolerance_write_bytes_per_second: None,
            })
            .collect(),
        tasks: threads
            .clone()
            .map(|(index, _)| Task {
                name: names(index),
                gang: index as u16,
                period_ns: 1000,
                deadline_ns: 1000,
                // Threads run, but no job is due.
                offset_ns: u64::MAX,
                sporadic: false,
            })
            .collect(),
        threads: threads
            .map(|(index, _)| Thread {
                name: names(index),
                task: Some(index as u16),
            })
            .collect(),
        classes_of_service: vec![],
        accuracy: Default::default(),
    }
}

fn outcome(run: &CaseRun, kind: ClaimKind) -> Outcome {
    judge(run).claim(kind).unwrap().outcome
}

/// Whether `condition` holds for more than `hand_over_ns` without a gap.
fn holds_for_long(hand_over_ns: u64, condition: impl Fn(usize) -> bool) -> bool {
    let mut length = 0;
    (0..TICKS).any(|tick| {
        length = if condition(tick) { length + 1 } else { 0 };
        length > hand_over_ns
    })
}

/// Whether `thread`, which is on `core` then, has an instant there.
fn has_instant(setup: &Setup, schedule: &Schedule, tick: usize, core: usize) -> bool {
    let (Some(after_ns), Some(thread)) = (setup.instant_after_ns, schedule.running[tick][core])
    else {
        return false;
    };
    let is_here = |tick: &usize| schedule.running[*tick][core] == Some(thread);
    let stayed = (0..=tick).rev().take_while(is_here).count();
    let came = tick + 1 - stayed;
    let waits = |tick: &usize| {
        schedule.runnable[*tick][usize::from(thread)]
            && !schedule.running[*tick].contains(&Some(thread))
    };
    let waited = (0..came).rev().take_while(waits).count();
    stayed as u64 <= setup.hand_over_ns && waited as u64 + setup.hand_over_ns >= after_ns
}

/// The rule of `docs/src/verdict.md`, nanosecond by nanosecond.
fn naive_one_gang(setup: &Setup, schedule: &Schedule) -> bool {
    let priority = |thread: u16| setup.threads[usize::from(thread)].0;
    let higher_runnable = |tick: usize, than: u8| {
        (0..setup.threads.len()).any(|t| schedule.runnable[tick][t] && setup.threads[t].0 > than)
    };
    // Who is of this priority and has no instant.
    let has_any = |tick: usize, level: u8| {
        let cores = 0..usize::from(setup.cores);
        let mut cores = cores.filter(|&core| !has_instant(setup, schedule, tick, core));
        cores.any(|core| schedule.running[tick][core].map(priority) == Some(level))
    };
    if let Some(overlap_ns) = setup.overlap_ns {
        // Each stay on a core has its own clock.
        return !(0..usize::from(setup.cores)).any(|core| {
            let mut length = 0;
            (0..TICKS).any(|tick| {
                let thread = schedule.running[tick][core];
                let is_new = tick == 0 || schedule.running[tick - 1][core] != thread;
                let overlaps = thread.is_some_and(|it| higher_runnable(tick, priority(it)));
                length = match (overlaps, is_new) {
                    (false, _) => 0,
                    (true, true) => 1,
                    (true, false) => length + 1,
                };
                length > overlap_ns && !has_instant(setup, schedule, tick, core)
            })
        });
    }
    let beside = schedule.running.iter().any(|running| {
        let mut priorities: Vec<u8> = running.iter().flatten().map(|t| priority(*t)).collect();
        priorities.dedup();
        priorities.len() > 1
    });
    // The clock runs from the moment that a higher gang became runnable.
    let late = (1..=3).any(|level| {
        let mut length = 0;
        (0..TICKS).any(|tick| {
            length = if higher_runnable(tick, level) {
                length + 1
            } else {
                0
            };
            length > setup.hand_over_ns && has_any(tick, level)
        })
    });
    !beside && !late
}

/// The rule of `docs/src/verdict.md`, nanosecond by nanosecond.
fn naive_work_conservation(setup: &Setup, schedule: &Schedule) -> bool {
    let threads = setup.threads.len();
    !(0..threads).any(|thread| {
        let ran_on = |core: usize| {
            (0..TICKS).any(|tick| schedule.running[tick][core] == Some(thread as u16))
        };
        let homes: Vec<usize> = (0..usize::from(setup.cores))
            .filter(|c| ran_on(*c))
            .collect();
        holds_for_long(setup.hand_over_ns, |tick| {
            let running = &schedule.running[tick];
            let priority = setup.threads[thread].0;
            let free = if homes.is_empty() {
                running.iter().all(Option::is_none)
            } else {
                homes.iter().any(|core| running[*core].is_none())
            };
            schedule.runnable[tick][thread]
                && !running.contains(&Some(thread as u16))
                && !(0..threads)
                    .any(|t| schedule.runnable[tick][t] && setup.threads[t].0 > priority)
                && !running
                    .iter()
                    .flatten()
                    .any(|t| setup.threads[usize::from(*t)].0 < priority)
                && free
        })
    })
}

/// Places and times where a thread could be put beside one of another priority.
fn overlaps(setup: &Setup, schedule: &Schedule) -> Vec<(usize, usize, u16)> {
    let mut found = Vec::new();
    for (tick, running) in schedule.running.iter().enumerate() {
        let here: Vec<u16> = running.iter().flatten().copied().collect();
        for core in 0..running.len() {
            let others = running.iter().enumerate();
            let beside: Vec<u16> = others
                .filter(|o| o.0 != core)
                .filter_map(|o| *o.1)
                .collect();
            for thread in (0..setup.threads.len() as u16).filter(|t| !here.contains(t)) {
                let priority = |t: u16| setup.threads[usize::from(t)].0;
                if beside
                    .iter()
                    .any(|other| priority(*other) != priority(thread))
                {
                    found.push((tick, core, thread));
                }
            }
        }
    }
    found
}

fn setup_and_load() -> impl Strategy<Value = (Setup, Vec<Vec<(usize, usize)>>)> {
    any_setup().prop_flat_map(|setup| {
        let load = any_load(setup.threads.len());
        (Just(setup), load)
    })
}

proptest! {
    #[test]
    fn one_gang_at_a_time_passes((mut setup, load) in setup_and_load()) {
        // A lower gang stays until the next decision.
        setup.overlap_ns = setup.overlap_ns.map(|overlap_ns| overlap_ns.max(setup.hand_over_ns));
        let run = record(&setup, &schedule(&setup, &load));
        let verdict = judge(&run);
        // These records have no jobs, so nothing is said about them.
        for claim in &verdict.claims {
            let expected = match claim.kind {
                ClaimKind::Releases | ClaimKind::Deadlines => Outcome::NotJudged,
                _ => Outcome::Pass,
            };
            prop_assert!(
                matches!(claim.outcome, Outcome::NotClaimed) || claim.outcome == expected,
                "{claim:#?}"
            );
        }
    }

    #[test]
    fn a_single_overlap_fails((mut setup, load) in setup_and_load(), which in any::<Index>()) {
        setup.overlap_ns = None;
        let mut schedule = schedule(&setup, &load);
        let places = overlaps(&setup, &schedule);
        prop_assume!(!places.is_empty());
        let (tick, core, thread) = *which.get(&places);
        schedule.running[tick][core] = Some(thread);
        schedule.runnable[tick][usize::from(thread)] = true;
        keep_waiting(&mut schedule);
        let run = record(&setup, &schedule);
        prop_assert_eq!(outcome(&run, ClaimKind::OneGangAtATime), Outcome::Fail);
    }

    #[test]
    fn a_naive_checker_agrees(
        (setup, load) in setup_and_load(),
        changes in vec((0..TICKS, 1..12_usize, any::<Index>(), any::<Index>(), any::<bool>()), 0..6),
    ) {
        let mut schedule = schedule(&setup, &load);
        for (from, length, core, thread, put) in changes {
            let core = core.index(usize::from(setup.cores));
            let thread = thread.index(setup.threads.len());
            for tick in from..(from + length).min(TICKS) {
                let running = &mut schedule.running[tick];
                if !put {
                    running[core] = None;
                } else if !running.contains(&Some(thread as u16)) {
                    running[core] = Some(thread as u16);
                    schedule.runnable[tick][thread] = true;
                }
            }
        }
        keep_waiting(&mut schedule);
        let run = record(&setup, &schedule);
        let expect = |good| if good { Outcome::Pass } else { Outcome::Fail };
        prop_assert_eq!(
            outcome(&run, ClaimKind::OneGangAtATime),
            expect(naive_one_gang(&setup, &schedule))
        );
        prop_assert_eq!(
            outcome(&run, ClaimKind::WorkConservation),
            expect(naive_work_conservation(&setup, &schedule))
        );
    }
}
