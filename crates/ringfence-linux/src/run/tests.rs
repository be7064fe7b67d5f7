//! Histories: what was told in, events of the record out.

use std::collections::HashMap;

use proptest::prelude::*;
use ringfence_record::event::{Case, Claims, Event, Task, Thread, UnthrottleReason};
use ringfence_record::format::MAX_PAYLOAD_BYTES;
use ringfence_record::{Reader, WriteError, Writer};
use ringfence_workloads::job_log::{Kind, Mark, ThreadId};

use super::history::{History, Raw};
use crate::recorder::{ThreadEvent, What};
use crate::scheduler;

const START_NS: u64 = 1_000_000;
const DURATION_NS: u64 = 1_000;

/// One task of the threads 10 and 11, and best-effort thread 12.
fn history() -> History {
    let task = Task {
        name: "task".into(),
        gang: 0,
        period_ns: 100,
        deadline_ns: 100,
        offset_ns: 0,
        sporadic: false,
    };
    let thread = |name: &str, task| Thread {
        name: name.into(),
        task,
    };
    History {
        case: Case {
            name: "case".into(),
            duration_ns: DURATION_NS,
            cores: 2,
            claims: Claims::default(),
            partitions: vec![],
            gangs: vec![],
            tasks: vec![task],
            threads: vec![
                thread("task/0", Some(0)),
                thread("task/1", Some(0)),
                thread("hog/0", None),
            ],
            classes_of_service: vec![],
            accuracy: Default::default(),
        },
        start_ns: START_NS,
        threads: HashMap::from([(10, 0), (11, 1), (12, 2)]),
        remarks: vec![],
    }
}

fn switch(time_ns: u64, what: What, cpu: u16, tid: i32) -> ThreadEvent {
    ThreadEvent {
        time_ns: START_NS + time_ns,
        what,
        cpu,
        tid,
        tgid: 1,
    }
}

fn mark(time_ns: u64, kind: Kind, thread: u32, job: u64) -> Mark {
    Mark {
        thread: ThreadId { process: 1, thread },
        time_ns: START_NS + time_ns,
        kind,
        task: 0,
        job,
    }
}

/// The events between the begin of the case and its end.
fn events(raw: Raw) -> Vec<Event> {
    events_of(&history(), raw)
}

fn events_of(history: &History, raw: Raw) -> Vec<Event> {
    let mut writer = Writer::new(Vec::new(), &Default::default()).unwrap();
    let section = history.section(raw).unwrap();
    writer.append_section(&section).unwrap();
    let bytes = writer.finish().unwrap();
    let all = Reader::new(&bytes[..]).unwrap();
    let mut all: Vec<Event> = all.collect::<Result<_, _>>().unwrap();
    assert!(matches!(all.first(), Some(Event::CaseBegin(_))));
    assert!(matches!(
        all.pop(),
        Some(Event::CaseEnd {
            time_ns: DURATION_NS
        })
    ));
    all.split_off(1)
}

fn job_times(raw: Raw) -> Vec<(&'static str, u64, u32)> {
    job_times_of(&history(), raw)
}

fn job_times_of(history: &History, raw: Raw) -> Vec<(&'static str, u64, u32)> {
    let of_job = |event| match event {
        Event::JobStarted { time_ns, job, .. } => Some(("started", time_ns, job)),
        Event::JobFinished { time_ns, job, .. } => Some(("finished", time_ns, job)),
        _ => None,
    };
    events_of(history, raw)
        .into_iter()
        .filter_map(of_job)
        .collect()
}

#[test]
fn a_job_lasts_from_the_first_cpu_to_the_last() {
    let raw = Raw {
        switches: vec![
            switch(2, What::On, 0, 10),
            switch(4, What::On, 1, 11),
            switch(30, What::Sleeps, 0, 10),
            switch(51, What::Sleeps, 1, 11),
            // It has waited for the other one.
            switch(52, What::On, 0, 10),
            switch(54, What::Sleeps, 0, 10),
            switch(101, What::On, 0, 10),
        ],
        marks: vec![
            mark(0, Kind::Released, 10, 0),
            mark(3, Kind::Begin, 10, 0),
            mark(29, Kind::End, 10, 0),
            mark(5, Kind::Begin, 11, 0),
            mark(50, Kind::End, 11, 0),
            mark(100, Kind::Released, 10, 1),
            mark(102, Kind::Begin, 10, 1),
        ],
        scheduler: vec![],
    };
    assert_eq!(
        job_times(raw),
        [("started", 2, 0), ("finished", 54, 0), ("started", 101, 1)]
    );
}

#[test]
fn a_thread_that_comes_on_a_cpu_to_be_frozen_does_not_work_on_its_job_any_more() {
    let raw = |on_ns: u64| Raw {
        switches: vec![
            switch(2, What::On, 0, 10),
            switch(2, What::On, 1, 11),
            switch(30, What::Sleeps, 0, 10),
            switch(40, What::Sleeps, 1, 11),
            switch(60, What::On, 0, 10),
            switch(60 + on_ns, What::Sleeps, 0, 10),
        ],
        marks: vec![
            mark(0, Kind::Released, 10, 0),
            mark(3, Kind::Begin, 10, 0),
            mark(3, Kind::Begin, 11, 0),
            mark(29, Kind::End, 10, 0),
            mark(39, Kind::End, 11, 0),
        ],
        scheduler: vec![],
    };
    let mut frozen = history();
    frozen.case.claims.overlap_ns = Some(3);
    frozen.case.claims.hand_over_ns = 5;
    let finished = |history, on_ns| job_times_of(history, raw(on_ns))[1];
    assert_eq!(finished(&frozen, 5), ("finished", 40, 0));
    assert_eq!(finished(&frozen, 6), ("finished", 66, 0));
    assert_eq!(finished(&history(), 5), ("finished", 65, 0));
}

