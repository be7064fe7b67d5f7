//! Trajectories, measures, and what is judged of them.

use proptest::prelude::*;
use ringfence_analysis::accuracy::{Course, MATCH_NS, course, measures, trajectories};
use ringfence_analysis::case::{CaseRun, FoundPosition, Place, TrajectoryRun};
use ringfence_analysis::read_case::CaseReader;
use ringfence_analysis::verdict::{ClaimKind, Outcome, judge};
use ringfence_record::accuracy::*;
use ringfence_record::event::{Case, Claims, Event};

use crate::common::case;

const TICK_NS: u64 = 50_000_000;

/// A case that does nothing but tell how right it was.
pub fn told(median_limit_um: Option<u64>, measure_limit: Option<i64>) -> Case {
    Case {
        claims: Claims::default(),
        tasks: vec![],
        gangs: vec![],
        threads: vec![],
        classes_of_service: vec![],
        accuracy: Accuracy {
            trajectories: vec![Trajectory {
                name: "head".into(),
                alignment: Alignment::Same,
                median_limit_um,
            }],
            measures: vec![Measure {
                name: "median error".into(),
                quantity: Quantity::Length,
                limit: measure_limit,
            }],
        },
        ..case()
    }
}

fn read(case: Case, events: &[Event]) -> Result<CaseRun, String> {
    let time_ns = case.duration_ns;
    let mut reader = CaseReader::new(case);
    events.iter().for_each(|event| reader.read(event));
    reader.read(&Event::CaseEnd { time_ns });
    reader.finish().map_err(|error| error.what)
}

fn position(at_ns: u64, x_um: i64) -> Event {
    Event::Position {
        time_ns: 0,
        trajectory: 0,
        at_ns,
        position_um: [x_um, 0, 0],
    }
}

fn true_position(at_ns: u64, x_um: i64) -> Event {
    Event::TruePosition {
        time_ns: 0,
        trajectory: 0,
        at_ns,
        position_um: [x_um, 0, 0],
    }
}

fn measured(measure: u16, value: i64) -> Event {
    Event::Measured {
        time_ns: 0,
        measure,
        value,
    }
}

fn run_of(found: &[[i64; 3]], truth: &[[i64; 3]]) -> TrajectoryRun {
    let place = |(number, position_um): (u64, &[i64; 3])| Place {
        at_ns: number * TICK_NS,
        position_um: *position_um,
    };
    let positions = (0..).zip(found).map(|one| FoundPosition {
        found_ns: 0,
        place: place(one),
    });
    TrajectoryRun {
        positions: positions.collect(),
        truth: (0..).zip(truth).map(place).collect(),
    }
}

