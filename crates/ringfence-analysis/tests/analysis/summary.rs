//! Whole records: summaries, damage, comparison.

use crate::common::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use ringfence_analysis::compare::{Better, compare, compare_cases};
use ringfence_analysis::run::Run;
use ringfence_analysis::statistics::{TaskStatistics, statistics};
use ringfence_analysis::summary::{CaseSummary, Summary};
use ringfence_analysis::verdict::{ClaimKind, Outcome, judge};
use ringfence_record::Writer;
use ringfence_record::event::*;

fn header(seed: u64) -> Header {
    Header {
        target: "sim".into(),
        scenario: "demo".into(),
        platform: "raspberry-pi-3".into(),
        seed,
        ..Header::default()
    }
}

fn record(seed: u64, cases: &[Vec<Event>]) -> Vec<u8> {
    record_of(&header(seed), cases)
}

fn record_of(header: &Header, cases: &[Vec<Event>]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), header).unwrap();
    for event in cases.iter().flatten() {
        writer.write(event).unwrap();
    }
    writer.finish().unwrap()
}

fn summary(bytes: &[u8]) -> Summary {
    Summary::of(&Run::read(bytes).unwrap())
}

/// `good`, but `low` finishes late.
fn slow() -> Vec<Event> {
    let mut events = good();
    let (task, job) = (LOW, 0);
    let at = |time_ns| Event::JobFinished { time_ns, task, job };
    replace(&mut events, at(6800), at(11_000));
    in_order(events)
}

/// A case with the name and the claims of a co-run.
fn co_run(mut events: Vec<Event>) -> Vec<Event> {
    declare(&mut events, |case| {
        case.name = "co-run".into();
        case.claims.one_gang_at_a_time = false;
        case.claims.budgets = None;
    });
    events
}

#[test]
fn a_case_to_compare_with_may_miss_deadlines() {
    let s = summary(&record(1, &[co_run(slow()), good()]));
    assert!(s.passed);
    assert!(!s.cases[0].verdict.passed() && s.cases[1].verdict.passed());
    assert!(!summary(&record(1, &[co_run(good()), slow()])).passed);
    assert!(!summary(&record(1, &[co_run(slow())])).passed);
    assert!(summary(&record(1, &[co_run(good())])).passed);
    assert!(!summary(&record(1, &[])).passed);
}

#[test]
fn a_truncated_record_is_read_up_to_the_damage() {
    let bytes = record(1, &[good(), co_run(good())]);
    let s = summary(&bytes[..bytes.len() - 40]);
    assert!(!s.passed);
    assert!(s.damage.unwrap().contains("ends early"));
    assert_eq!(s.cases.len(), 2);
    assert!(s.cases[0].verdict.passed() && s.cases[0].statistics.is_some());
    let cut = &s.cases[1];
    assert_eq!((cut.name.as_str(), cut.end_ns), ("co-run", None));
    let complete = cut.verdict.claim(ClaimKind::CompleteRecord).unwrap();
    assert_eq!(complete.outcome, Outcome::Fail);
}

#[test]
fn a_contradiction_in_one_case_leaves_the_others() {
    let mut bad = co_run(good());
    bad.insert(5, on(0, 3, 0));
    bad.insert(6, on(0, 2, 0));
    let s = summary(&record(1, &[bad, good()]));
    assert!(!s.passed && s.damage.is_none());
    let complete = s.cases[0].verdict.claim(ClaimKind::CompleteRecord).unwrap();
    assert!(complete.evidence[0].text.starts_with("event 6: "));
    assert!(s.cases[1].verdict.passed());
}

#[test]
fn a_summary_goes_through_json() {
    let s = summary(&record(1, &[good(), co_run(slow())]));
    let json = serde_json::to_string(&s).unwrap();
    assert!(json.starts_with("{\"summary_version\":2,"));
    assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), s);
}

