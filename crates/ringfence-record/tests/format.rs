//! The record format against arbitrary events and against damage at every byte.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use ringfence_record::event::*;
use ringfence_record::{Reader, RecordError, Section, WriteError, Writer, read_all};

fn header() -> Header {
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

fn case(name: &str) -> Case {
    Case {
        name: name.into(),
        duration_ns: 1_000_000,
        cores: 2,
        claims: Claims {
            one_gang_at_a_time: true,
            hand_over_ns: 100,
            share: Some(ShareClaim {
                limit_ns: 950,
                window_ns: 1000,
            }),
            budgets: Some(BudgetClaim {
                period_ns: 1000,
                quantum_bytes: 64,
            }),
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
    }
}

/// Two cases with every kind of event.
fn sample_events() -> Vec<Event> {
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
        Event::Message {
            time_ns,
            text: "warm".into(),
        },
        Event::CaseEnd { time_ns: 1_000_000 },
    ]);
    events
}

fn record(events: &[Event]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    for event in events {
        writer.write(event).unwrap();
    }
    writer.finish().unwrap()
}

/// Byte offset behind each event of a good record.
fn ends(bytes: &[u8]) -> Vec<u64> {
    let mut reader = Reader::new(bytes).unwrap();
    let mut ends = Vec::new();
    while let Some(event) = reader.next() {
        event.unwrap();
        ends.push(reader.offset());
    }
    ends
}

/// The sample as this version of the format wrote it. When this differs, a type
/// in event.rs has changed: raise `VERSION`, write the new bytes with
/// `UPDATE=1 cargo test`, and remove the old ones.
#[test]
fn the_format_stays_what_it_is() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let path = format!(
        "{folder}/format-{}.record",
        ringfence_record::format::VERSION
    );
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, record(&sample_events())).unwrap();
    }
    let kept = std::fs::read(path).unwrap();
    assert!(record(&sample_events()) == kept);
    assert_eq!(read_all(&kept).0, sample_events());
}

#[test]
fn truncation_at_every_byte_keeps_all_events_before_it() {
    let events = sample_events();
    let bytes = record(&events);
    let ends = ends(&bytes);
    for cut in 0..bytes.len() {
        let (read, error) = read_all(&bytes[..cut]);
        let complete = ends.iter().filter(|end| **end <= cut as u64).count();
        assert_eq!(read, events[..complete], "cut at {cut}");
        let offset = match error {
            Some(RecordError::Truncated { offset, .. }) => offset,
            other => panic!("cut at {cut}: {other:?}"),
        };
        assert!(offset <= cut as u64);
        if complete > 0 {
            assert_eq!(offset, ends[complete - 1], "cut at {cut}");
        }
    }
}

#[test]
fn every_flipped_bit_is_found_and_all_events_before_it_are_read() {
    let events = sample_events();
    let bytes = record(&events);
    let ends = ends(&bytes);
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (read, error) = read_all(&damaged);
        let before = ends.iter().filter(|end| **end <= bit as u64 / 8).count();
        assert_eq!(read, events[..before], "bit {bit}");
        match (bit / 8, error.expect("the damage was not found")) {
            (0..8, RecordError::NotARecord) => {}
            (8..10, RecordError::Version { .. }) => {}
            (10.., RecordError::Corrupted { events, .. })
            | (10.., RecordError::Truncated { events, .. }) => assert_eq!(events, before as u64),
            (byte, error) => panic!("byte {byte}: {error}"),
        }
    }
}

#[test]
fn zeros_after_a_crash_are_damage_and_no_events() {
    let bytes = record(&sample_events());
    let end = ends(&bytes)[4] as usize;
    let mut zeroed = bytes[..end].to_vec();
    zeroed.extend([0; 4096]);
    let (events, error) = read_all(&zeroed);
    assert_eq!(events.len(), 5);
    assert!(matches!(error, Some(RecordError::Corrupted { .. })));
}

#[test]
fn a_lost_frame_is_missed_at_the_end() {
    let bytes = record(&sample_events());
    let ends = ends(&bytes);
    let mut without = bytes[..ends[3] as usize].to_vec();
    without.extend(&bytes[ends[4] as usize..]);
    let (events, error) = read_all(&without);
    assert_eq!(events.len(), sample_events().len() - 1);
    let text = error.unwrap().to_string();
    assert!(
        text.contains("had 18 events when it was written, but 17 are here"),
        "{text}"
    );
}

#[test]
fn a_section_that_another_one_follows_has_no_end() {
    let events = sample_events();
    let bytes = record(&events);
    let ends = ends(&bytes);
    // Cut out the first case's CaseEnd.
    let mut without = bytes[..ends[0] as usize].to_vec();
    without.extend(&bytes[ends[1] as usize..]);
    let (read, error) = read_all(&without);
    assert_eq!(read, events[..1]);
    assert!(matches!(
        error,
        Some(RecordError::SectionWithoutEnd { ref case, events_in_case: 1, offset })
            if case == "solo" && offset == ends[0]
    ));
}

