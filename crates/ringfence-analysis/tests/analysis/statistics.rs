//! Statistics against closed forms and plain recomputation.

use crate::common::*;
use proptest::collection::vec;
use proptest::prelude::*;
use ringfence_analysis::statistics::{BANDWIDTH_POINTS, statistics};
use ringfence_record::event::OffReason::{Preempted, Sleeping};
use ringfence_record::event::*;

#[test]
fn the_good_case() {
    let s = statistics(&read(&good()).unwrap());
    let low = &s.tasks[usize::from(LOW)];
    assert_eq!((low.task.as_str(), low.gang.as_str()), ("low", "low"));
    assert_eq!((low.jobs, low.finished, low.missed), (1, 1, 0));
    assert_eq!(low.response.as_ref().unwrap().max_ns, 6800);
    assert_eq!(low.start_delay.as_ref().unwrap().max_ns, 4050);
    assert_eq!(low.start_jitter_ns, Some(0));
    assert_eq!(low.execution.as_ref().unwrap().max_ns, 2 * 2750);

    let hog = &s.best_effort[0];
    assert_eq!(hog.thread, "hog/0");
    let throttled_ns = 150 + 200 + 500 + 300;
    assert_eq!(hog.throttled_ns, throttled_ns);
    assert_eq!(hog.core_time_ns, END_NS - throttled_ns);
    assert_eq!(
        (hog.read_bytes, hog.write_bytes),
        (Some(20_000), Some(9000))
    );
    assert_eq!(hog.accesses, Some(500));

    let core = &s.cores[3];
    assert_eq!(
        (core.real_time_ns, core.best_effort_ns),
        (0, END_NS - throttled_ns)
    );
    assert_eq!(core.idle_ns, throttled_ns);
    assert_eq!(core.throttled_ns, 200 + 200 + 500 + 300);
    assert_eq!(core.bandwidth.len(), 8);
    assert_eq!(core.bandwidth[1].read_bytes, 1064);
    let read_bytes: u64 = core.bandwidth.iter().map(|point| point.read_bytes).sum();
    assert_eq!(read_bytes, 20_000);

    let used_ns = 2 * 3950 + 2 * 2750 + 4950;
    let slack = s.slack.unwrap();
    assert_eq!(slack.run_ns, 4 * END_NS - used_ns);
    assert_eq!(slack.hyperperiod_ns, None); // 20 us in a run of 12 us
}

/// RT-Gang (RTAS 2019), Fig. 4: four cores, `high` of 2 ms on two of them and
/// `low` of 4 ms on two others, every 10 ms. `busy_us` is how long each runs.
fn illustrative(high_us: u64, low_us: u64) -> Vec<Event> {
    let us = 1000;
    let mut events = good()[..1].to_vec();
    declare(&mut events, |case| {
        for task in &mut case.tasks {
            task.period_ns = 10_000 * us;
            task.deadline_ns = 10_000 * us;
        }
        case.tasks[usize::from(OTHER)].period_ns = 5000 * us;
    });
    for period in 0..3 {
        let start_ns = period * 10_000 * us;
        for (thread, busy_us) in [(0, high_us), (1, high_us), (2, low_us), (3, low_us)] {
            events.push(on(start_ns, thread, thread));
            events.push(off(start_ns + busy_us * us, thread, thread, Sleeping));
        }
    }
    let time_ns = 30_000 * us;
    events.push(Event::CaseEnd { time_ns });
    in_order(events)
}

#[test]
fn slack_of_the_illustrative_example() {
    for (high_us, slack_us) in [(2000, 28_000), (5600, 20_800)] {
        let slack = statistics(&read(&illustrative(high_us, 4000)).unwrap())
            .slack
            .unwrap();
        assert_eq!(slack.hyperperiod_ns, Some(10_000_000));
        assert_eq!(slack.hyperperiods, 3);
        assert_eq!(slack.hyperperiod_min_ns, Some(slack_us * 1000));
        assert_eq!(slack.hyperperiod_max_ns, Some(slack_us * 1000));
        assert_eq!(slack.run_ns, 3 * slack_us * 1000);
    }
}

#[test]
fn jobs_are_counted_by_how_they_end() {
    let mut events = good();
    let (task, time_ns) = (HIGH, 4000);
    for job in 1..=3 {
        events.push(Event::JobReleased { time_ns, task, job });
    }
    events.push(Event::JobDropped {
        time_ns,
        task,
        job: 1,
    });
    events.push(Event::JobStarted {
        time_ns,
        task,
        job: 2,
    });
    let mut early = events.clone();
    let s = statistics(&read(&in_order(events)).unwrap());
    let high = &s.tasks[usize::from(HIGH)];
    assert_eq!(
        (high.jobs, high.finished, high.dropped, high.unfinished),
        (4, 1, 1, 2)
    );
    assert_eq!(high.missed, 0); // Their deadlines are after the end.
    assert_eq!(high.start_delay.as_ref().unwrap().count, 2);
    assert_eq!(high.start_jitter_ns, Some(50));

    declare(&mut early, |case| {
        case.tasks[usize::from(HIGH)].deadline_ns = 8000
    });
    let s = statistics(&read(&in_order(early)).unwrap());
    assert_eq!(s.tasks[usize::from(HIGH)].missed, 3);
}

