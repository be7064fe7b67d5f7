//! Arbitrary events and arbitrary bytes.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use ringfence_record::accuracy::*;
use ringfence_record::event::*;
use ringfence_record::{Reader, Section, Writer, read_all};

use crate::sample::{ends, header, record, sample_events};

fn any_name() -> impl Strategy<Value = String> {
    "\\PC{0,12}"
}

prop_compose! {
    fn any_accuracy()(
        trajectories in vec((any_name(), any::<(bool, Option<u64>)>()), 0..3),
        measures in vec((any_name(), 0_usize..4, any::<Option<i64>>()), 0..3),
    ) -> Accuracy {
        let quantities = [Quantity::Length, Quantity::Duration, Quantity::Share, Quantity::Count];
        Accuracy {
            trajectories: trajectories
                .into_iter()
                .map(|(name, (same, median_limit_um))| Trajectory {
                    name,
                    alignment: if same { Alignment::Same } else { Alignment::Rigid },
                    median_limit_um,
                })
                .collect(),
            measures: measures
                .into_iter()
                .map(|(name, quantity, limit)| Measure {
                    name,
                    quantity: quantities[quantity],
                    limit,
                })
                .collect(),
        }
    }
}

prop_compose! {
    fn any_case()(
        name in any_name(),
        (duration_ns, cores) in any::<(u64, u16)>(),
        (one_gang_at_a_time, hand_over_ns) in any::<(bool, u64)>(),
        (overlap_ns, instant_after_ns) in any::<(Option<u64>, Option<u64>)>(),
        share in option::of(any::<(u64, u64)>()),
        budgets in option::of(any::<(u64, u64)>()),
        reservations in vec((any_name(), any::<(u64, u64, Vec<(u16, u64)>)>(), any::<(bool, bool, Option<[u64; 4]>)>()), 0..3),
        reservations_bytes_per_second in any::<Option<u64>>(),
        partitions in vec((any_name(), vec(any::<u16>(), 0..4)), 0..3),
        gangs in vec((any_name(), any::<(u16, u8, Option<u64>, Option<u64>)>()), 0..3),
        tasks in vec((any_name(), any::<(u16, u64, u64, u64, bool)>()), 0..3),
        threads in vec((any_name(), any::<Option<u16>>()), 0..3),
        classes in vec((any_name(), any::<[Vec<u16>; 3]>()), 0..3),
        accuracy in any_accuracy(),
    ) -> Case {
        Case {
            name,
            duration_ns,
            cores,
            claims: Claims {
                one_gang_at_a_time,
                hand_over_ns,
                overlap_ns,
                instant_after_ns,
                share: share.map(|(limit_ns, window_ns)| ShareClaim { limit_ns, window_ns }),
                budgets: budgets.map(|(period_ns, quantum_bytes)| BudgetClaim {
                    period_ns,
                    quantum_bytes,
                }),
                reservations: reservations
                    .into_iter()
                    .map(|(vm, (period_ns, quantum_bytes, shares), (lends, borrows, bounds))| ReservationClaim {
                        vm,
                        period_ns,
                        quantum_bytes,
                        shares: shares
                            .into_iter()
                            .map(|(core, bytes)| CoreShare { core, bytes })
                            .collect(),
                        lends,
                        borrows,
                        bounds: bounds.map(|bounds| ReservationBounds {
                            bytes_min: bounds[0],
                            bytes_max: bounds[1],
                            period_min_ns: bounds[2],
                            period_max_ns: bounds[3],
                        }),
                    })
                    .collect(),
                reservations_bytes_per_second,
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
                .map(|(name, (gang, period_ns, deadline_ns, offset_ns, sporadic))| Task {
                    name,
                    gang,
                    period_ns,
                    deadline_ns,
                    offset_ns,
                    sporadic,
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
            accuracy,
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
    let end_of_throttling = prop_oneof![
        Just(UnthrottleReason::Refill),
        Just(UnthrottleReason::NoGang),
        Just(UnthrottleReason::Loan),
    ];
    let loan = any::<(u64, u16, u64, u64)>();
    let job = any::<(u64, u16, u32)>();
    let place = any::<(u64, u16, u64, [i64; 3])>();
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
        (any::<(u64, u16)>(), end_of_throttling).prop_map(|((time_ns, core), reason)| {
            Event::Unthrottled {
                time_ns,
                core,
                reason,
            }
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
        loan.prop_map(|(time_ns, core, period_begin_ns, bytes)| Event::Lent {
            time_ns,
            core,
            period_begin_ns,
            bytes
        }),
        loan.prop_map(|(time_ns, core, period_begin_ns, bytes)| Event::Borrowed {
            time_ns,
            core,
            period_begin_ns,
            bytes
        }),
        any::<([u64; 3], u16, Vec<u64>)>().prop_map(
            |([time_ns, asked_ns, period_ns], reservation, shares_bytes)| {
                Event::ReservationChanged {
                    time_ns,
                    asked_ns,
                    reservation,
                    period_ns,
                    shares_bytes,
                }
            }
        ),
        place.prop_map(
            |(time_ns, trajectory, at_ns, position_um)| Event::Position {
                time_ns,
                trajectory,
                at_ns,
                position_um
            }
        ),
        place.prop_map(
            |(time_ns, trajectory, at_ns, position_um)| Event::TruePosition {
                time_ns,
                trajectory,
                at_ns,
                position_um
            }
        ),
        any::<(u64, u16, i64)>().prop_map(|(time_ns, measure, value)| Event::Measured {
            time_ns,
            measure,
            value
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
