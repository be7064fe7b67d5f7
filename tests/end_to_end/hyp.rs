//! Target hyp: VMs of a scenario under the hypervisor, in QEMU.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::ringfence::{Finished, house, ringfence, ringfence_with_temporary, scratch};

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

    // Neither make nor QEMU takes such names everywhere.
    let temporary = folder.path().join("a folder, of mine");
    fs::create_dir(&temporary).unwrap();
    let again = folder.path().join("again.rfr");
    let arguments = format!("run --target hyp -q -o {} {WRITER}", again.display());
    ringfence_with_temporary(&temporary, &house(), &arguments).expect(0);
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

const LENDING: &str = "scenarios/hyp/lending.toml";

/// The writers count what the manager was told and the rules of lending say, and the verdict agrees.
#[test]
fn budgets_are_lent_taken_back_and_changed_and_the_verdict_sees_it() {
    let folder = scratch();
    let run = |name: &str| {
        let record = folder.path().join(name);
        let arguments = format!("run --target hyp --json -o {} {LENDING}", record.display());
        with_machine(&arguments).map(|ran| (record, ran.expect(0).json()))
    };
    let (Some((record, summary)), Some((again, _))) = (run("run.rfr"), run("again.rfr")) else {
        return;
    };
    assert_eq!(fs::read(&record).unwrap(), fs::read(again).unwrap());
    let claims = summary["cases"][0]["verdict"]["claims"].as_array().unwrap();
    let claim = claims.iter().find(|claim| claim["kind"] == "reservations");
    assert_eq!(claim.unwrap()["outcome"], "pass", "{claim:?}");

    let console = fs::read_to_string(folder.path().join("run.rfr.console")).unwrap();
    for said in [
        "VM 0 to 80 in 50000 ns: 0 from 1100000",
        "VM 0 to 500 in 300000 ns: -5 from 0",
    ] {
        assert!(console.contains(said), "{said}: {console}");
    }

    let events = folder.path().join("events");
    let report = format!(
        "report --json --events {} {}",
        events.display(),
        record.display()
    );
    ringfence(&house(), &report).expect(0);
    let events = fs::read_to_string(events).unwrap();
    assert!(events.contains("{\"reservation-changed\":"));
    // Asleep, the lender leaves all but a line of 100, with little to do 79, and all of it is borrowed;
    // at work it has its whole share back from the period on in which it wakes. How many periods the
    // boot takes is no matter: it lends until it works for the first time.
    let lines = |kind| -> Vec<u64> {
        let of = |period: u64| loan_bytes(&events, kind, period * 100_000) / 64;
        (0..40).map(of).collect()
    };
    let (lent, borrowed) = (lines("lent"), lines("borrowed"));
    let asleep = lent.iter().position(|&lines| lines > 0).unwrap();
    let at_work = asleep + lent[asleep..].iter().position(|&lines| lines == 0).unwrap();
    let expected = [0, 0, 0, 0, 99, 99, 99, 99, 0, 79, 79, 79, 99, 99, 99, 99];
    assert_eq!(lent[at_work..at_work + 16], expected);
    assert_eq!(borrowed[at_work..at_work + 16], expected);
}

/// What all loans of a kind are together that are of the period which begins then.
fn loan_bytes(events: &str, kind: &str, begin_ns: u64) -> u64 {
    let events = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let loans = events.filter_map(|event| event.get(kind).cloned());
    let of_period = loans.filter(|loan| loan["period_begin_ns"] == begin_ns);
    of_period.map(|loan| loan["bytes"].as_u64().unwrap()).sum()
}

#[test]
fn a_change_out_of_bounds_is_seen_by_the_verdict() {
    let folder = scratch();
    let record = folder.path().join("run.rfr");
    let Some(ran) = with_machine(&format!(
        "run --target hyp -q --inject no-bounds -o {} {LENDING}",
        record.display()
    )) else {
        return;
    };
    let said = "became 32000 bytes a period; its bounds are 640 to 19200";
    let ran = ran.expect(2);
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
}

/// The lending scenario, with something else in it, in a folder of its own.
fn lending_with(changes: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = scratch();
    let mut scenario = fs::read_to_string(house().join(LENDING)).unwrap();
    let platform = house().join("scenarios/hyp/qemu-virt.toml");
    scenario = scenario.replace("qemu-virt.toml", &platform.display().to_string());
    for (from, to) in changes {
        assert!(scenario.contains(from), "{from}");
        scenario = scenario.replacen(from, to, 1);
    }
    fs::write(folder.path().join("lending.toml"), scenario).unwrap();
    folder
}

#[test]
fn a_loan_to_a_vm_that_may_not_borrow_is_seen_by_the_verdict() {
    let folder = lending_with(&[(
        "[vm.reservation.changes]\nby = [\"manager\"]\nbudget = [10, 300] # the manager asks for 500, too, and is refused\nperiod = [\"20 us\", \"1 ms\"]\n",
        "",
    )]);
    let path = folder.path().join("lending.toml");
    let record = folder.path().join("run.rfr");
    let run = format!(
        "run --target hyp -q -o {} {}",
        record.display(),
        path.display()
    );
    let Some(ran) = with_machine(&run) else {
        return;
    };
    ran.expect(0);
    let ran = ringfence(&house(), &format!("{run} --inject all-borrow")).expect(2);
    let said = "VM 'changed' may not borrow";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
}

