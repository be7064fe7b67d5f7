//! The program `aggressor`: what it prints and what it refuses. No figure is looked at.

use std::process::{Command, Output};

fn aggressor(arguments: &str) -> Output {
    // A test that is killed cannot end it.
    Command::new("setpriv")
        .args(["--pdeathsig", "KILL", env!("CARGO_BIN_EXE_aggressor")])
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
        // Bits 4 to 6, of which one tells lines apart: half of the lines, each once.
        (
            "--kind linked-lists --lists 1 --bank 5 --bank-mask 0x70 --passes 1",
            512,
        ),
        ("BwWrite(LLC) --passes 2", 2048),
        ("PLLRead(DRAM) --lists 4 --passes 1", 1024),
        (
            "BkPLLRead(LLC) --lists 1 --bank 1 --bank-functions 6^7 --passes 1",
            512,
        ),
        // It waits between accesses, and makes all of them.
        ("BwRead(LLC) --rate 10MB/s --passes 1", 1024),
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
    let cpus = ringfence_workloads::cpu::allowed().unwrap();
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

/// One thread, so that nothing is printed between its lines.
#[test]
fn every_second_is_reported() {
    let arguments = "--size 64KiB --rate 1MB/s --duration 2100ms --per-second";
    let output = aggressor(&format!("{arguments} --json"));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let seconds = report["threads"][0]["bytes_per_s_by_second"].as_array();
    let seconds = seconds.unwrap();
    assert!((1..=2).contains(&seconds.len()), "{report}");
    for second in seconds {
        let bytes_per_s = second.as_f64().unwrap();
        assert!(bytes_per_s > 0.0 && bytes_per_s < 1.01e6, "{report}");
    }
    let text = String::from_utf8(aggressor(arguments).stdout).unwrap();
    assert!(text.starts_with("any core: after "), "{text}");
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
            "--kind linked-lists --bank 0 --bank-functions 0x0",
            "expected at least one address bit",
        ),
        // Places of 16 bytes have the bits below 4 all alike.
        (
            "--kind linked-lists --bank 1 --bank-functions 0x8",
            "0 lines in bank 1",
        ),
        ("BwCopy(LLC)", "such as BwWrite(LLC)"),
        ("BkPLLRead(LLC)", "--bank-functions"),
        ("PLLRead(LLC) --bank 0 --bank-mask 0x40", "for BkPLL"),
        ("BwRead(LLC) --lists 2", "walks no lists"),
        ("BwRead(LLC) --access write", "--access"),
        ("--rate 0B/s", "such as 100MB/s"),
        ("--rate 100", "such as 100MB/s"),
        (
            "--kind linked-lists --bank 0 --bank-functions forty",
            "such as 0x40",
        ),
        ("--size much", "such as 16MiB"),
        ("--size 8B", "expected one line of 64 bytes"),
        ("--cores 3-1", "such as 0,2-3"),
        ("--cores=", "such as 0,2-3"),
        ("--cores 60000 --passes 1", "core 60000"),
        ("--passes 1 --duration 1", "--duration"),
    ] {
        let output = aggressor(arguments);
        assert!(!output.status.success(), "{arguments}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains(expected), "{arguments}: {message}");
    }
}
