//! A small case that keeps every claim, and ways to break it.

use ringfence_analysis::case::CaseRun;
use ringfence_analysis::read_case::{CaseError, CaseReader};
use ringfence_record::event::*;

pub const HIGH: u16 = 0; // Task of threads 0 and 1 on cores 0 and 1.
pub const LOW: u16 = 1; // Task of threads 2 and 3 on cores 0 and 1.
pub const OTHER: u16 = 2; // Task of thread 4 on core 2, in the other partition.
pub const HOG: u16 = 5; // Best-effort thread on core 3.
pub const END_NS: u64 = 12_000;

/// Two partitions; gangs `high` over `low` in the left one, `other` in the right one.
pub fn case() -> Case {
    let partition = |name: &str, cores: [u16; 2]| Partition {
        name: name.into(),
        cores: cores.into(),
    };
    let gang = |name: &str, partition, priority| Gang {
        name: name.into(),
        partition,
        priority,
        tolerance_read_bytes_per_second: Some(1_000_000_000),
        tolerance_write_bytes_per_second: Some(500_000_000),
    };
    let task = |name: &str, gang| Task {
        name: name.into(),
        gang,
        period_ns: 20_000,
        deadline_ns: 10_000,
        offset_ns: 0,
        sporadic: false,
    };
    let thread = |name: &str, task| Thread {
        name: name.into(),
        task,
    };
    Case {
        name: "rt-gang".into(),
        duration_ns: END_NS,
        cores: 4,
        claims: Claims {
            one_gang_at_a_time: true,
            hand_over_ns: 100,
            share: Some(ShareClaim {
                limit_ns: 9000,
                window_ns: 10_000,
            }),
            budgets: Some(BudgetClaim {
                period_ns: 1000,
                quantum_bytes: 64,
            }),
            ..Claims::default()
        },
        partitions: vec![partition("left", [0, 1]), partition("right", [2, 3])],
        gangs: vec![
            gang("high", 0, 20),
            gang("low", 0, 10),
            gang("other", 1, 15),
        ],
        tasks: vec![task("high", 0), task("low", 1), task("other", 2)],
        threads: vec![
            thread("high/0", Some(HIGH)),
            thread("high/1", Some(HIGH)),
            thread("low/0", Some(LOW)),
            thread("low/1", Some(LOW)),
            thread("other/0", Some(OTHER)),
            thread("hog/0", None),
        ],
        classes_of_service: vec![
            ClassOfService {
                name: "most".into(),
                ways: (2..16).collect(),
                colours: vec![0, 1, 2, 5],
                threads: vec![0, 1, 4],
            },
            ClassOfService {
                name: "rest".into(),
                ways: vec![0, 1],
                colours: vec![7],
                threads: vec![HOG],
            },
        ],
        accuracy: Default::default(),
    }
}

pub fn on(time_ns: u64, core: u16, thread: u16) -> Event {
    Event::ThreadOn {
        time_ns,
        core,
        thread,
    }
}

pub fn off(time_ns: u64, core: u16, thread: u16, reason: OffReason) -> Event {
    Event::ThreadOff {
        time_ns,
        core,
        thread,
        reason,
    }
}

pub fn budget(time_ns: u64, bytes: Option<u64>) -> Event {
    Event::BudgetSet {
        time_ns,
        core: 3,
        read_bytes: bytes,
        write_bytes: bytes.map(|bytes| bytes / 2),
    }
}

pub fn throttled(time_ns: u64) -> Event {
    Event::Throttled { time_ns, core: 3 }
}

pub fn unthrottled(time_ns: u64, reason: UnthrottleReason) -> Event {
    Event::Unthrottled {
        time_ns,
        core: 3,
        reason,
    }
}

/// Totals of core 3, which runs best-effort work alone.
pub fn sample(time_ns: u64, read_bytes: u64, write_bytes: u64) -> Event {
    Event::Counters {
        time_ns,
        core: 3,
        counters: Counters {
            read_bytes,
            write_bytes,
            best_effort_read_bytes: read_bytes,
            best_effort_write_bytes: write_bytes,
            llc_accesses: 0,
            llc_misses: 0,
        },
    }
}

