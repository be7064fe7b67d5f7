//! Runs and what their records prove.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::ringfence::{Finished, house, ringfence, scratch};

/// Runs a scenario of the house into `run.rfr`.
fn run(folder: &Path, scenario: &str, flags: &str) -> Finished {
    let scenario = house().join("scenarios").join(scenario);
    ringfence(
        folder,
        &format!("run --json -o run.rfr {flags} {}", scenario.display()),
    )
}

fn case<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let cases = summary["cases"].as_array().expect("cases");
    cases.iter().find(|case| case["name"] == name).expect(name)
}

fn task<'a>(case: &'a Value, name: &str) -> &'a Value {
    let tasks = case["statistics"]["tasks"].as_array().expect("tasks");
    tasks.iter().find(|task| task["task"] == name).expect(name)
}

fn claim<'a>(case: &'a Value, kind: &str) -> &'a Value {
    let claims = case["verdict"]["claims"].as_array().expect("claims");
    claims
        .iter()
        .find(|claim| claim["kind"] == kind)
        .expect(kind)
}

#[test]
fn the_demo_misses_deadlines_without_isolation_and_meets_them_with_it() {
    let folder = scratch();
    let summary = run(folder.path(), "demo.toml", "-d 200ms").expect(0).json();
    assert_eq!(summary["passed"], true);
    assert_eq!(task(case(&summary, "solo/steering"), "dave-2")["missed"], 0);
    let co_run = task(case(&summary, "co-run"), "dave-2");
    assert_eq!(co_run["missed"], co_run["jobs"]);
    assert_eq!(task(case(&summary, "rt-gang"), "dave-2")["missed"], 0);
    let executed = |name: &str| {
        let threads = case(&summary, name)["statistics"]["best_effort"].as_array();
        let accesses = |thread: &Value| thread["accesses"].as_u64().expect("accesses");
        threads.expect("threads").iter().map(accesses).sum::<u64>()
    };
    assert!(executed("co-run") > executed("rt-gang") && executed("rt-gang") > 0);
    for kind in ["one-gang-at-a-time", "budgets", "deadlines"] {
        assert_eq!(
            claim(case(&summary, "rt-gang"), kind)["outcome"],
            "pass",
            "{kind}"
        );
    }
}

#[test]
fn a_scheduler_that_runs_lower_gangs_is_caught() {
    let folder = scratch();
    let flags = "--case rt-gang --inject lower-gang-runs";
    let summary = run(folder.path(), "rt-gang/illustrative.toml", flags)
        .expect(2)
        .json();
    let claim = claim(case(&summary, "rt-gang"), "one-gang-at-a-time");
    assert_eq!(claim["outcome"], "fail");
    assert!(!claim["evidence"].as_array().unwrap().is_empty());
}

#[test]
fn a_regulator_that_never_throttles_is_caught() {
    let folder = scratch();
    let flags = "-d 100ms --case rt-gang --inject never-throttle";
    let summary = run(folder.path(), "demo.toml", flags).expect(2).json();
    assert_eq!(
        claim(case(&summary, "rt-gang"), "budgets")["outcome"],
        "fail"
    );
}

#[test]
fn the_same_scenario_and_seed_give_the_same_bytes() {
    let folder = scratch();
    let record = |flags: &str| {
        run(folder.path(), "demo.toml", flags);
        fs::read(folder.path().join("run.rfr")).unwrap()
    };
    let one = record("-d 100ms -j 1");
    assert!(
        one == record("-d 100ms -j 2"),
        "the number of threads shows"
    );
    assert!(
        one != record("-d 100ms -j 2 --seed 2"),
        "the seed does not show"
    );
}

#[test]
fn a_cut_record_gives_an_error_and_all_events_before_the_cut() {
    let folder = scratch();
    run(folder.path(), "rt-gang/illustrative.toml", "").expect(0);
    let whole = fs::read(folder.path().join("run.rfr")).unwrap();
    ringfence(folder.path(), "report run.rfr --events whole.jsonl").expect(0);
    fs::write(folder.path().join("cut.rfr"), &whole[..whole.len() / 2]).unwrap();

    let report = ringfence(folder.path(), "report cut.rfr --events cut.jsonl").expect(1);
    assert_eq!(
        (report.stdout + &report.stderr)
            .matches("ends early")
            .count(),
        1
    );
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (whole, cut) = (read("whole.jsonl"), read("cut.jsonl"));
    assert!(whole.starts_with(&cut) && cut.lines().count() > 10);
}

#[test]
fn every_report_of_a_run_is_written() {
    let folder = scratch();
    run(folder.path(), "rt-gang/illustrative.toml", "").expect(0);
    ringfence(
        folder.path(),
        "report run.rfr --html r.html --perfetto r.pftrace --csv tables",
    )
    .expect(0);
    for file in [
        "r.html",
        "r.pftrace",
        "tables/jobs.csv",
        "tables/intervals.csv",
        "tables/counters.csv",
    ] {
        assert!(
            fs::metadata(folder.path().join(file)).unwrap().len() > 100,
            "{file}"
        );
    }
    let same = ringfence(folder.path(), "compare --json run.rfr run.rfr")
        .expect(0)
        .json();
    assert_eq!(same["differences"], Value::Array(Vec::new()));
}

