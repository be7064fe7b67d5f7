//! Sections that contradict themselves are refused, with the event's number.

use crate::common::*;
use ringfence_analysis::case::{Interval, JobEnd};
use ringfence_record::event::OffReason::{Preempted, Sleeping};
use ringfence_record::event::*;

#[test]
fn a_good_section_becomes_intervals() {
    let run = read(&good()).unwrap();
    assert_eq!(run.end_ns, END_NS);
    let job = run.jobs[usize::from(LOW)][0];
    assert_eq!((job.released_ns, job.started_ns), (0, Some(4050)));
    assert_eq!(job.end, JobEnd::Finished(6800));
    assert_eq!(job.response_ns(), Some(6800));
    let course = &run.threads[2];
    assert_eq!(course.occupations.len(), 1);
    assert_eq!(course.occupations[0].length_ns(), 2750);
    let runnable = Interval {
        from_ns: 0,
        to_ns: 6800,
    };
    assert_eq!(course.runnable, [runnable]);
    let core = &run.cores[3];
    assert_eq!(core.throttles.len(), 4);
    assert_eq!(core.budgets[0].to_ns, 6800);
    assert_eq!(core.budgets[1].to_ns, END_NS);
    assert_eq!(core.occupations.last().unwrap().off, None);
    assert_eq!(run.partitions[0].len(), 3);
    assert_eq!(run.partitions[0][1].to_ns, 6800);
}

/// Puts `event` behind event `after` and gives the error.
fn refused_after(after: usize, event: Event) -> String {
    let mut events = good();
    events.insert(after + 1, event);
    let error = read(&events).unwrap_err();
    assert_eq!(error.event, after as u64 + 1);
    let text = error.to_string();
    assert!(text.starts_with(&format!("case 'rt-gang', event {} at ", after + 1)));
    error.what
}

fn place(event: &Event) -> usize {
    good().iter().position(|other| other == event).unwrap()
}

#[test]
fn threads_and_cores() {
    let running = place(&on(50, 2, 4));
    assert_eq!(
        refused_after(running, on(60, 3, 4)),
        "thread 4 starts on core 3, where thread 5 still runs"
    );
    let free = place(&off(4000, 1, 1, Sleeping));
    assert_eq!(
        refused_after(free, on(4000, 1, 4)),
        "thread 4 starts on core 1, but it still runs on core 2"
    );
    assert_eq!(
        refused_after(free, off(4000, 1, 1, Sleeping)),
        "thread 1 leaves core 1, but no thread runs there"
    );
    assert_eq!(
        refused_after(running, off(60, 2, 3, Preempted)),
        "thread 3 leaves core 2, but thread 4 runs there"
    );
}

#[test]
fn time_and_indices() {
    assert_eq!(
        refused_after(place(&throttled(1800)), throttled(1799)),
        "time goes back to 1.799 µs, but events come in the order of time"
    );
    assert!(refused_after(1, on(0, 4, 0)).contains("core 4, but the case has cores 0 to 3"));
    assert!(refused_after(1, on(0, 0, 6)).contains("names thread 6, but the case declares 6"));
    let (time_ns, task, job) = (0, 3, 0);
    assert!(refused_after(1, Event::JobReleased { time_ns, task, job }).contains("task 3"));
    let gang_active = Event::GangActive {
        time_ns,
        partition: 2,
        priority: None,
    };
    assert!(refused_after(1, gang_active).contains("partition 2"));
    let late = Event::Message {
        time_ns: u64::MAX,
        text: String::new(),
    };
    assert!(refused_after(1, late).contains("lasts at most 281474.976710656 s"));
}

#[test]
fn jobs() {
    let last = good().len() - 2;
    let (time_ns, task) = (END_NS, LOW);
    let job = 1;
    assert_eq!(
        refused_after(last, Event::JobFinished { time_ns, task, job }),
        "job 1 of task 1 was never released"
    );
    assert!(
        refused_after(
            last,
            Event::JobReleased {
                time_ns,
                task,
                job: 2
            }
        )
        .contains("job 1")
    );
    let job = 0;
    assert!(refused_after(last, Event::JobFinished { time_ns, task, job }).contains("has ended"));
    let time_ns = 4050;
    let started = Event::JobStarted { time_ns, task, job };
    assert!(refused_after(place(&started), started).contains("started twice"));
    let dropped = Event::JobDropped { time_ns, task, job };
    let started = Event::JobStarted { time_ns, task, job };
    assert!(refused_after(place(&started), dropped).contains("was dropped, but it had started"));
    let time_ns = 0;
    let finished = Event::JobFinished { time_ns, task, job };
    assert!(refused_after(3, finished).contains("finished, but it never started"));
}

#[test]
fn throttling_and_counters() {
    let throttle = place(&throttled(1800));
    assert!(refused_after(throttle, throttled(1800)).contains("throttled twice"));
    let refill = unthrottled(1800, UnthrottleReason::Refill);
    assert!(refused_after(throttle - 1, refill).contains("was not throttled"));
    let shrunk = sample(2000, 899, 2000);
    assert!(refused_after(throttle + 1, shrunk).contains("smaller than before"));
    let counters = Counters {
        best_effort_read_bytes: 1,
        ..Counters::default()
    };
    let more = Event::Counters {
        time_ns: 0,
        core: 0,
        counters,
    };
    assert!(refused_after(1, more).contains("more bytes on core 0 than the core did"));
    let last = good().len() - 2;
    let fewer = Event::ThreadExecuted {
        time_ns: END_NS,
        thread: HOG,
        accesses: 499,
    };
    assert!(refused_after(last, fewer).contains("fewer accesses than before"));
}

#[test]
fn begin_and_end() {
    let last = good().len() - 1;
    let late = Event::Message {
        time_ns: END_NS,
        text: String::new(),
    };
    assert_eq!(refused_after(last, late), "an event follows CaseEnd");
    let begin = Event::CaseBegin(Box::new(case()));
    assert_eq!(refused_after(1, begin), "a second CaseBegin");
    let mut events = good();
    events.pop();
    let error = read(&events).unwrap_err();
    assert_eq!(error.time_ns, END_NS);
    assert!(error.is_cut && error.what.contains("has no CaseEnd"));
    assert!(!error.to_string().contains("has a fault"), "{error}");
}

/// The error of a case that declares something impossible.
fn refused_declaration(change: impl FnOnce(&mut Case)) -> String {
    let mut events = good();
    declare(&mut events, change);
    let error = read(&events).unwrap_err();
    assert_eq!(error.event, 0);
    error.what
}

#[test]
fn declarations() {
    let text = refused_declaration(|case| case.partitions[1].cores = vec![1, 2]);
    assert_eq!(
        text,
        "core 1 is in partition 'left' and in partition 'right'"
    );
    let text = refused_declaration(|case| case.cores = 3);
    assert_eq!(
        text,
        "partition 'right' has core 3, but the case has 3 cores"
    );
    assert!(refused_declaration(|case| case.gangs[0].partition = 2).contains("partition 2"));
    assert!(refused_declaration(|case| case.tasks[0].gang = 3).contains("gang 3"));
    assert!(refused_declaration(|case| case.tasks[0].period_ns = 0).contains("period of 0"));
    assert!(refused_declaration(|case| case.threads[0].task = Some(3)).contains("task 3"));
    let no_period = |case: &mut Case| {
        case.claims.budgets = Some(BudgetClaim {
            period_ns: 0,
            quantum_bytes: 0,
        });
    };
    assert!(refused_declaration(no_period).contains("period of 0 ns"));
}