/// `high` runs from 50 to 4000, `low` from 4050 to 6800, `other` from 50 to
/// 5000. The hog is throttled at 1800, 4800, 5500 and 6500, the last time until
/// no gang runs.
pub fn good() -> Vec<Event> {
    use OffReason::{Sleeping, Throttled};
    let mut events = vec![Event::CaseBegin(Box::new(case()))];
    for task in [HIGH, LOW, OTHER] {
        let (time_ns, job) = (0, 0);
        events.push(Event::JobReleased { time_ns, task, job });
    }
    events.extend((0..5).map(|thread| Event::ThreadWoke { time_ns: 0, thread }));
    events.extend([
        Event::GangActive {
            time_ns: 0,
            partition: 0,
            priority: Some(20),
        },
        budget(0, Some(1000)),
        on(0, 3, HOG),
        on(50, 0, 0),
        on(50, 1, 1),
        on(50, 2, 4),
    ]);
    events.extend([HIGH, OTHER].map(|task| Event::JobStarted {
        time_ns: 50,
        task,
        job: 0,
    }));
    events.extend([
        sample(1000, 900, 450),
        throttled(1800),
        off(1850, 3, HOG, Throttled),
        sample(2000, 1964, 1014),
        unthrottled(2000, UnthrottleReason::Refill),
        on(2000, 3, HOG),
        sample(3000, 2900, 1450),
        sample(4000, 3900, 1900),
        off(4000, 0, 0, Sleeping),
        off(4000, 1, 1, Sleeping),
        Event::JobFinished {
            time_ns: 4000,
            task: HIGH,
            job: 0,
        },
        Event::GangActive {
            time_ns: 4000,
            partition: 0,
            priority: Some(10),
        },
        on(4050, 0, 2),
        on(4050, 1, 3),
        Event::JobStarted {
            time_ns: 4050,
            task: LOW,
            job: 0,
        },
        throttled(4800),
        off(4800, 3, HOG, Throttled),
        off(5000, 2, 4, Sleeping),
        Event::JobFinished {
            time_ns: 5000,
            task: OTHER,
            job: 0,
        },
        sample(5000, 4900, 2400),
        unthrottled(5000, UnthrottleReason::Refill),
        on(5000, 3, HOG),
        throttled(5500),
        off(5500, 3, HOG, Throttled),
        sample(6000, 5900, 2900),
        unthrottled(6000, UnthrottleReason::Refill),
        on(6000, 3, HOG),
        throttled(6500),
        off(6500, 3, HOG, Throttled),
        off(6800, 0, 2, Sleeping),
        off(6800, 1, 3, Sleeping),
        Event::JobFinished {
            time_ns: 6800,
            task: LOW,
            job: 0,
        },
        Event::GangActive {
            time_ns: 6800,
            partition: 0,
            priority: None,
        },
        unthrottled(6800, UnthrottleReason::NoGang),
        budget(6800, None),
        on(6800, 3, HOG),
        sample(7000, 7900, 3900),
        sample(END_NS, 20_000, 9000),
        Event::ThreadExecuted {
            time_ns: END_NS,
            thread: HOG,
            accesses: 500,
        },
        Event::CaseEnd { time_ns: END_NS },
    ]);
    events
}

/// Replaces the only event that equals `old`.
pub fn replace(events: &mut [Event], old: Event, new: Event) {
    let mut found = events.iter_mut().filter(|event| **event == old);
    *found.next().expect("no such event") = new;
    assert!(found.next().is_none(), "several such events");
}

/// Removes the only event that equals `old`.
pub fn remove(events: &mut Vec<Event>, old: &Event) {
    let before = events.len();
    events.retain(|event| event != old);
    assert_eq!(events.len() + 1, before);
}

/// Brings events back into the order of time; equal times stay as they are.
pub fn in_order(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(|event| (event.time_ns(), matches!(event, Event::CaseEnd { .. })));
    events
}

/// Changes what the case declares.
pub fn declare(events: &mut [Event], change: impl FnOnce(&mut Case)) {
    match &mut events[0] {
        Event::CaseBegin(case) => change(case),
        other => panic!("{other:?}"),
    }
}

pub fn read(events: &[Event]) -> Result<CaseRun, CaseError> {
    let Event::CaseBegin(case) = &events[0] else {
        panic!("no CaseBegin");
    };
    let mut reader = CaseReader::new((**case).clone());
    events[1..].iter().for_each(|event| reader.read(event));
    reader.finish()
}