#[test]
fn a_comparison_says_what_differs_and_which_is_better() {
    let first = summary(&record(1, &[slow(), co_run(good())]));
    let mut other = good();
    declare(&mut other, |case| case.tasks[0].deadline_ns = 9000);
    let second = summary(&record(2, &[other]));
    let c = compare(&first, &second);
    assert_eq!(c.differences.len(), 1);
    let seed = &c.differences[0];
    assert_eq!(
        (&*seed.what, &*seed.first, &*seed.second),
        ("seed", "1", "2")
    );
    assert_eq!(c.only_first, ["co-run"]);
    assert!(c.only_second.is_empty());

    let case = &c.cases[0];
    assert_eq!(case.differences.len(), 1);
    assert_eq!(case.differences[0].what, "deadline of 'high'");
    assert_eq!(case.better, Better::Second);
    assert_eq!(case.tasks[usize::from(HIGH)].better, Better::Equal);
    let low = &case.tasks[usize::from(LOW)];
    assert_eq!(low.better, Better::Second);
    assert_eq!(
        (low.missed.first, low.missed.second, low.missed.ratio),
        (1, 0, Some(0.0))
    );
    assert_eq!(low.median_ns.unwrap().ratio, Some(6800.0 / 11_000.0));
    let hog = &case.best_effort[0];
    assert_eq!(hog.bytes_per_second.unwrap().ratio, Some(1.0));
    // 29000 bytes in 12 us.
    assert_eq!(hog.bytes_per_second.unwrap().first, 2_416_666_666);
}

#[test]
fn a_comparison_says_which_tasks_are_declared_differently() {
    let first = summary(&record(1, &[good()]));
    let mut other = good();
    declare(&mut other, |case| {
        case.tasks[0].period_ns = 25_000;
        case.tasks[1].offset_ns = 30;
    });
    let second = summary(&record(1, &[other]));
    let comparison = compare(&first, &second);
    let differences = comparison.cases[0].differences.iter();
    let whats: Vec<&str> = differences.map(|difference| &*difference.what).collect();
    assert_eq!(whats, ["period of 'high'", "offset of 'low'"]);
}

/// A record can name many files, cases and tasks. Looking for each of one among
/// all of the other would take hours here.
#[test]
fn records_that_name_very_much_are_compared() {
    const MANY: usize = 300_000;
    let mut first = summary(&record(1, &[good()]));
    let input = |number| Input {
        kind: InputKind::Trace,
        path: Some(format!("{number}.rftrace")),
        size_bytes: 1,
        sha256: "5c".into(),
    };
    first.header.inputs = (0..MANY).map(input).collect();
    let unreadable = |number| CaseSummary {
        name: format!("c{number}"),
        statistics: None,
        ..first.cases[0].clone()
    };
    let cases: Vec<_> = (0..MANY / 10).map(unreadable).collect();
    first.cases.extend(cases);
    let statistics = first.cases[0].statistics.as_mut().unwrap();
    let task = statistics.tasks[0].clone();
    statistics
        .tasks
        .extend((0..MANY).map(|number| TaskStatistics {
            task: format!("t{number}"),
            ..task.clone()
        }));
    let mut second = first.clone();
    second.header.inputs.reverse();
    let comparison = compare(&first, &second);
    assert!(comparison.differences.is_empty());
    assert_eq!(comparison.cases.len(), first.cases.len());
}

#[test]
fn a_comparison_says_which_inputs_differ() {
    let input = |kind, path: &str, sha256: &str| Input {
        kind,
        path: Some(path.into()),
        size_bytes: 1,
        sha256: sha256.into(),
    };
    let of = |overrides: &[&str], inputs: &[Input]| {
        let header = Header {
            overrides: overrides.iter().map(|flag| (*flag).into()).collect(),
            inputs: inputs.into(),
            ..header(1)
        };
        summary(&record_of(&header, &[good()]))
    };
    let first = of(
        &["--case rt-gang", "--duration 200 ms"],
        &[
            input(InputKind::Scenario, "a.toml", "5c"),
            input(InputKind::Platform, "board.toml", "b0"),
            input(InputKind::Trace, "eyes.rftrace", "e1"),
            input(InputKind::Trace, "ears.rftrace", "e2"),
        ],
    );
    let second = of(
        &[],
        &[
            // The same scenario under another name.
            input(InputKind::Scenario, "copy/b.toml", "5c"),
            input(InputKind::Platform, "board-2.toml", "b1"),
            input(InputKind::Trace, "ears.rftrace", "e3"),
            input(InputKind::Trace, "nose.rftrace", "e4"),
        ],
    );
    let differences = compare(&first, &second).differences;
    let told: Vec<[&str; 3]> = differences
        .iter()
        .map(|d| [d.what.as_str(), d.first.as_str(), d.second.as_str()])
        .collect();
    assert_eq!(
        told,
        [
            [
                "changed by the command line",
                "--case rt-gang --duration \"200 ms\"",
                "nothing"
            ],
            [
                "platform file",
                "board.toml (SHA-256 b0)",
                "board-2.toml (SHA-256 b1)"
            ],
            ["trace file", "eyes.rftrace (SHA-256 e1)", "none"],
            [
                "trace file",
                "ears.rftrace (SHA-256 e2)",
                "ears.rftrace (SHA-256 e3)"
            ],
            ["trace file", "none", "nose.rftrace (SHA-256 e4)"],
        ]
    );
    assert!(compare(&first, &first).differences.is_empty());
}

