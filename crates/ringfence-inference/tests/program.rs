//! The program `inference`: what it prints, marks and refuses. No figure is looked at.

use std::process::{Command, Output};

use ringfence_workloads::job_log::{JobLog, Kind, Size, VARIABLE};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/demo.toml");

fn command(arguments: &[&str]) -> Command {
    // A test that is killed cannot end it.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", env!("CARGO_BIN_EXE_inference")]);
    command.args(arguments);
    command
}

fn inference(arguments: &[&str]) -> Output {
    command(arguments).output().expect("it starts")
}

/// Jobs that ran, and that were dropped.
fn jobs(output: &Output) -> (u64, u64) {
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let ran = report["times_ns"].as_array().unwrap().len() as u64;
    (ran, report["dropped"].as_u64().unwrap())
}

#[test]
fn without_a_period_all_jobs_run() {
    let output = inference(&[DEMO, "--jobs", "5", "--threads", "2", "--json"]);
    assert_eq!(jobs(&output), (5, 0));
    let output = inference(&[DEMO, "--jobs", "1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("1 jobs, 0 dropped; each: "), "{text}");
}

#[test]
fn every_release_is_marked_and_its_job_runs_or_is_dropped() {
    let mut log = JobLog::create(Size::new(1, 4096).unwrap()).unwrap();
    let arguments = [
        DEMO,
        "--jobs",
        "50",
        "--period",
        "1ms",
        "--task-number",
        "3",
        "--json",
    ];
    let output = command(&arguments).env(VARIABLE, log.path()).output();
    let (ran, dropped) = jobs(&output.unwrap());
    assert!(ran > 0);
    assert_eq!(ran + dropped, 50);
    let mut marks = Vec::new();
    log.drain(|mark| marks.push(mark));
    assert!(marks.iter().all(|mark| mark.task == 3));
    let count = |kind| marks.iter().filter(|mark| mark.kind == kind).count() as u64;
    let counts = [Kind::Released, Kind::Begin, Kind::End, Kind::Dropped].map(count);
    assert_eq!(counts, [50, ran, ran, dropped]);
}

#[test]
fn a_model_that_was_written_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("dave-2.onnx");
    let model = model.to_str().unwrap();
    let output = inference(&[DEMO, "--task", "dave-2", "-o", model]);
    assert!(
        output.status.success() && output.stdout.is_empty(),
        "{output:?}"
    );
    assert_eq!(jobs(&inference(&[model, "--jobs", "2", "--json"])), (2, 0));
}

#[test]
fn what_cannot_be_computed_is_refused_with_a_reason() {
    let illustrative = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/rt-gang/illustrative.toml"
    );
    for (arguments, reason) in [
        (&["nowhere.onnx"][..], "nowhere.onnx: No such file"),
        (
            &[concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")],
            "expected",
        ),
        (&[file!()], "no model that can be computed"),
        (
            &[DEMO, "--task", "susan"],
            "no task \"susan\" of kind neural_network; expected `dave-2`",
        ),
        (&[illustrative], "no task of kind neural_network"),
        (&[DEMO, "--period", "0ms"], "from 10us to 60m"),
        (&[DEMO, "--period", "2h"], "from 10us to 60m"),
        (&[DEMO, "--jobs", "1000001"], "1..=1000000"),
        (
            &["model.onnx", "--task", "dave-2"],
            "expected a file that ends in .toml",
        ),
        (
            &["model.onnx", "-o", "copy.onnx"],
            "expected a file that ends in .toml",
        ),
        (&[DEMO, "--threads", "0"], "threads"),
        (
            &[DEMO, "-o", "/nowhere/model.onnx"],
            "/nowhere/model.onnx: No such file",
        ),
    ] {
        let output = command(arguments)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && text.contains(reason),
            "{arguments:?}: {text}"
        );
    }
}
