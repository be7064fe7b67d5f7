//! Response times that can be worked out by hand, or that others have published.

use ringfence_analysis::schedulability::response::Response;
use ringfence_analysis::schedulability::system::{Costs, Partition, Share, Task};
use ringfence_analysis::schedulability::verdict::{ShareVerdict, Unbounded, judge};

/// A task of one thread; earlier tasks are made more important by [`partition`].
pub fn task(execution_ns: u64, period_ns: u64) -> Task {
    Task {
        name: String::new(),
        gang: String::new(),
        priority: 0,
        period_ns,
        deadline_ns: period_ns,
        offset_ns: 0,
        jitter_ns: 0,
        cores: vec![0],
        execution_ns,
        interference_ns: Some(0),
        begin_ns: 0,
        resume_ns: 0,
        barriers: 0,
        barrier_reload_ns: 0,
        non_preemptive_ns: 0,
        queues: true,
    }
}

/// Tasks from the most important to the least, without costs.
pub fn partition(tasks: Vec<Task>) -> Partition {
    let mut tasks = tasks;
    for (index, task) in tasks.iter_mut().enumerate() {
        task.name = format!("task-{index}");
        task.priority = 99 - index as u8;
    }
    Partition {
        name: "all".into(),
        tasks,
        costs: Costs::default(),
        share: None,
        refill_period_ns: None,
        entangled: Vec::new(),
    }
}

/// Longest response of each task, from the most important on.
pub fn responses_ns(partition: &Partition) -> Vec<Option<u64>> {
    let tasks = judge(partition).tasks;
    tasks
        .iter()
        .map(|task| task.response.map(|response: Response| response.response_ns))
        .collect()
}

fn of(pairs: &[(u64, u64)]) -> Partition {
    partition(pairs.iter().map(|&(c, t)| task(c, t)).collect())
}

#[test]
fn published_examples() {
    // Burns, Wellings: Real-Time Systems and Programming Languages, chapter on
    // scheduling, the example of response-time analysis.
    assert_eq!(
        responses_ns(&of(&[(3, 7), (3, 12), (5, 20)])),
        [Some(3), Some(6), Some(20)]
    );
    // Lehoczky, RTSS 1990: the longest response is not that of the first job.
    let arbitrary = of(&[(26, 70), (62, 100)]);
    assert_eq!(responses_ns(&arbitrary), [Some(26), Some(118)]);
    assert_eq!(judge(&arbitrary).tasks[1].response.unwrap().job, 4);
    // Lehoczky, RTSS 1990, example 2.
    assert_eq!(
        responses_ns(&of(&[(52, 100), (52, 140)])),
        [Some(52), Some(156)]
    );
    assert_eq!(
        responses_ns(&of(&[(52, 140), (52, 100)])),
        [Some(52), Some(108)]
    );
}

/// RT-Gang, table I and figure 4 (b): 2 ms and then 4 ms of each 10 ms.
#[test]
fn the_papers_illustrative_set() {
    assert_eq!(responses_ns(&of(&[(2, 10), (4, 10)])), [Some(2), Some(6)]);
}

#[test]
fn jitter_counts_for_oneself_and_for_those_below() {
    let mut partition = of(&[(3, 7), (3, 12)]);
    partition.tasks[0].jitter_ns = 2;
    assert_eq!(responses_ns(&partition), [Some(5), Some(9)]);
}

#[test]
fn blocking_is_the_longest_below() {
    let mut partition = of(&[(3, 7), (3, 12), (1, 20)]);
    partition.tasks[1].non_preemptive_ns = 1;
    partition.tasks[2].non_preemptive_ns = 2;
    // Each job of the first task can wait for the second, and wait again.
    assert_eq!(responses_ns(&partition)[0], Some(5));
}

#[test]
fn each_cost_is_charged_where_it_occurs() {
    let mut partition = of(&[(100, 10_000), (1_000, 10_000)]);
    partition.costs = Costs {
        context_switch_ns: 7,
        interrupt_ns: 2,
        latency_ns: 1,
        access_ns: 3,
    };
    // Hand-over: message 1, access 3, two choices of 9, one stale interrupt 2.
    let hand_over = 1 + 3 + 18 + 2;
    // Take-over: message 1, choice 9, access 3, hand-over.
    let take_over = 1 + 9 + 3 + hand_over;
    // Own job and an interrupt; the lower task's release.
    let first = 100 + take_over + 2 + 2;
    // Own job; the higher one, with the hand-over back.
    let second = (1_000 + take_over + 2) + (100 + take_over + 2 + hand_over);
    assert_eq!(responses_ns(&partition), [Some(first), Some(second)]);
}