#[test]
fn better_for_one_task_and_worse_for_another_is_mixed() {
    let mut other = good();
    let (task, job) = (OTHER, 0);
    let at = |time_ns| Event::JobFinished { time_ns, task, job };
    replace(&mut other, at(5000), at(6000));
    let s = summary(&record(1, &[slow(), in_order(other)]));
    assert_eq!(
        compare_cases(&s.cases[0], &s.cases[1]).better,
        Better::Mixed
    );
    assert_eq!(
        compare_cases(&s.cases[0], &s.cases[0]).better,
        Better::Equal
    );
}

#[test]
fn what_cannot_be_read_is_not_called_equal() {
    let bytes = record(1, &[good()]);
    let whole = summary(&bytes);
    let cut = summary(&bytes[..bytes.len() - 40]);
    let c = compare(&whole, &cut);
    assert_eq!(c.cases[0].better, Better::Unknown);
    let changed: Vec<ClaimKind> = c.cases[0].claims.iter().map(|c| c.kind).collect();
    assert_eq!(changed, [ClaimKind::CompleteRecord]);
    assert!(c.first_damage.is_none() && c.second_damage.unwrap().contains("ends early"));
}

#[test]
fn a_broken_claim_is_worse_than_a_longer_time() {
    let mut broken = good();
    replace(
        &mut broken,
        sample(2000, 1964, 1014),
        sample(2000, 1965, 1014),
    );
    let s = summary(&record(1, &[good(), broken]));
    let c = compare_cases(&s.cases[0], &s.cases[1]);
    assert_eq!(c.better, Better::First);
    assert_eq!(c.claims.len(), 1);
    assert_eq!(c.claims[0].kind, ClaimKind::Budgets);
    assert_eq!(
        (c.claims[0].first, c.claims[0].second),
        (Outcome::Pass, Outcome::Fail)
    );
}

#[test]
fn less_than_a_percent_is_no_difference() {
    let finish_other = |time_ns| {
        let mut events = good();
        let (task, job) = (OTHER, 0);
        let at = |time_ns| Event::JobFinished { time_ns, task, job };
        replace(&mut events, at(5000), at(time_ns));
        summary(&record(1, &[in_order(events)]))
    };
    let better = |time_ns| compare(&finish_other(5000), &finish_other(time_ns)).cases[0].better;
    assert_eq!(better(5050), Better::Equal);
    assert_eq!(better(5051), Better::First);
}

proptest! {
    /// Events lost, repeated and moved: an error or a verdict, never a panic.
    #[test]
    fn no_section_makes_the_analysis_panic(
        lost in vec(any::<Index>(), 0..8),
        moved in vec((any::<Index>(), any::<Index>()), 0..4),
        numbers in [0; 4].map(|_| prop_oneof![0..100_u64, any::<u64>()]),
    ) {
        let mut events = good();
        for index in lost {
            let index = 1 + index.index(events.len() - 1);
            events.remove(index);
        }
        for (from, to) in moved {
            let event = events[1 + from.index(events.len() - 1)].clone();
            events.insert(1 + to.index(events.len() - 1), event);
        }
        declare(&mut events, |case| {
            case.claims.hand_over_ns = numbers[0];
            case.tasks[0].period_ns = numbers[1];
            case.tasks[1].deadline_ns = numbers[2];
            case.claims.budgets = Some(BudgetClaim {
                period_ns: numbers[3],
                quantum_bytes: numbers[0],
            });
            case.claims.share = Some(ShareClaim {
                limit_ns: numbers[2],
                window_ns: numbers[3],
            });
        });
        if let Ok(run) = read(&in_order(events)) {
            judge(&run);
            statistics(&run);
        }
    }
}
