//! A small record with everything in it.

use ringfence_record::accuracy::*;
use ringfence_record::event::*;
use ringfence_record::{Reader, Writer};

pub fn header() -> Header {
    Header {
        target: "sim".into(),
        ringfence_version: "0.1.0".into(),
        scenario: "demo".into(),
        description: "eyes next to hogs".into(),
        platform: "raspberry-pi-3".into(),
        kernel: None,
        seed: 7,
        overrides: vec!["--seed 7".into()],
        inputs: vec![
            input(InputKind::Scenario, Some("scenarios/demo.toml")),
            input(InputKind::Platform, None),
            input(InputKind::Trace, Some("eyes.rftrace")),
            input(InputKind::Description, Some("run.toml")),
            input(InputKind::Table, Some("jobs.csv")),
        ],
    }
}

fn input(kind: InputKind, path: Option<&str>) -> Input {
    Input {
        kind,
        path: path.map(Into::into),
        size_bytes: 300,
        sha256: "ab".repeat(32),
    }
}

pub fn case(name: &str) -> Case {
    Case {
        name: name.into(),
        duration_ns: 1_000_000,
        cores: 2,
        claims: Claims {
            one_gang_at_a_time: true,
            hand_over_ns: 100,
            overlap_ns: Some(30),
            instant_after_ns: Some(5000),
            share: Some(ShareClaim {
                limit_ns: 950,
                window_ns: 1000,
            }),
            budgets: Some(BudgetClaim {
                period_ns: 1000,
                quantum_bytes: 64,
            }),
            reservations: vec![ReservationClaim {
                vm: "writer".into(),
                period_ns: 1000,
                quantum_bytes: 640,
                shares: vec![CoreShare {
                    core: 1,
                    bytes: 6400,
                }],
                lends: true,
                borrows: false,
                bounds: Some(ReservationBounds {
                    bytes_min: 640,
                    bytes_max: 12800,
                    period_min_ns: 1000,
                    period_max_ns: 2000,
                }),
            }],
            reservations_bytes_per_second: Some(1 << 30),
        },
        partitions: vec![Partition {
            name: "all".into(),
            cores: vec![0, 1],
        }],
        gangs: vec![Gang {
            name: "eyes".into(),
            partition: 0,
            priority: 10,
            tolerance_read_bytes_per_second: Some(1 << 20),
            tolerance_write_bytes_per_second: None,
        }],
        tasks: vec![Task {
            name: "eyes".into(),
            gang: 0,
            period_ns: 1000,
            deadline_ns: 1000,
            offset_ns: 5,
            sporadic: true,
        }],
        threads: vec![Thread {
            name: "eyes/0".into(),
            task: Some(0),
        }],
        classes_of_service: vec![ClassOfService {
            name: "most".into(),
            ways: (4..16).collect(),
            colours: vec![0, 2],
            threads: vec![0],
        }],
        accuracy: Accuracy {
            trajectories: vec![Trajectory {
                name: "head".into(),
                alignment: Alignment::Rigid,
                median_limit_um: Some(300_000),
            }],
            measures: vec![Measure {
                name: "lost frames".into(),
                quantity: Quantity::Count,
                limit: None,
            }],
        },
    }
}

/// Two cases with every kind of event.
pub fn sample_events() -> Vec<Event> {
    let mut events = vec![
        Event::CaseBegin(Box::new(case("solo"))),
        Event::CaseEnd { time_ns: 1_000_000 },
        Event::CaseBegin(Box::new(case("rt-gang"))),
    ];
    let (time_ns, task, job, core, thread) = (300, 0, 1, 1, 0);
    events.extend([
        Event::JobReleased { time_ns, task, job },
        Event::JobStarted { time_ns, task, job },
        Event::JobFinished { time_ns, task, job },
        Event::JobDropped { time_ns, task, job },
        Event::ThreadWoke { time_ns, thread },
        Event::ThreadOn {
            time_ns,
            core,
            thread,
        },
        Event::ThreadOff {
            time_ns,
            core,
            thread,
            reason: OffReason::Throttled,
        },
        Event::GangActive {
            time_ns,
            partition: 0,
            priority: Some(10),
        },
        Event::BudgetSet {
            time_ns,
            core,
            read_bytes: Some(u64::MAX),
            write_bytes: None,
        },
        Event::Throttled { time_ns, core },
        Event::Unthrottled {
            time_ns,
            core,
            reason: UnthrottleReason::NoGang,
        },
        Event::Counters {
            time_ns,
            core,
            counters: Counters {
                read_bytes: 1,
                write_bytes: 2,
                best_effort_read_bytes: 3,
                best_effort_write_bytes: 4,
                llc_accesses: 5,
                llc_misses: 6,
            },
        },
        Event::ThreadExecuted {
            time_ns,
            thread,
            accesses: 1 << 40,
        },
        Event::Lent {
            time_ns,
            core,
            period_begin_ns: 200,
            bytes: 128,
        },
        Event::Borrowed {
            time_ns,
            core,
            period_begin_ns: 200,
            bytes: 64,
        },
        Event::ReservationChanged {
            time_ns,
            asked_ns: 250,
            reservation: 0,
            period_ns: 2000,
            shares_bytes: vec![12800],
        },
        Event::Position {
            time_ns,
            trajectory: 0,
            at_ns: 280,
            position_um: [-1_000_000, 0, i64::MAX],
        },
        Event::TruePosition {
            time_ns,
            trajectory: 0,
            at_ns: 275,
            position_um: [i64::MIN, 1, 2],
        },
        Event::Measured {
            time_ns,
            measure: 0,
            value: -3,
        },
        Event::Message {
            time_ns,
            text: "warm".into(),
        },
        Event::CaseEnd { time_ns: 1_000_000 },
    ]);
    events
}

pub fn record(events: &[Event]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    for event in events {
        writer.write(event).unwrap();
    }
    writer.finish().unwrap()
}

/// Byte offset behind each event of a good record.
pub fn ends(bytes: &[u8]) -> Vec<u64> {
    let mut reader = Reader::new(bytes).unwrap();
    let mut ends = Vec::new();
    while let Some(event) = reader.next() {
        event.unwrap();
        ends.push(reader.offset());
    }
    ends
}