#[test]
fn a_record_names_what_was_run() {
    let folder = scratch();
    let flags = "-d 200ms --case solo/vision --case rt-gang --seed 3 --inject never-throttle";
    run(folder.path(), "demo.toml", flags).expect(2);
    let summary = ringfence(folder.path(), "report --json run.rfr")
        .expect(2)
        .json();
    let header = &summary["header"];
    assert_eq!(
        header["overrides"],
        serde_json::json!([
            "--case solo/vision",
            "--case rt-gang",
            "--duration 200ms",
            "--seed 3",
            "--inject never-throttle"
        ])
    );
    let inputs = header["inputs"].as_array().unwrap();
    let of = |kind: &str| inputs.iter().find(|input| input["kind"] == kind).unwrap();
    assert_eq!(inputs.len(), 3, "{inputs:#?}");
    let scenario = house().join("scenarios/demo.toml");
    assert_eq!(of("scenario")["path"], scenario.display().to_string());
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    assert_eq!(of("scenario")["size_bytes"], size(&scenario));
    assert_eq!(of("platform")["path"], Value::Null);
    assert_eq!(of("trace")["path"], "../traces/susan-corners.rftrace");
    let trace = house().join("traces/susan-corners.rftrace");
    assert_eq!(of("trace")["size_bytes"], size(&trace));
    let sum = std::process::Command::new("sha256sum")
        .arg(&trace)
        .output()
        .unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap();
    assert_eq!(of("trace")["sha256"], sum.split_once(' ').unwrap().0);

    let text = ringfence(folder.path(), "report run.rfr").expect(2).stdout;
    assert!(text.contains("--inject never-throttle"), "{text}");
    assert!(text.contains("../traces/susan-corners.rftrace"), "{text}");
}

#[test]
fn a_record_says_who_had_which_share_of_the_cache() {
    let folder = scratch();
    let scenario = r#"
        [scenario]
        name = "shares"
        platform = "raspberry-pi-3"
        duration = "10 ms"

        [[class_of_service]]
        name = "most"
        ways = "2-15"
        colours = "0-5"

        [[class_of_service]]
        name = "unused"

        [[gang]]
        name = "vision"
        priority = 10
        class_of_service = "most"

        [[gang.task]]
        name = "corners"
        period = "10 ms"
        cores = "0-1"
        threads = 2
        program = { kind = "bandwidth", access = "read", working_set = "64 KiB" }

        [[best_effort]]
        name = "hog"
        cores = "3"
        program = { kind = "bandwidth", access = "write", working_set = "64 KiB" }

        [[case]]
        name = "rt-gang"
        cache_allocation = true

        [[case]]
        name = "co-run"
    "#;
    fs::write(folder.path().join("shares.toml"), scenario).unwrap();
    let report = ringfence(folder.path(), "run -q --json shares.toml")
        .expect(0)
        .json();
    assert_eq!(
        case(&report, "rt-gang")["cache_shares"],
        serde_json::json!([{
            "class_of_service": "most",
            "ways": [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
            "colours": [0, 1, 2, 3, 4, 5],
            "work": ["corners"],
        }])
    );
    assert_eq!(
        case(&report, "co-run")["cache_shares"],
        serde_json::json!([])
    );
    let text = ringfence(folder.path(), "report --html shares.html shares.rfr")
        .expect(0)
        .stdout;
    let row = text
        .lines()
        .find(|line| line.trim_start().starts_with("most"));
    let words: Vec<&str> = row.expect(&text).split_whitespace().collect();
    assert_eq!(words, ["most", "rt-gang", "2-15", "0-5", "corners"]);
    let page = fs::read_to_string(folder.path().join("shares.html")).unwrap();
    assert!(page.contains("most: ways 2-15, colours 0-5 for corners"));
}

#[test]
fn a_record_names_paths_as_the_scenario_gave_them() {
    let folder = scratch();
    let board = folder.path().join("board.toml");
    fs::copy(house().join("platforms/raspberry-pi-3.toml"), &board).unwrap();
    for given in [&board.display().to_string(), "board.toml", "./board.toml"] {
        let scenario = format!(
            r#"
            [scenario]
            name = "paths"
            platform = "{given}"
            duration = "10 ms"

            [[gang]]
            name = "vision"
            priority = 10

            [[gang.task]]
            name = "corners"
            period = "10 ms"
            program = {{ kind = "cpu", working_set = "4 KiB", cycles_per_access = 10, accesses = 10 }}

            [[case]]
            name = "rt-gang"
            "#
        );
        let path = folder.path().join("paths.toml");
        fs::write(&path, scenario).unwrap();
        let run = format!("run -q --json -o run.rfr {}", path.display());
        let header = ringfence(folder.path(), &run).expect(0).json()["header"].clone();
        assert_eq!(header["inputs"][0]["path"], path.display().to_string());
        assert_eq!(header["inputs"][1]["path"], given);
    }
}

#[test]
fn records_of_different_inputs_differ_in_a_comparison() {
    let folder = scratch();
    let scenario = house().join("scenarios/rt-gang/illustrative.toml");
    let text = fs::read_to_string(&scenario).unwrap();
    fs::write(folder.path().join("one.toml"), &text).unwrap();
    fs::write(folder.path().join("same.toml"), &text).unwrap();
    fs::write(folder.path().join("other.toml"), text + "# Changed.\n").unwrap();
    for name in ["one", "same", "other"] {
        ringfence(folder.path(), &format!("run -q {name}.toml")).expect(0);
    }
    let other = ringfence(folder.path(), "compare one.rfr other.rfr").expect(0);
    for words in [
        "scenario file: one.toml (SHA-256 ",
        "→ other.toml (SHA-256 ",
    ] {
        assert!(other.stdout.contains(words), "{}", other.stdout);
    }
    let same = ringfence(folder.path(), "compare one.rfr same.rfr").expect(0);
    assert!(!same.stdout.contains("differs"), "{}", same.stdout);
}
