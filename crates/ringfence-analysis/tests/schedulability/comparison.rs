//! The tests for global scheduling against a simulator that goes tick by tick.

use ringfence_analysis::schedulability::comparison::{GlobalTask, Policy, judge};

use crate::generate::{Random, utilizations_ppm};

const TICKS: u64 = 3_000;

fn task(threads: u64, execution: u64, period: u64, priority: u8) -> GlobalTask {
    GlobalTask {
        name: format!("priority-{priority}"),
        priority,
        threads,
        period_ns: period,
        deadline_ns: period,
        execution_ns: execution,
    }
}

/// What is left of the current job of a task: a time for each thread.
struct Running {
    released: u64,
    next_release: u64,
    left: Vec<u64>,
}

/// The longest response of each task. Jobs come at the period or later, and take
/// their worst case or less; a job that is late runs into the next.
fn simulate(random: &mut Random, tasks: &[GlobalTask], cores: u64, policy: Policy) -> Vec<u64> {
    let mut running: Vec<Running> = tasks
        .iter()
        .map(|task| Running {
            released: 0,
            next_release: random.within(0, task.period_ns),
            left: Vec::new(),
        })
        .collect();
    let mut longest = vec![0; tasks.len()];
    for now in 0..TICKS {
        for (task, state) in tasks.iter().zip(&mut running) {
            if now >= state.next_release && state.left.is_empty() {
                state.released = state.next_release;
                let late = random.within(0, 9).saturating_sub(6);
                state.next_release += task.period_ns + late;
                let least = task.execution_ns - random.pick(&[0, 0, task.execution_ns / 2]);
                state.left = vec![least; task.threads as usize];
            }
        }
        let mut free = cores;
        for (index, task) in tasks.iter().enumerate() {
            let state = &mut running[index];
            let ready = state.left.len() as u64;
            let granted = match policy {
                Policy::GlobalFixedPriority => ready.min(free),
                Policy::GlobalGangFixedPriority if ready == task.threads && ready <= free => ready,
                Policy::GlobalGangFixedPriority => 0,
            };
            free -= granted;
            for left in &mut state.left[..granted as usize] {
                *left -= 1;
            }
            state.left.retain(|&left| left > 0);
            if granted > 0 && state.left.is_empty() {
                longest[index] = longest[index].max(now + 1 - state.released);
            }
        }
    }
    longest
}

/// Tasks from the highest priority down.
fn random_tasks(random: &mut Random, cores: u64) -> Vec<GlobalTask> {
    let count = random.within(2, 7) as usize;
    let total_ppm = random.within(200_000, 700_000) * cores;
    utilizations_ppm(random, count, total_ppm)
        .into_iter()
        .zip((1..=99).rev())
        .map(|(ppm, priority)| {
            let threads = random.within(1, cores + 1);
            let period = random.within(5, 60);
            let execution = (period * ppm / threads / 1_000_000).clamp(1, period);
            task(threads, execution, period, priority)
        })
        .collect()
}

#[test]
fn no_simulated_response_exceeds_its_bound() {
    for policy in [Policy::GlobalFixedPriority, Policy::GlobalGangFixedPriority] {
        let (mut bounded, mut reached) = (0, 0);
        for seed in 0..1_500 {
            let random = &mut Random::new(seed);
            let cores = random.within(1, 6);
            let tasks = random_tasks(random, cores);
            let verdict = judge(&tasks, cores, policy);
            let longest = simulate(random, &tasks, cores, policy);
            for ((task, bound), seen) in tasks.iter().zip(&verdict.responses_ns).zip(longest) {
                let Some(bound) = *bound else { break };
                assert!(
                    seen <= bound,
                    "seed {seed}, {policy:?}, {}: {seen} > {bound}",
                    task.name
                );
                bounded += 1;
                reached += u32::from(seen == bound);
            }
        }
        println!("{policy:?}: {bounded} bounds, {reached} of them reached");
        assert!(bounded > 1_000 && reached > 100);
    }
}

#[test]
fn one_core_is_plain_response_time_analysis() {
    let tasks = [task(1, 3, 7, 9), task(1, 3, 12, 8), task(1, 5, 20, 7)];
    for policy in [Policy::GlobalFixedPriority, Policy::GlobalGangFixedPriority] {
        let verdict = judge(&tasks, 1, policy);
        assert_eq!(verdict.responses_ns[..2], [Some(3), Some(6)]);
    }
}

#[test]
fn gangs_that_fit_side_by_side_do_not_wait() {
    let tasks = [task(2, 5, 10, 2), task(2, 9, 10, 1)];
    let gangs = judge(&tasks, 4, Policy::GlobalGangFixedPriority);
    // The test cannot tell that the first never keeps three cores.
    assert_eq!(gangs.responses_ns[0], Some(5));
    let alone = judge(
        &[task(3, 5, 10, 2), task(2, 6, 10, 1)],
        4,
        Policy::GlobalGangFixedPriority,
    );
    assert!(!alone.schedulable);
}

#[test]
fn what_the_tests_are_not_for_is_not_schedulable() {
    let too_wide = [task(3, 1, 10, 1)];
    assert!(!judge(&too_wide, 2, Policy::GlobalGangFixedPriority).schedulable);
    let mut late = task(1, 1, 10, 1);
    late.deadline_ns = 11;
    assert!(!judge(&[late], 2, Policy::GlobalFixedPriority).schedulable);
}
