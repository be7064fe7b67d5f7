//! Durations from the command line.

use std::path::Path;

use ringfence_scenario::model::Scenario;
use ringfence_scenario::quantity::parse_command_line_time;
use ringfence_scenario::{MAX_DURATION_NS, load};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn scenario() -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good/complete.toml");
    load(&path).unwrap()
}

/// First deadlines in the gangs of the scenario, in their order.
fn first_deadlines(scenario: &Scenario) -> Vec<u64> {
    let last = |gang: &ringfence_scenario::model::Gang| {
        gang.tasks.iter().map(|task| task.first_deadline_ns()).max()
    };
    scenario.gangs.iter().filter_map(last).collect()
}

#[test]
fn times_are_those_of_rtla_and_of_scenario_files() {
    for (text, expected) in [
        ("5", 5 * S),
        ("0.25", 250 * MS),
        ("5s", 5 * S),
        ("10m", 600 * S),
        ("10min", 600 * S),
        ("2h", 7200 * S),
        ("1d", MAX_DURATION_NS),
        ("500ms", 500 * MS),
        ("2 s", 2 * S),
        (" 2 ", 2 * S),
        ("1.5us", 1500),
        ("0", 0),
    ] {
        assert_eq!(parse_command_line_time(text), Ok(expected), "{text}");
    }
}

#[test]
fn other_texts_are_no_times() {
    for text in ["", "s", "-5", "5 M", "5 seconds", "1e3", "5,5", "5 5", "."] {
        let message = parse_command_line_time(text).unwrap_err();
        let start = format!("found {text:?}, expected a time such as 5 (seconds), ");
        assert!(message.starts_with(&start), "{message}");
    }
    let message = parse_command_line_time("0.1ns").unwrap_err();
    assert_eq!(message, "found \"0.1ns\", expected a multiple of 1 ns");
    let message = parse_command_line_time("99999999999999999999").unwrap_err();
    assert!(message.contains("64 bits"), "{message}");
}

#[test]
fn a_duration_ends_at_or_after_the_first_deadlines() {
    let last = first_deadlines(&scenario()).into_iter().max().unwrap();
    let changed = scenario().with_duration(last).unwrap();
    assert_eq!(changed.duration_ns, last);
    let message = scenario().with_duration(last - 1).unwrap_err();
    assert!(message.starts_with("found a duration of "), "{message}");
    assert!(message.contains(", when the first job of `"), "{message}");
}

#[test]
fn only_the_selected_cases_count() {
    let mut selected = scenario();
    let deadlines = first_deadlines(&selected);
    let (soonest, due) = deadlines
        .iter()
        .enumerate()
        .min_by_key(|(_, due)| **due)
        .unwrap();
    assert!(deadlines.iter().any(|other| other > due));
    selected.cases.retain(|case| case.gangs == [soonest]);
    assert_eq!(selected.cases.len(), 1);
    assert_eq!(
        selected.clone().with_duration(*due).unwrap().duration_ns,
        *due
    );
    assert!(selected.with_duration(due - 1).is_err());
}

#[test]
fn a_duration_is_at_most_a_day() {
    assert!(scenario().with_duration(MAX_DURATION_NS).is_ok());
    let message = scenario().with_duration(MAX_DURATION_NS + 1).unwrap_err();
    assert!(
        message.ends_with("expected at most 86400 s, a day"),
        "{message}"
    );
}