#[test]
fn bytes_of_threads_that_share_a_stretch_are_unknown() {
    let mut events = good();
    declare(&mut events, |case| {
        case.threads.push(Thread {
            name: "hog/1".into(),
            task: None,
        });
    });
    let hogs = |events: Vec<Event>| {
        let hogs = statistics(&read(&in_order(events)).unwrap()).best_effort;
        hogs.iter().map(|hog| hog.read_bytes).collect::<Vec<_>>()
    };
    // On another core, whose counters stand still.
    let mut apart = events.clone();
    apart.extend([on(8000, 2, 6), off(9000, 2, 6, Preempted)]);
    assert_eq!(hogs(apart), [Some(20_000), Some(0)]);
    // On the same core, between the same samples.
    events.extend([
        off(8000, 3, HOG, Preempted),
        on(8000, 3, 6),
        off(9000, 3, 6, Preempted),
        on(9000, 3, HOG),
    ]);
    assert_eq!(hogs(events), [None, None]);
}

#[test]
fn a_late_write_back_belongs_to_the_thread_that_ran_last() {
    let mut events = good();
    replace(
        &mut events,
        sample(END_NS, 20_000, 9000),
        sample(8000, 20_000, 9000),
    );
    events.push(off(8000, 3, HOG, Sleeping));
    events.push(sample(END_NS, 20_000, 9500));
    let s = statistics(&read(&in_order(events)).unwrap());
    assert_eq!(s.best_effort[0].write_bytes, Some(9500));
}

#[test]
fn many_samples_are_joined_without_losing_a_byte() {
    let mut events = good()[..1].to_vec();
    let samples = 2 * BANDWIDTH_POINTS as u64 + 1;
    events.extend((1..=samples).map(|i| sample(i, i * 10, i)));
    let time_ns = samples;
    events.push(Event::CaseEnd { time_ns });
    let core = statistics(&read(&events).unwrap()).cores.remove(3);
    assert!(core.bandwidth.len() <= BANDWIDTH_POINTS);
    let sum: u64 = core.bandwidth.iter().map(|point| point.read_bytes).sum();
    assert_eq!(sum, samples * 10);
    assert!(
        core.bandwidth
            .windows(2)
            .all(|pair| pair[0].to_ns == pair[1].from_ns)
    );
}

/// Lengths of running and pausing, in turn, of a thread on each of the cores 0 to 2.
fn any_courses() -> impl Strategy<Value = Vec<Vec<(u64, u64)>>> {
    vec(vec((1..20_u64, 1..20_u64), 0..12), 3)
}

proptest! {
    #[test]
    fn slack_is_what_a_count_of_nanoseconds_gives(
        courses in any_courses(),
        periods in vec(1..30_u64, 3),
        end_ns in 300..500_u64,
    ) {
        let mut events = good()[..1].to_vec();
        declare(&mut events, |case| {
            for (task, period_ns) in case.tasks.iter_mut().zip(&periods) {
                task.period_ns = *period_ns;
            }
        });
        let mut used = vec![0_u64; end_ns as usize];
        for (core, (course, thread)) in (0..).zip(courses.iter().zip([0, 2, 4])) {
            let mut now_ns = 0;
            for (pause_ns, length_ns) in course {
                let from_ns = (now_ns + pause_ns).min(end_ns);
                now_ns = (from_ns + length_ns).min(end_ns);
                events.push(on(from_ns, core, thread));
                events.push(off(now_ns, core, thread, Sleeping));
                used[from_ns as usize..now_ns as usize].iter_mut().for_each(|n| *n += 1);
            }
        }
        events.push(Event::CaseEnd { time_ns: end_ns });
        let slack = statistics(&read(&in_order(events)).unwrap()).slack.unwrap();

        let free: Vec<u64> = used.iter().map(|used| 4 - used).collect();
        prop_assert_eq!(slack.run_ns, free.iter().sum::<u64>());
        let common = |ns: &u64| periods.iter().all(|period| ns.is_multiple_of(*period));
        let hyperperiod_ns = (1..=end_ns).find(common);
        prop_assert_eq!(slack.hyperperiod_ns, hyperperiod_ns);
        if let Some(length_ns) = hyperperiod_ns {
            let windows = free.chunks_exact(length_ns as usize);
            let windows: Vec<u64> = windows.map(|window| window.iter().sum()).collect();
            prop_assert_eq!(slack.hyperperiods, windows.len() as u64);
            prop_assert_eq!(slack.hyperperiod_min_ns, windows.iter().min().copied());
            prop_assert_eq!(slack.hyperperiod_max_ns, windows.iter().max().copied());
        }
    }
}
