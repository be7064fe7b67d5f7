//! Target hyp: VMs of a scenario under the hypervisor, in QEMU.

use std::fs;
use std::process::Command;

use crate::ringfence::{Finished, house, ringfence, scratch};

const WRITER: &str = "scenarios/hyp/writer.toml";

/// Runs `ringfence`; nothing, with a word about it, where QEMU or the compiler is missing.
fn with_machine(arguments: &str) -> Option<Finished> {
    let finished = ringfence(&house(), arguments);
    if finished.code == 4 {
        eprintln!(
            "skipped; `tools/setup test` installs it: {}",
            finished.stderr
        );
        return None;
    }
    Some(finished)
}

#[test]
fn a_writer_stays_within_its_shares_to_the_line() {
    let folder = scratch();
    let record = folder.path().join("run.rfr");
    let Some(ran) = with_machine(&format!(
        "run --target hyp --json -o {} {WRITER}",
        record.display()
    )) else {
        return;
    };
    let summary = ran.expect(0).json();
    let reserved = &summary["cases"][1];
    assert_eq!(reserved["name"], "reserved");
    let claims = reserved["verdict"]["claims"].as_array().unwrap();
    let claim = claims.iter().find(|claim| claim["kind"] == "reservations");
    assert_eq!(claim.unwrap()["outcome"], "pass", "{claim:?}");

    // What the guest itself has counted: 156 lines in shares of 1, 2 and 3.
    let console = fs::read_to_string(folder.path().join("run.rfr.console")).unwrap();
    for (vcpu, lines) in [26, 52, 78].into_iter().enumerate() {
        let counted = format!(" {lines}").repeat(50);
        let said = format!("reserved: [writer] vCPU {vcpu}:{counted}");
        assert!(console.lines().any(|line| line == said), "{console}");
    }

    let again = folder.path().join("again.rfr");
    ringfence(
        &house(),
        &format!("run --target hyp -q -o {} {WRITER}", again.display()),
    )
    .expect(0);
    assert_eq!(fs::read(record).unwrap(), fs::read(again).unwrap());
}

#[test]
fn an_event_more_than_reserved_is_seen_by_the_verdict() {
    let folder = scratch();
    let record = folder.path().join("run.rfr");
    let Some(ran) = with_machine(&format!(
        "run --target hyp -q --inject one-event-more -o {} {WRITER}",
        record.display()
    )) else {
        return;
    };
    let ran = ran.expect(2);
    let said = "64 bytes beyond its shares";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
}

#[test]
fn an_image_is_the_same_each_time_and_has_all_that_boots() {
    let folder = scratch();
    let image = |name: &str| {
        let path = folder.path().join(name);
        let arguments = format!("hyp image --case reserved -o {} {WRITER}", path.display());
        with_machine(&arguments).map(|built| {
            built.expect(0);
            fs::read(path).unwrap()
        })
    };
    let (Some(first), Some(second)) = (image("a.elf"), image("b.elf")) else {
        return;
    };
    assert_eq!(first, second);
    assert_eq!(first[..4], *b"\x7fELF");
    // Segments: the hypervisor and each VM's guest.
    assert_eq!(first[56], 3);
}

#[test]
fn a_plan_shows_the_table_and_the_command() {
    let plan = ringfence(&house(), &format!("plan --target hyp {WRITER}")).expect(0);
    for said in [
        "VM writer: cores 0, 1, 2: 100 MB/s requested, 156 events every 100 µs, split 26 + 52 + 78",
        ".reservation = {.budget = 156, .period_ns = 100000, .weights = weights_1},",
        "qemu-system-aarch64 -M virt",
    ] {
        assert!(plan.stdout.contains(said), "{said}: {}", plan.stdout);
    }
    let json = ringfence(&house(), &format!("plan --target hyp --json {WRITER}")).expect(0);
    assert_eq!(json.json()["images"].as_array().unwrap().len(), 2);
}

#[test]
fn what_the_hypervisor_cannot_do_is_refused_with_the_reason() {
    let gangs = ringfence(&house(), "run --target hyp scenarios/demo.toml").expect(4);
    assert!(
        gangs.stderr.contains("the scenario has none"),
        "{}",
        gangs.stderr
    );
    let jobs = ringfence(&house(), &format!("run --target hyp --jobs 2 {WRITER}")).expect(1);
    assert!(
        jobs.stderr.contains("--jobs: found it with --target hyp"),
        "{}",
        jobs.stderr
    );
    let simulated = ringfence(&house(), "run --inject one-event-more scenarios/demo.toml");
    assert!(simulated.expect(1).stderr.contains("--inject"));

    let folder = scratch();
    let scenario = fs::read_to_string(house().join(WRITER)).unwrap();
    let scenario = scenario.replace(
        "qemu-virt.toml",
        &house()
            .join("scenarios/hyp/qemu-virt.toml")
            .display()
            .to_string(),
    );
    for (from, to, said, code) in [
        (
            "memory = \"2 MiB\"\n",
            "",
            "the VM `critical` has no memory",
            1,
        ),
        (
            "\"spinner\"",
            "\"spiner\"",
            "`spiner` of the VM `critical` is not one",
            1,
        ),
        ("\"spinner\"", "\"no.bin\"", "no.bin", 1),
        ("\"16 MiB\"", "\"2 GiB\"", "has no 2048 MiB in one piece", 1),
    ] {
        fs::write(
            folder.path().join("bad.toml"),
            scenario.replacen(from, to, 1),
        )
        .unwrap();
        let refused = ringfence(folder.path(), "plan --target hyp bad.toml").expect(code);
        assert!(refused.stderr.contains(said), "{said}: {}", refused.stderr);
    }
}

#[test]
fn a_machine_without_a_compiler_is_told_what_it_lacks() {
    let folder = scratch();
    let output = Command::new(env!("CARGO_BIN_EXE_ringfence"))
        .args(["hyp", "image", "--case", "reserved", "-o"])
        .arg(folder.path().join("image.elf"))
        .arg(house().join(WRITER))
        .env("PATH", folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(
        said.contains("apt-get install gcc-aarch64-linux-gnu"),
        "{said}"
    );
}