fn square_sum(course: &Course) -> f64 {
    let errors = course.points.iter().filter_map(|point| point.error_um);
    errors.map(|um| (um as f64).powi(2)).sum()
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// Turns by a quaternion, which need not be of unit length, and shifts.
fn moved(point: [i64; 3], turn: [f64; 4], shift: [f64; 3]) -> [i64; 3] {
    let [w, x, y, z] = turn;
    let norm = w * w + x * x + y * y + z * z;
    let p = point.map(|um| um as f64);
    // p + 2 w (v x p) + 2 v x (v x p)
    let once = cross([x, y, z], p);
    let twice = cross([x, y, z], once);
    [0, 1, 2].map(|i| (p[i] + 2.0 * (w * once[i] + twice[i]) / norm + shift[i]).round() as i64)
}

fn any_turn() -> impl Strategy<Value = [f64; 4]> {
    prop::array::uniform4(-1.0..1.0_f64).prop_filter("too short to turn by", |q| {
        q.iter().map(|x| x * x).sum::<f64>() > 0.01
    })
}

fn any_points(least: usize) -> impl Strategy<Value = Vec<[i64; 3]>> {
    prop::collection::vec(
        prop::array::uniform3(-20_000_000..20_000_000_i64),
        least..40,
    )
}

proptest! {
    #[test]
    fn a_rigid_motion_is_no_error(
        truth in any_points(3),
        turn in any_turn(),
        shift in prop::array::uniform3(-1e9..1e9_f64),
    ) {
        let found: Vec<_> = truth.iter().map(|&point| moved(point, turn, shift)).collect();
        let course = course(&run_of(&found, &truth), Alignment::Rigid);
        prop_assert!(course.compared);
        for point in &course.points {
            prop_assert!(point.error_um.unwrap() <= 3, "{course:?}");
        }
    }

    #[test]
    fn no_other_rigid_motion_is_nearer(
        truth in any_points(3),
        noise in prop::collection::vec(prop::array::uniform3(-500_000..500_000_i64), 40),
        (turn, shift) in (any_turn(), prop::array::uniform3(-1e7..1e7_f64)),
        (more_turn, more_shift) in (prop::array::uniform3(-0.01..0.01_f64), prop::array::uniform3(-50_000.0..50_000.0_f64)),
    ) {
        let noisy = truth.iter().zip(&noise).map(|(a, b)| [0, 1, 2].map(|i| a[i] + b[i]));
        let found: Vec<_> = noisy.map(|point| moved(point, turn, shift)).collect();
        let best = course(&run_of(&found, &truth), Alignment::Rigid);
        let [x, y, z] = more_turn;
        let other: Vec<_> = best
            .points
            .iter()
            .map(|point| moved(point.position_um.map(|um| um.round() as i64), [1.0, x, y, z], more_shift))
            .collect();
        let other = course(&run_of(&other, &truth), Alignment::Same);
        // Errors are whole micrometres.
        prop_assert!(square_sum(&best) <= square_sum(&other) + 1e8);
    }

    /// So that none is nearer of those that differ a little.
    #[test]
    fn what_is_left_has_no_common_shift_and_no_common_turn(
        truth in any_points(3),
        noise in prop::collection::vec(prop::array::uniform3(-500_000..500_000_i64), 40),
        (turn, shift) in (any_turn(), prop::array::uniform3(-1e7..1e7_f64)),
    ) {
        let noisy = truth.iter().zip(&noise).map(|(a, b)| [0, 1, 2].map(|i| a[i] + b[i]));
        let found: Vec<_> = noisy.map(|point| moved(point, turn, shift)).collect();
        let best = course(&run_of(&found, &truth), Alignment::Rigid);
        let (mut left, mut moment, mut size) = ([0.0; 3], [0.0; 3], 0.0);
        for (point, truth) in best.points.iter().zip(&truth) {
            let at = point.position_um;
            let off = [0, 1, 2].map(|i| at[i] - truth[i] as f64);
            left = [0, 1, 2].map(|i| left[i] + off[i]);
            let turned = cross(at, off);
            moment = [0, 1, 2].map(|i| moment[i] + turned[i]);
            size += cross(at, off).iter().map(|m| m.abs()).sum::<f64>() + 1e9;
        }
        prop_assert!(left.iter().all(|um| um.abs() < 1.0), "{left:?}");
        prop_assert!(moment.iter().all(|m| m.abs() < 1e-6 * size), "{moment:?} of {size}");
    }

    #[test]
    fn nothing_that_a_record_tells_panics(
        found in prop::collection::vec(any::<[i64; 3]>(), 0..6),
        truth in prop::collection::vec(any::<[i64; 3]>(), 0..6),
        values in prop::collection::vec(any::<i64>(), 0..6),
        limits in any::<(Option<u64>, Option<i64>)>(),
        rigid in any::<bool>(),
    ) {
        let mut case = told(limits.0, limits.1);
        if rigid {
            case.accuracy.trajectories[0].alignment = Alignment::Rigid;
        }
        let mut events = Vec::new();
        for (number, &position_um) in (0..).zip(&found) {
            events.push(Event::Position { time_ns: 0, trajectory: 0, at_ns: number, position_um });
        }
        for (number, &position_um) in (0..).zip(&truth) {
            events.push(Event::TruePosition { time_ns: 0, trajectory: 0, at_ns: number, position_um });
        }
        events.extend(values.iter().map(|&value| measured(0, value)));
        if let Ok(run) = read(case, &events) {
            let measures = measures(&run);
            prop_assert_eq!(measures[0].values.as_ref().map_or(0, |v| v.count), values.len() as u64);
            prop_assert_eq!(trajectories(&run).len(), 1);
            judge(&run);
        }
    }
}

#[test]
fn points_on_one_spot_and_on_one_line_are_aligned_without_a_panic() {
    for points in [
        [[7, 7, 7]; 5],
        [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 0, 0]],
    ] {
        let course = course(&run_of(&points, &points), Alignment::Rigid);
        assert_eq!(square_sum(&course), 0.0);
    }
}

#[test]
fn a_position_is_compared_with_the_nearest_true_one_that_is_near_enough() {
    let events = [
        true_position(0, 100),
        true_position(MATCH_NS, 200),
        position(MATCH_NS / 2, 100),
        position(2 * MATCH_NS, 203),
        position(2 * MATCH_NS + 1, 0),
    ];
    let run = read(told(None, None), &events).unwrap();
    let course = course(&run.trajectories[0], Alignment::Same);
    let errors: Vec<_> = course.points.iter().map(|point| point.error_um).collect();
    assert_eq!(
        errors,
        [Some(0), Some(3), None],
        "of two equally near the earlier"
    );
    let statistics = &trajectories(&run)[0];
    assert_eq!((statistics.positions, statistics.compared), (3, 2));
    assert_eq!(
        statistics.error_root_mean_square_um,
        Some(2),
        "the root of 9/2"
    );
}

