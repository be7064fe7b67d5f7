//! `calibrate`: the file that it writes is one that scenarios can use. No figure is looked at.

use crate::ringfence::{house, ringfence, scratch};

const SCENARIO: &str = r#"
[scenario]
name = "on-this-machine"
platform = "mine.toml"
duration = "1 s"

[[gang]]
name = "control"
priority = 10
[[gang.task]]
name = "loop"
period = "1 s"
cores = "0"
program = { kind = "bandwidth", access = "read", working_set = "64 KiB", passes = 1 }

[[case]]
name = "solo"
"#;

#[test]
fn a_scenario_runs_on_the_machine_that_was_measured() {
    let folder = scratch();
    let figures = ringfence(
        folder.path(),
        "calibrate --quick --quiet --json -o mine.toml",
    )
    .expect(0);
    let figures = figures.json();
    assert_eq!(figures["format"], 1);
    let cpus = figures["inventory"]["cpus"].as_array().unwrap().len();
    std::fs::write(folder.path().join("mine.rfs.toml"), SCENARIO).unwrap();
    if figures["memory"].is_null() {
        // A machine that hides its caches: only compute programs have a model there.
        return;
    }
    let checked = ringfence(folder.path(), "check mine.rfs.toml").expect(0);
    assert!(
        checked.stdout.contains("on this-machine"),
        "{}",
        checked.stdout
    );
    ringfence(
        folder.path(),
        "bench dram --platform mine.toml --requests 1000",
    )
    .expect(0);
    if cpus < 2 {
        let refused = ringfence(folder.path(), "calibrate --quick --compare mine.toml").expect(4);
        assert!(
            refused.stderr.contains("give it a second one"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn one_core_is_measured_and_cannot_be_compared() {
    let folder = scratch();
    let first = ringfence_workloads::cpu::allowed().unwrap()[0];
    let flags = format!("--quick --quiet --cores {first}");
    ringfence(folder.path(), &format!("calibrate {flags} -o one.toml")).expect(0);
    let text = std::fs::read_to_string(folder.path().join("one.toml")).unwrap();
    assert!(text.contains("\ncores = 1 "), "{text}");
    let refused = ringfence(
        folder.path(),
        &format!("calibrate {flags} --compare one.toml"),
    )
    .expect(4);
    assert!(
        refused.stderr.contains("side by side"),
        "{}",
        refused.stderr
    );
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_measured() {
    for (flags, expected) in [
        ("--memory ddr4-3201", "did you mean `ddr4-3200`"),
        ("--memory nowhere.toml", "nowhere.toml"),
        ("--channels 3", "1, 2, 4, 8 or 16"),
        ("--cores first", "such as 0,2-3"),
        ("--cores=", "such as 0,2-3"),
        ("--cores 999", "--cores: found core 999"),
        ("--compare nowhere.toml", "nowhere.toml"),
        ("--compare a.toml --channels 2", "--channels"),
        ("--markdown page.md", "--compare"),
    ] {
        let refused = ringfence(&house(), &format!("calibrate --quick {flags}")).expect(1);
        assert!(
            refused.stderr.contains(expected),
            "{flags}: {}",
            refused.stderr
        );
        assert!(!house().join("this-machine.toml").exists());
    }
}
