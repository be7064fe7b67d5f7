//! How right the work of two cases was, side by side.

use proptest::prelude::*;
use ringfence_analysis::compare::{Better, CaseComparison, compare_cases};
use ringfence_analysis::run::Run;
use ringfence_analysis::summary::Summary;
use ringfence_record::Writer;
use ringfence_record::accuracy::*;
use ringfence_record::event::{Case, Event, Header};

use crate::accuracy;

const TICK_NS: u64 = 50_000_000;

/// What a case tells of a trajectory, whose truth stays at the origin, and of a measure.
#[derive(Clone)]
struct Told {
    off_um: Vec<i64>,
    median_limit_um: Option<u64>,
    values: Vec<i64>,
    quantity: Quantity,
    limit: Option<i64>,
}

const NOTHING_TOLD: Told = Told {
    off_um: Vec::new(),
    median_limit_um: None,
    values: Vec::new(),
    quantity: Quantity::Length,
    limit: None,
};

fn declared(told: &Told) -> Case {
    Case {
        accuracy: Accuracy {
            trajectories: vec![Trajectory {
                name: "head".into(),
                alignment: Alignment::Same,
                median_limit_um: told.median_limit_um,
            }],
            measures: vec![Measure {
                name: "error".into(),
                quantity: told.quantity,
                limit: told.limit,
            }],
        },
        ..accuracy::told(None, None)
    }
}

fn section(told: &Told) -> Vec<Event> {
    let case = declared(told);
    let (time_ns, trajectory) = (case.duration_ns, 0);
    let mut events = vec![Event::CaseBegin(Box::new(case))];
    for (number, off_um) in (0..).zip(&told.off_um) {
        let at_ns = number * TICK_NS;
        events.push(Event::TruePosition {
            time_ns,
            trajectory,
            at_ns,
            position_um: [0; 3],
        });
        events.push(Event::Position {
            time_ns,
            trajectory,
            at_ns,
            position_um: [*off_um, 0, 0],
        });
    }
    events.extend(told.values.iter().map(|value| Event::Measured {
        time_ns,
        measure: 0,
        value: *value,
    }));
    events.push(Event::CaseEnd { time_ns });
    events
}

fn compared(first: &Told, second: &Told) -> CaseComparison {
    let mut writer = Writer::new(Vec::new(), &Header::default()).unwrap();
    for event in [section(first), section(second)].iter().flatten() {
        writer.write(event).unwrap();
    }
    let record = writer.finish().unwrap();
    let cases = Summary::of(&Run::read(&record[..]).unwrap()).cases;
    compare_cases(&cases[0], &cases[1])
}

fn off(off_um: &[i64]) -> Told {
    Told {
        off_um: off_um.into(),
        ..NOTHING_TOLD
    }
}

fn measured(values: &[i64], limit: Option<i64>) -> Told {
    Told {
        values: values.into(),
        limit,
        ..NOTHING_TOLD
    }
}

#[test]
fn errors_of_trajectories_are_set_side_by_side() {
    let case = compared(&off(&[100, 200, 400]), &off(&[-100, 300, 500, 700]));
    let [head] = &case.trajectories[..] else {
        panic!("{case:#?}");
    };
    assert_eq!(head.trajectory, "head");
    assert_eq!((head.compared.first, head.compared.second), (3, 4));
    let median = head.median_um.unwrap();
    assert_eq!((median.first, median.second), (200, 300));
    assert_eq!(median.ratio, Some(1.5));
    assert_eq!(head.max_um.unwrap().ratio, Some(700.0 / 400.0));
    assert_eq!(head.root_mean_square_um.unwrap().first, 265);
    // Of three errors it would be the largest.
    assert_eq!(head.p95_um, None);
    assert_eq!((head.better, case.better), (Better::First, Better::First));

    let many = off(&[5; 20]);
    assert!(compared(&many, &many).trajectories[0].p95_um.is_some());
}

#[test]
fn who_has_no_errors_to_show_is_worse() {
    let case = compared(&off(&[]), &off(&[900_000]));
    assert_eq!(case.trajectories[0].median_um, None);
    assert_eq!(case.better, Better::Second);
}

