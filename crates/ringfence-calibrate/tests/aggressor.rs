//! The program `aggressor`: what it prints and what it refuses. No figure is looked at.

use std::process::{Command, Output};

fn aggressor(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aggressor"))
        .args(arguments.split_whitespace())
        .output()
        .expect("it starts")
}

#[test]
fn every_kind_makes_the_accesses_that_were_asked_for() {
    for (arguments, accesses) in [
        ("--kind bandwidth --access read --passes 3", 3072),
        ("--kind bandwidth --access write --passes 1", 1024),
        ("--kind linked-lists --access read --passes 2", 2048),
        // Six lists go on together: 171 rounds.
        (
            "--kind linked-lists --access write --lists 6 --passes 1",
            1026,
        ),
        (
            "--kind linked-lists --lists 2 --bank 1 --bank-functions 0x40,0x80 --passes 1",
            256,
        ),
    ] {
        let output = aggressor(&format!("{arguments} --size 64KiB --json"));
        assert!(output.status.success(), "{output:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["threads"][0]["accesses"], accesses, "{arguments}");
        assert!(report["threads"][0]["ns_per_access"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_thread_runs_on_each_core() {
    let cpus = ringfence_calibrate::cpu::allowed().unwrap();
    let list: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    let output = aggressor(&format!(
        "--size 64KiB --duration 5ms --cores {}",
        list.join(",")
    ));
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for cpu in cpus {
        assert!(text.contains(&format!("core {cpu}: ")), "{text}");
    }
    assert!(text.contains("in huge pages: "), "{text}");
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    for (arguments, expected) in [
        ("--lists 6", "for --kind linked-lists"),
        (
            "--kind linked-lists --lists 65",
            "65 lists; expected 1 to 64",
        ),
        ("--kind linked-lists --bank 1", "--bank-functions"),
        (
            "--kind linked-lists --bank 0 --bank-functions 0x1000",
            "address bits below 4096",
        ),
        (
            "--kind linked-lists --bank 0 --bank-functions forty",
            "such as 0x40",
        ),
        ("--size much", "such as 16MiB"),
        ("--size 8B", "expected one line of 64 bytes"),
        ("--cores 3-1", "such as 0,2-3"),
        ("--cores 60000 --passes 1", "core 60000"),
        ("--passes 1 --duration 1", "--duration"),
    ] {
        let output = aggressor(arguments);
        assert!(!output.status.success(), "{arguments}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains(expected), "{arguments}: {message}");
    }
}