#[test]
fn other_files_and_other_versions_are_told_apart() {
    assert!(matches!(
        read_all(b"{\"a\": 1}").1,
        Some(RecordError::NotARecord)
    ));
    assert!(matches!(read_all(b"PK").1, Some(RecordError::NotARecord)));
    let mut newer = record(&sample_events());
    newer[8] = 4;
    let text = read_all(&newer).1.unwrap().to_string();
    assert_eq!(
        text,
        "this record has format version 4, but this ringfence reads version 3; read it with a newer ringfence"
    );
}

#[test]
fn a_length_beyond_the_bound_is_damage() {
    let mut bytes = record(&sample_events());
    let end = ends(&bytes)[2] as usize;
    bytes[end..end + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let text = read_all(&bytes).1.unwrap().to_string();
    assert!(
        text.contains("a frame of 4294967295 bytes, but frames have at most 1048576"),
        "{text}"
    );
}

#[test]
fn reading_on_after_an_error_gives_nothing() {
    let mut bytes = record(&sample_events());
    let end = ends(&bytes)[2] as usize;
    bytes[end + 5] ^= 1;
    let mut reader = Reader::new(&bytes[..]).unwrap();
    assert_eq!(reader.by_ref().filter(|event| event.is_err()).count(), 1);
    assert!(reader.next().is_none());
}

#[test]
fn a_writer_refuses_events_out_of_place() {
    let begin = Event::CaseBegin(Box::new(case("solo")));
    let end = Event::CaseEnd { time_ns: 1 };
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    assert!(matches!(writer.write(&end), Err(WriteError::OutOfPlace(_))));
    writer.write(&begin).unwrap();
    assert!(matches!(
        writer.write(&begin),
        Err(WriteError::OutOfPlace(_))
    ));
    assert!(matches!(
        writer.append_section(&Section::new()),
        Err(WriteError::OutOfPlace(_))
    ));
    assert!(matches!(writer.finish(), Err(WriteError::OutOfPlace(_))));

    let mut open = Section::new();
    open.write(&begin).unwrap();
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    assert!(matches!(
        writer.append_section(&open),
        Err(WriteError::OutOfPlace(_))
    ));
}

/// Bytes that can be looked at while a writer writes them.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_appended_section_is_in_the_output_at_once() {
    let events = &sample_events()[..2];
    let mut section = Section::new();
    events
        .iter()
        .for_each(|event| section.write(event).unwrap());
    let output = Shared::default();
    let mut writer = Writer::new(output.clone(), &header()).unwrap();
    writer.append_section(&section).unwrap();
    let (read, error) = read_all(&output.0.borrow());
    assert_eq!(read, events);
    assert!(matches!(error, Some(RecordError::Truncated { .. })));
}

#[test]
fn an_event_that_is_too_long_leaves_the_record_good() {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    let begin = Event::CaseBegin(Box::new(case("solo")));
    writer.write(&begin).unwrap();
    let long = Event::Message {
        time_ns: 0,
        text: "x".repeat(1 << 20),
    };
    assert!(matches!(
        writer.write(&long),
        Err(WriteError::TooLong { .. })
    ));
    let end = Event::CaseEnd { time_ns: 1 };
    writer.write(&end).unwrap();
    let bytes = writer.finish().unwrap();
    assert_eq!(read_all(&bytes).0, [begin, end]);
}

fn any_name() -> impl Strategy<Value = String> {
    "\\PC{0,12}"
}