#[test]
fn two_positions_cannot_be_aligned() {
    let run = run_of(&[[0; 3], [1; 3]], &[[0; 3], [1; 3]]);
    assert!(!course(&run, Alignment::Rigid).compared);
    assert!(course(&run, Alignment::Same).compared);
}

#[test]
fn what_a_case_cannot_tell_is_a_contradiction() {
    let refused = |events: &[Event], what: &str| {
        let found = read(told(None, None), events).unwrap_err();
        assert!(found.contains(what), "{found}");
    };
    refused(
        &[position(5, 0), position(5, 0)],
        "but the one before it is of 5 ns",
    );
    refused(
        &[true_position(5, 0), true_position(4, 0)],
        "a true position of trajectory 0 is of 4 ns",
    );
    refused(&[position(0, 1 << 51)], "places lie within");
    refused(&[position(0, i64::MIN)], "places lie within");
    refused(
        &[measured(1, 0)],
        "it names measure 1, but the case declares 1 of them",
    );
    let other = Event::Position {
        time_ns: 0,
        trajectory: 2,
        at_ns: 0,
        position_um: [0; 3],
    };
    refused(
        &[other],
        "it names trajectory 2, but the case declares 1 of them",
    );
}

fn outcome(case: Case, events: &[Event]) -> (Outcome, u64, u64) {
    let verdict = judge(&read(case, events).unwrap());
    let claim = verdict.claim(ClaimKind::Accuracy).unwrap();
    (claim.outcome, claim.checked, claim.breaches)
}

#[test]
fn limits_of_measures_are_judged_value_by_value() {
    let values = [measured(0, 299), measured(0, 300), measured(0, 301)];
    assert_eq!(
        outcome(told(None, Some(300)), &values),
        (Outcome::Fail, 3, 1)
    );
    assert_eq!(
        outcome(told(None, Some(301)), &values),
        (Outcome::Pass, 3, 0)
    );
    assert_eq!(
        outcome(told(None, None), &values),
        (Outcome::NotClaimed, 0, 0)
    );
    assert_eq!(outcome(told(None, Some(300)), &[]).0, Outcome::NotJudged);
    let run = read(told(None, Some(300)), &values).unwrap();
    assert_eq!(measures(&run)[0].above_limit, 1);
    let verdict = judge(&run);
    let breach = &verdict.claim(ClaimKind::Accuracy).unwrap().evidence[0].text;
    assert_eq!(breach, "median error: 0.000301 m, at most 0.0003 m allowed");
}

#[test]
fn the_limit_of_a_trajectory_is_of_its_median_error() {
    let events: Vec<_> = (0..3)
        .flat_map(|n| {
            [
                true_position(n * TICK_NS, 0),
                position(n * TICK_NS, n as i64 * 100),
            ]
        })
        .collect();
    assert_eq!(
        outcome(told(Some(100), None), &events),
        (Outcome::Pass, 1, 0)
    );
    assert_eq!(
        outcome(told(Some(99), None), &events),
        (Outcome::Fail, 1, 1)
    );
    assert_eq!(outcome(told(Some(99), None), &[]).0, Outcome::NotJudged);
}

#[test]
fn the_first_of_what_is_missing_is_told() {
    let verdict = judge(&read(told(Some(99), Some(300)), &[]).unwrap());
    let note = verdict.claim(ClaimKind::Accuracy).unwrap().note.as_deref();
    let expected = "too few positions of trajectory 'head' can be compared with true ones";
    assert_eq!(note, Some(expected));
}

#[test]
fn jobs_of_a_sporadic_task_are_never_due() {
    let mut sporadic = case();
    sporadic.claims = told(None, None).claims;
    sporadic.tasks.truncate(1);
    sporadic.threads.truncate(1);
    sporadic.classes_of_service.clear();
    let releases = |case: &Case| {
        let job = (777, 0, 0);
        let (time_ns, task, job) = job;
        let run = read(case.clone(), &[Event::JobReleased { time_ns, task, job }]).unwrap();
        judge(&run).claim(ClaimKind::Releases).unwrap().outcome
    };
    assert_eq!(releases(&sporadic), Outcome::Fail);
    sporadic.tasks[0].sporadic = true;
    assert_eq!(releases(&sporadic), Outcome::Pass);
}