#[test]
fn a_gang_gets_its_caches_back_after_each_preemption() {
    let mut partition = of(&[(10, 100), (10, 100), (50, 300)]);
    partition.tasks[1].resume_ns = 7;
    partition.tasks[2].resume_ns = 4;
    // Every job of the second begins in a cache that is full of others' dirty lines.
    partition.tasks[1].begin_ns = 2;
    // Jobs of the first can preempt either of the others, those of the second the third.
    let second = 10 + 2 + (10 + 7);
    let third = 50 + (10 + 7) + (10 + 2 + 4);
    assert_eq!(
        responses_ns(&partition),
        [Some(10), Some(second), Some(third)]
    );
}

#[test]
fn tasks_of_one_gang_run_side_by_side() {
    let mut partition = of(&[(30, 100), (40, 100), (20, 200)]);
    partition.tasks[1].priority = 99;
    partition.tasks[1].cores = vec![1];
    // The gang takes as long as its longest task.
    assert_eq!(
        responses_ns(&partition),
        [Some(30), Some(40), Some(40 + 20)]
    );
    // On one core they take turns, in either order.
    partition.tasks[1].cores = vec![0];
    assert_eq!(
        responses_ns(&partition),
        [Some(70), Some(70), Some(70 + 20)]
    );
    // Released apart, they may also keep the partition one after the other.
    partition.tasks[1].cores = vec![1];
    partition.tasks[1].offset_ns = 50;
    assert_eq!(
        responses_ns(&partition),
        [Some(30), Some(40), Some(70 + 20)]
    );
}

#[test]
fn the_share_limit_adds_its_gaps() {
    let mut partition = of(&[(30, 1_000)]);
    // At worst the limit is used up: wait 80; 20 of 30 served; wait 80; the last 10.
    partition.share = Some(Share {
        limit_ns: 20,
        window_ns: 100,
    });
    let verdict = judge(&partition);
    assert_eq!(
        verdict.share,
        ShareVerdict::MayBeReached {
            limit_ns: 20,
            window_ns: 100
        }
    );
    let response = verdict.tasks[0].response.unwrap();
    assert_eq!((response.response_ns, response.share_ns), (190, 160));
}

#[test]
fn a_share_limit_that_is_never_reached_costs_nothing() {
    let mut partition = of(&[(30, 1_000)]);
    partition.share = Some(Share {
        limit_ns: 900,
        window_ns: 1_000,
    });
    let verdict = judge(&partition);
    // Two jobs can run in a window: one that was released before it, and one in it.
    assert_eq!(
        verdict.share,
        ShareVerdict::NeverReached {
            busy_ns: 60,
            limit_ns: 900
        }
    );
    assert_eq!(verdict.tasks[0].response.unwrap().response_ns, 30);
}

#[test]
fn what_fails_says_by_how_much() {
    let mut late = of(&[(3, 7), (3, 12), (5, 20)]);
    late.tasks[2].deadline_ns = 18;
    let verdict = judge(&late);
    assert!(!verdict.schedulable);
    assert_eq!(verdict.tasks[2].slack_ns, Some(-2));
    let overloaded = judge(&of(&[(6, 10), (6, 10)]));
    assert_eq!(overloaded.tasks[0].slack_ns, Some(4));
    assert_eq!(
        overloaded.tasks[1].unbounded,
        Some(Unbounded::Overload {
            utilization_ppm: 1_200_000
        })
    );
    assert_eq!(overloaded.utilization_ppm, 1_200_000);
}

#[test]
fn the_largest_values_neither_wrap_nor_hang() {
    const MOST: u64 = u64::MAX;
    let mut partition = of(&[(MOST, 1), (MOST / 2, MOST), (1, MOST)]);
    partition.costs = Costs {
        context_switch_ns: MOST,
        interrupt_ns: MOST,
        latency_ns: MOST,
        access_ns: MOST,
    };
    partition.tasks[1].jitter_ns = MOST;
    partition.tasks[2].resume_ns = MOST;
    assert_eq!(responses_ns(&partition), [None, None, None]);
    // A busy window of a million jobs ends the search, not the patience.
    let nearly_full = of(&[(1, 2), (499_999, 1_000_000)]);
    assert!(responses_ns(&nearly_full)[1].is_some());
}