#[test]
fn a_simulation_refuses_what_no_guest_of_it_does() {
    let folder = lending_with(&[]);
    let scenario = fs::read_to_string(folder.path().join("lending.toml")).unwrap();
    let platform = house().join("scenarios/hyp/qemu-virt.toml");
    let scenario = scenario.replace(&platform.display().to_string(), "zcu104");
    fs::write(folder.path().join("lending.toml"), scenario).unwrap();
    let refused = ringfence(folder.path(), "run lending.toml").expect(4);
    let said = "the VM `changed` lends, borrows or can be changed at run time";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
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

const COLOURS: &str = "scenarios/hyp/colours.toml";

#[test]
fn colours_are_planned_and_shared_ones_are_named() {
    let checked = ringfence(&house(), &format!("check {COLOURS}")).expect(0);
    let note = "colours.toml: note: the VMs `other` and `writer` share the colours 12-15\n";
    assert!(checked.stdout.contains(note), "{}", checked.stdout);
    let json = ringfence(&house(), &format!("check --json {COLOURS}")).expect(0);
    assert_eq!(json.json()["notes"].as_array().unwrap().len(), 1);

    let coloured = format!("plan --target hyp --case coloured {COLOURS}");
    let planned = ringfence(&house(), &coloured).expect(0);
    for said in [
        "VM critical: cores 3: no reservation; memory of colours 0-7\n",
        "/* Pages of the colours 12, 13, 14, 15 of 16, up to 0x45400000. */",
        ".address = 0x41000000, .size = 0x200000, .colours = 0xff}},",
        ".address = 0x41000000, .size = 0x200000, .colours = 0xff00}},",
    ] {
        assert!(planned.stdout.contains(said), "{said}: {}", planned.stdout);
    }
    // Without cache allocation they are in one piece.
    let reserved = format!("plan --target hyp --case reserved {COLOURS}");
    let planned = ringfence(&house(), &reserved).expect(0);
    for unsaid in ["memory of colours", ".colours ="] {
        assert!(!planned.stdout.contains(unsaid), "{}", planned.stdout);
    }
}

#[test]
fn a_platform_file_with_other_colours_than_the_board_is_refused() {
    let folder = scratch();
    let platform = fs::read_to_string(house().join("scenarios/hyp/qemu-virt.toml")).unwrap();
    let platform = platform.replace("page_colours = 16", "page_colours = 32");
    fs::write(folder.path().join("qemu-virt.toml"), platform).unwrap();
    fs::copy(house().join(COLOURS), folder.path().join("colours.toml")).unwrap();
    let planned = ringfence(folder.path(), "plan --target hyp colours.toml").expect(1);
    let said = "the platform `qemu-virt` of the scenario has 32 page colours, but the board has 16";
    assert!(planned.stderr.contains(said), "{}", planned.stderr);
}

#[test]
fn a_board_is_planned_and_built_and_not_run() {
    let folder = scratch();
    let scenario = fs::read_to_string(house().join(WRITER)).unwrap();
    let scenario = scenario.replace("qemu-virt.toml", "zcu104");
    fs::write(folder.path().join("board.toml"), scenario).unwrap();

    let planned = ringfence(folder.path(), "plan --target hyp board.toml").expect(0);
    for said in [
        ".address = 0x1000000, .size = 0x200000",
        "`ringfence hyp image --format raw`",
    ] {
        assert!(planned.stdout.contains(said), "{said}: {}", planned.stdout);
    }
    let planned = ringfence(folder.path(), "plan --target hyp --json board.toml").expect(0);
    assert!(planned.json()["images"][0]["command"].is_null());

    let refused = ringfence(folder.path(), "run --target hyp board.toml").expect(4);
    let said = "QEMU does not have its counters; the nearest that works is the platform file \
                scenarios/hyp/qemu-virt-gicv2.toml";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
    // Nothing was begun.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let image = "hyp image --case reserved --format raw -o board.img board.toml";
    let built = ringfence(folder.path(), image);
    if built.code == 4 {
        return;
    }
    built.expect(0);
    let image = fs::read(folder.path().join("board.img")).unwrap();
    assert_eq!(image[56..60], *b"ARM\x64");
    assert_eq!(image[16..24], (image.len() as u64).to_le_bytes());
}

#[test]
fn the_board_that_is_nearest_runs() {
    let folder = scratch();
    let platform = house().join("scenarios/hyp/qemu-virt-gicv2.toml");
    let scenario = fs::read_to_string(house().join(WRITER)).unwrap();
    let scenario = scenario.replace("qemu-virt.toml", &platform.display().to_string());
    let path = folder.path().join("writer.toml");
    fs::write(&path, scenario).unwrap();
    let record = folder.path().join("run.rfr");
    if let Some(ran) = with_machine(&format!(
        "run --target hyp -q -o {} {}",
        record.display(),
        path.display()
    )) {
        ran.expect(0);
    }
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
        ("\"16 MiB\"", "\"2 GiB\"", "has no 2 GiB in one piece", 1),
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