#[test]
fn a_job_that_waits_for_its_threads_starts_when_the_one_before_has_finished() {
    let both = |kind, time_ns, job| [10, 11].map(|thread| mark(time_ns, kind, thread, job));
    let mut marks = vec![
        mark(0, Kind::Released, 10, 0),
        mark(100, Kind::Released, 10, 1),
    ];
    for (begin_ns, end_ns, job) in [(1, 150, 0), (152, 180, 1)] {
        marks.extend(both(Kind::Begin, begin_ns, job));
        marks.extend(both(Kind::End, end_ns, job));
    }
    let raw = Raw {
        switches: vec![
            switch(0, What::On, 0, 10),
            switch(0, What::On, 1, 11),
            switch(181, What::Sleeps, 0, 10),
            switch(182, What::Sleeps, 1, 11),
        ],
        marks,
        scheduler: vec![],
    };
    assert_eq!(
        job_times(raw),
        [
            ("started", 0, 0),
            ("finished", 150, 0),
            ("started", 150, 1),
            ("finished", 182, 1)
        ]
    );
}

#[test]
fn who_runs_at_the_start_and_at_the_end_is_told() {
    let raw = Raw {
        switches: vec![
            ThreadEvent {
                time_ns: START_NS - 500,
                ..switch(0, What::On, 1, 12)
            },
            switch(300, What::Preempted, 1, 12),
            switch(400, What::On, 0, 12),
            switch(DURATION_NS + 1, What::Sleeps, 0, 12),
        ],
        ..Raw::default()
    };
    let told = events(raw).into_iter().map(|event| match event {
        Event::ThreadOn { time_ns, core, .. } => ("on", time_ns, core),
        Event::ThreadOff { time_ns, core, .. } => ("off", time_ns, core),
        other => panic!("{other:?}"),
    });
    let expected = [
        ("on", 0, 1),
        ("off", 300, 1),
        ("on", 400, 0),
        ("off", DURATION_NS, 0),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn a_switch_that_was_not_told_rests_on_what_the_program_said() {
    for (marks, expected_ns) in [(vec![], 40), (vec![mark(60, Kind::Begin, 10, 0)], 60)] {
        let raw = Raw {
            switches: vec![
                switch(20, What::On, 0, 12),
                switch(30, What::Sleeps, 0, 12),
                switch(40, What::Woke, 1, 10),
                switch(90, What::Sleeps, 0, 10),
            ],
            marks,
            scheduler: vec![],
        };
        let events = events(raw);
        assert!(events.iter().any(
            |event| matches!(event, Event::Message { text, .. } if text.starts_with("1 times"))
        ));
        let on = events.iter().find_map(|event| match event {
            Event::ThreadOn {
                time_ns, thread: 0, ..
            } => Some(*time_ns),
            _ => None,
        });
        assert_eq!(on, Some(expected_ns));
    }
}

#[test]
fn decisions_come_in_the_order_in_which_they_were_made() {
    let decision = |time_ns: i64, sequence, what| scheduler::Event {
        time_ns: START_NS.saturating_add_signed(time_ns),
        sequence,
        what,
    };
    let throttled = scheduler::What::Throttled { cpu: 1 };
    let no_gang = false;
    let unthrottled = scheduler::What::Unthrottled { cpu: 1, no_gang };
    let raw = Raw {
        scheduler: vec![
            decision(-9, 1, throttled),
            decision(20, 2, unthrottled),
            // Its CPU was held up before it told.
            decision(60, 3, throttled),
            decision(50, 4, unthrottled),
        ],
        ..Raw::default()
    };
    let unthrottled = |time_ns| Event::Unthrottled {
        time_ns,
        core: 1,
        reason: UnthrottleReason::Refill,
    };
    let throttled = |time_ns| Event::Throttled { time_ns, core: 1 };
    let expected = [
        throttled(0),
        unthrottled(20),
        throttled(60),
        unthrottled(60),
    ];
    assert_eq!(events(raw), expected);
}

#[test]
fn what_fits_no_record_is_an_error() {
    let too_long = || "x".repeat(MAX_PAYLOAD_BYTES as usize);
    let mut long_name = history();
    long_name.case.name = too_long();
    let mut long_remark = history();
    long_remark.remarks.push(too_long());
    for history in [long_name, long_remark] {
        let refused = history.section(Raw::default());
        assert!(matches!(refused, Err(WriteError::TooLong { .. })));
    }
}

fn any_switches() -> impl Strategy<Value = Vec<ThreadEvent>> {
    let what = prop::sample::select(vec![
        What::On,
        What::Preempted,
        What::Sleeps,
        What::Woke,
        What::Ended,
    ]);
    let one =
        (0..3 * DURATION_NS, what, 0..2_u16, 10..13_i32).prop_map(|(time_ns, what, cpu, tid)| {
            ThreadEvent {
                time_ns: START_NS - DURATION_NS + time_ns,
                ..switch(0, what, cpu, tid)
            }
        });
    prop::collection::vec(one, 0..40)
}

proptest! {
    /// Whatever the kernel is said to have told, times only grow and lie in the case.
    #[test]
    fn times_grow_and_lie_within_the_case(switches in any_switches()) {
        let raw = Raw { switches, ..Raw::default() };
        let times: Vec<u64> = events(raw).iter().filter_map(Event::time_ns).collect();
        prop_assert!(times.is_sorted());
        prop_assert!(times.iter().all(|time_ns| *time_ns <= DURATION_NS));
    }
}
