//! `ringfence analyze`, with good input, bad input and both verdicts.

use std::fs;

use crate::ringfence::{house, ringfence, scratch};

#[test]
fn the_papers_illustrative_set_is_schedulable_with_the_papers_responses() {
    let command = "analyze --json --compare --compose scenarios/rt-gang/illustrative.toml";
    let analysis = ringfence(&house(), command).expect(0).json();
    assert_eq!(analysis["schedulable"], true);
    let tasks = &analysis["partitions"][0]["tasks"];
    for (index, task, response_ns) in [(0, "tau1", 2_000_000), (1, "tau2", 6_000_000)] {
        assert_eq!(tasks[index]["task"], task);
        assert_eq!(tasks[index]["response"]["response_ns"], response_ns);
    }
    // Side by side, tau1 can take ten times as long.
    let compared = analysis["comparison"].as_array().unwrap();
    for comparison in compared {
        let slowed = comparison["slowed_by_others"] == true;
        assert_eq!(comparison["schedulable"], !slowed, "{comparison}");
    }
    assert_eq!(compared.len(), 4);
    assert_eq!(analysis["proposals"][0]["proposal"]["schedulable"], true);
}

#[test]
fn a_miss_is_exit_code_2_with_the_gang_and_by_how_much() {
    let folder = scratch();
    let text = fs::read_to_string(house().join("scenarios/rt-gang/illustrative.toml")).unwrap();
    let late = text.replace(
        "period = \"10 ms\"\nthreads = 2\ncores = \"2-3\"",
        "period = \"10 ms\"\ndeadline = \"5 ms\"\nthreads = 2\ncores = \"2-3\"",
    );
    fs::write(folder.path().join("late.toml"), late).unwrap();
    let analysed = ringfence(folder.path(), "analyze late.toml").expect(2);
    assert!(
        analysed
            .stdout
            .contains("tau2 can miss its deadline by 1 ms"),
        "{}",
        analysed.stdout
    );
}

#[test]
fn what_cannot_be_analysed_says_what_to_do() {
    let unknown = ringfence(&house(), "analyze scenarios/rt-gang/synthetic.toml").expect(1);
    assert!(unknown.stderr.contains("--measure"), "{}", unknown.stderr);
    let command = "analyze scenarios/rt-gang/illustrative.toml --case co-run";
    let side_by_side = ringfence(&house(), command).expect(1);
    assert!(
        side_by_side.stderr.contains("one gang at a time"),
        "{}",
        side_by_side.stderr
    );
}

#[test]
fn measured_pairs_are_a_table_that_is_read_back() {
    let folder = scratch();
    let scenario = house().join("scenarios/rt-gang/illustrative.toml");
    let measure = format!("analyze --measure-pairs -q {}", scenario.display());
    let pairs = ringfence(folder.path(), &measure).expect(0).stdout;
    // The scenario's own factor, found again.
    assert!(pairs.contains("[\"tau1\"]\n\"tau2\" = 10.000\n"), "{pairs}");
    fs::write(folder.path().join("pairs.toml"), pairs).unwrap();
    let analyse = format!("analyze --factors pairs.toml {}", scenario.display());
    ringfence(folder.path(), &analyse).expect(0);
    fs::write(folder.path().join("pairs.toml"), "[tau1]\ntau2 = 0.5\n").unwrap();
    let refused = ringfence(folder.path(), &analyse).expect(1);
    assert!(
        refused.stderr.contains("pairs.toml:2:8"),
        "{}",
        refused.stderr
    );
}

#[test]
fn execution_times_can_be_measured() {
    let command = "analyze --measure --measure-interference --json -q --duration 70ms \
                   scenarios/rt-gang/synthetic.toml";
    let analysis = ringfence(&house(), command).expect(0).json();
    let measured = &analysis["measured"]["tau1"];
    assert!(
        measured["execution_ns"].as_u64() > Some(3_000_000),
        "{measured}"
    );
    assert!(measured["interference_ns"].as_u64() > Some(0), "{measured}");
    assert!(!analysis["notes"].as_array().unwrap().is_empty());
}

#[test]
fn tasks_that_cannot_all_take_turns_are_composed() {
    let command = "analyze --compose --json scenarios/analysis/virtual-gang.toml";
    let analysis = ringfence(&house(), command).expect(2).json();
    let proposal = &analysis["proposals"][0]["proposal"];
    assert_eq!(proposal["schedulable"], true);
    assert_eq!(proposal["exact"], true);
    let together: Vec<_> = proposal["gangs"][0]["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| (task["task"].as_str(), task["execution_ns"].as_u64()))
        .collect();
    assert_eq!(
        together,
        [
            (Some("camera"), Some(9_600_000)),
            (Some("planner"), Some(6_600_000))
        ]
    );
}

#[test]
fn the_largest_tolerance_is_found_and_holds() {
    let file = "scenarios/analysis/tolerance.toml";
    let found = ringfence(&house(), &format!("analyze --json {file}"));
    let largest = found.expect(0).json()["largest_tolerances"][0]["bytes_per_second"].clone();
    let text = fs::read_to_string(house().join(file)).unwrap();
    let folder = scratch();
    let with = |rate: u64| {
        let tolerance = format!("tolerance = \"{rate} B/s\"");
        let changed = text.replace("tolerance = \"2 MB/s\"", &tolerance);
        fs::write(folder.path().join("changed.toml"), changed).unwrap();
        ringfence(folder.path(), "analyze changed.toml")
    };
    let largest = largest.as_u64().unwrap();
    with(largest).expect(0);
    // A line of 64 bytes a millisecond more.
    with(largest + 64_000).expect(2);
}

#[test]
fn the_book_shows_what_the_command_prints() {
    let book = fs::read_to_string(house().join("docs/src/analysis.md")).unwrap();
    for (command, code) in [
        ("analyze scenarios/rt-gang/illustrative.toml", 0),
        ("analyze scenarios/analysis/tolerance.toml", 0),
        (
            "analyze --compare --compose scenarios/analysis/virtual-gang.toml",
            2,
        ),
    ] {
        let printed = ringfence(&house(), command).expect(code).stdout;
        let shown = format!("$ ringfence {command}\n{printed}```\n");
        assert!(book.contains(&shown), "the book lacks:\n{shown}");
    }
}