prop_compose! {
    fn any_case()(
        name in any_name(),
        (duration_ns, cores) in any::<(u64, u16)>(),
        (one_gang_at_a_time, hand_over_ns) in any::<(bool, u64)>(),
        share in option::of(any::<(u64, u64)>()),
        budgets in option::of(any::<(u64, u64)>()),
        partitions in vec((any_name(), vec(any::<u16>(), 0..4)), 0..3),
        gangs in vec((any_name(), any::<(u16, u8, Option<u64>, Option<u64>)>()), 0..3),
        tasks in vec((any_name(), any::<(u16, u64, u64, u64)>()), 0..3),
        threads in vec((any_name(), any::<Option<u16>>()), 0..3),
        classes in vec((any_name(), any::<[Vec<u16>; 3]>()), 0..3),
    ) -> Case {
        Case {
            name,
            duration_ns,
            cores,
            claims: Claims {
                one_gang_at_a_time,
                hand_over_ns,
                share: share.map(|(limit_ns, window_ns)| ShareClaim { limit_ns, window_ns }),
                budgets: budgets.map(|(period_ns, quantum_bytes)| BudgetClaim {
                    period_ns,
                    quantum_bytes,
                }),
            },
            partitions: partitions
                .into_iter()
                .map(|(name, cores)| Partition { name, cores })
                .collect(),
            gangs: gangs
                .into_iter()
                .map(|(name, (partition, priority, read, write))| Gang {
                    name,
                    partition,
                    priority,
                    tolerance_read_bytes_per_second: read,
                    tolerance_write_bytes_per_second: write,
                })
                .collect(),
            tasks: tasks
                .into_iter()
                .map(|(name, (gang, period_ns, deadline_ns, offset_ns))| Task {
                    name,
                    gang,
                    period_ns,
                    deadline_ns,
                    offset_ns,
                })
                .collect(),
            threads: threads
                .into_iter()
                .map(|(name, task)| Thread { name, task })
                .collect(),
            classes_of_service: classes
                .into_iter()
                .map(|(name, [ways, colours, threads])| ClassOfService {
                    name,
                    ways,
                    colours,
                    threads,
                })
                .collect(),
        }
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    let reason = prop_oneof![
        Just(OffReason::Preempted),
        Just(OffReason::Sleeping),
        Just(OffReason::Throttled),
        Just(OffReason::Ended),
    ];
    let job = any::<(u64, u16, u32)>();
    prop_oneof![
        job.prop_map(|(time_ns, task, job)| Event::JobReleased { time_ns, task, job }),
        job.prop_map(|(time_ns, task, job)| Event::JobStarted { time_ns, task, job }),
        job.prop_map(|(time_ns, task, job)| Event::JobFinished { time_ns, task, job }),
        job.prop_map(|(time_ns, task, job)| Event::JobDropped { time_ns, task, job }),
        any::<(u64, u16)>().prop_map(|(time_ns, thread)| Event::ThreadWoke { time_ns, thread }),
        any::<(u64, u16, u16)>().prop_map(|(time_ns, core, thread)| Event::ThreadOn {
            time_ns,
            core,
            thread
        }),
        (any::<(u64, u16, u16)>(), reason).prop_map(|((time_ns, core, thread), reason)| {
            Event::ThreadOff {
                time_ns,
                core,
                thread,
                reason,
            }
        }),
        any::<(u64, u16, Option<u8>)>().prop_map(|(time_ns, partition, priority)| {
            Event::GangActive {
                time_ns,
                partition,
                priority,
            }
        }),
        any::<(u64, u16, Option<u64>, Option<u64>)>().prop_map(
            |(time_ns, core, read_bytes, write_bytes)| Event::BudgetSet {
                time_ns,
                core,
                read_bytes,
                write_bytes
            }
        ),
        any::<(u64, u16)>().prop_map(|(time_ns, core)| Event::Throttled { time_ns, core }),
        any::<(u64, u16, bool)>().prop_map(|(time_ns, core, refill)| Event::Unthrottled {
            time_ns,
            core,
            reason: if refill {
                UnthrottleReason::Refill
            } else {
                UnthrottleReason::NoGang
            },
        }),
        any::<(u64, u16, [u64; 6])>().prop_map(|(time_ns, core, totals)| Event::Counters {
            time_ns,
            core,
            counters: Counters {
                read_bytes: totals[0],
                write_bytes: totals[1],
                best_effort_read_bytes: totals[2],
                best_effort_write_bytes: totals[3],
                llc_accesses: totals[4],
                llc_misses: totals[5],
            },
        }),
        any::<(u64, u16, u64)>().prop_map(|(time_ns, thread, accesses)| Event::ThreadExecuted {
            time_ns,
            thread,
            accesses
        }),
        (any::<u64>(), any_name()).prop_map(|(time_ns, text)| Event::Message { time_ns, text }),
    ]
}

fn any_section() -> impl Strategy<Value = Vec<Event>> {
    (any_case(), vec(any_event(), 0..20), any::<u64>()).prop_map(|(case, mut events, time_ns)| {
        events.insert(0, Event::CaseBegin(Box::new(case)));
        events.push(Event::CaseEnd { time_ns });
        events
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(sections in vec(any_section(), 0..4)) {
        let events = sections.concat();
        let bytes = record(&events);
        let reader = Reader::new(&bytes[..]).unwrap();
        prop_assert_eq!(reader.header(), &header());
        prop_assert_eq!(reader.collect::<Result<Vec<_>, _>>().unwrap(), events);
    }

    #[test]
    fn sections_built_apart_give_the_same_bytes(sections in vec(any_section(), 0..4)) {
        let mut writer = Writer::new(Vec::new(), &header()).unwrap();
        for events in &sections {
            let mut section = Section::new();
            for event in events {
                section.write(event).unwrap();
            }
            writer.append_section(&section).unwrap();
        }
        prop_assert_eq!(writer.finish().unwrap(), record(&sections.concat()));
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in vec(any::<u8>(), 0..200),
        signature in any::<bool>(),
    ) {
        let mut input = if signature { record(&[])[..10].to_vec() } else { Vec::new() };
        input.extend(&bytes);
        prop_assert!(read_all(&input).1.is_some());
    }

    #[test]
    fn damage_with_a_good_check_does_not_panic(payload in vec(any::<u8>(), 1..100)) {
        let good = record(&sample_events());
        let end = ends(&good)[0] as usize;
        let mut frame = (payload.len() as u32).to_le_bytes().to_vec();
        frame.extend(&payload);
        let check = crc32c::crc32c(&frame);
        frame.extend(check.to_le_bytes());
        let (events, error) = read_all(&[&good[..end], &frame].concat());
        prop_assert!(!events.is_empty() && error.is_some());
    }
}