#[test]
fn fewer_values_above_a_limit_are_better_than_smaller_ones() {
    // Neither keeps the limit always.
    let case = compared(
        &measured(&[1, 1, 11, 11], Some(10)),
        &measured(&[9, 9, 9, 11], Some(10)),
    );
    let [error] = &case.measures[..] else {
        panic!("{case:#?}");
    };
    assert_eq!((error.values.first, error.values.second), (4, 4));
    assert_eq!(error.above_limit.unwrap().ratio, Some(0.5));
    assert_eq!(error.better, Some(Better::Second));
    assert_eq!(case.better, Better::Second);
    // Of twice as many values as many are above it.
    let half = compared(
        &measured(&[2, 11], Some(10)),
        &measured(&[2, 2, 11, 11], Some(10)),
    );
    assert_eq!(half.better, Better::Equal);
    let none = compared(&measured(&[], Some(10)), &measured(&[11], Some(10)));
    assert_eq!(none.measures[0].better, Some(Better::Second));
}

#[test]
fn without_limits_nobody_knows_which_measure_is_better() {
    let case = compared(&measured(&[1], None), &measured(&[2], Some(3)));
    assert_eq!(case.measures[0].better, None);
    assert_eq!(case.measures[0].above_limit, None);
    assert_eq!(case.measures[0].median.unwrap().ratio, Some(2.0));
    let whats: Vec<_> = case.differences.iter().map(|one| &*one.what).collect();
    assert_eq!(whats, ["limit of 'error'"]);
    assert_eq!(case.differences[0].first, "none");
    assert_eq!(case.differences[0].second, "0.000003 m");
}

#[test]
fn a_limit_that_is_kept_is_worth_more_than_a_smaller_error() {
    let limited = |off_um: i64, values: &[i64]| Told {
        off_um: vec![off_um],
        median_limit_um: Some(1000),
        values: values.into(),
        limit: Some(10),
        ..NOTHING_TOLD
    };
    let case = compared(&limited(100, &[11]), &limited(900, &[10]));
    assert_eq!(case.trajectories[0].better, Better::First);
    assert_eq!(case.claims.len(), 1);
    assert_eq!(case.better, Better::Second);
    let other = Told {
        median_limit_um: None,
        ..limited(100, &[11])
    };
    let case = compared(&limited(100, &[11]), &other);
    assert_eq!(
        case.differences[0].what,
        "limit of the median error of 'head'"
    );
}

#[test]
fn what_is_measured_in_another_unit_is_not_compared() {
    let seconds = Told {
        quantity: Quantity::Duration,
        ..measured(&[5], None)
    };
    let case = compared(&measured(&[5], None), &seconds);
    assert!(case.measures.is_empty());
    assert_eq!(case.differences[0].what, "unit of 'error'");
    assert_eq!(
        (&*case.differences[0].first, &*case.differences[0].second),
        ("um", "ns")
    );
}

proptest! {
    /// Whatever is told: both sides in turn, and each with itself.
    #[test]
    fn the_other_way_round_the_other_side_is_better(
        off_um in prop::array::uniform2(prop::collection::vec(-1_000_000..1_000_000_i64, 0..30)),
        values in prop::array::uniform2(prop::collection::vec(any::<i64>(), 0..30)),
        limits in any::<[Option<i64>; 2]>(),
    ) {
        let sides = [0, 1].map(|side| Told {
            off_um: off_um[side].clone(),
            values: values[side].clone(),
            limit: limits[side],
            ..NOTHING_TOLD
        });
        let there = compared(&sides[0], &sides[1]);
        let back = compared(&sides[1], &sides[0]);
        let turned = match there.better {
            Better::First => Better::Second,
            Better::Second => Better::First,
            better => better,
        };
        prop_assert_eq!(back.better, turned);
        prop_assert_eq!(compared(&sides[0], &sides[0]).better, Better::Equal);
        let same = |case: &CaseComparison| case.measures[0].median.map(|pair| pair.first);
        prop_assert_eq!(same(&there), back.measures[0].median.map(|pair| pair.second));
    }
}
