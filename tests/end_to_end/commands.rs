//! Every command: good input, bad input, exit codes.

use std::fs;

use crate::ringfence::{house, ringfence, scratch};

#[test]
fn check_accepts_all_scenarios_of_the_house() {
    let checked = ringfence(
        &house(),
        "check scenarios/demo.toml scenarios/rt-gang/illustrative.toml scenarios/rt-gang/synthetic.toml",
    )
    .expect(0);
    assert_eq!(checked.stdout.matches(": good: ").count(), 3);
}

#[test]
fn check_names_file_line_and_column_and_what_to_do() {
    let folder = scratch();
    let text = fs::read_to_string(house().join("scenarios/rt-gang/illustrative.toml")).unwrap();
    let broken = text.replacen("priority = ", "prioritty = ", 1);
    let line = 1 + broken[..broken.find("prioritty").unwrap()]
        .matches('\n')
        .count();
    fs::write(folder.path().join("broken.toml"), &broken).unwrap();

    let checked = ringfence(folder.path(), "check broken.toml").expect(1);
    assert!(
        checked.stderr.contains(&format!("broken.toml:{line}:1")),
        "{}",
        checked.stderr
    );
    assert!(checked.stderr.contains("priority"), "{}", checked.stderr);

    let problems = ringfence(folder.path(), "check --json broken.toml")
        .expect(1)
        .json();
    let lines: Vec<_> = problems["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| &problem["line"])
        .collect();
    assert!(lines.iter().any(|&found| found == line), "{problems}");
}

#[test]
fn missing_files_are_errors_with_their_name() {
    let folder = scratch();
    for command in ["check", "plan", "run", "report", "analyze", "trace info"] {
        let failed = ringfence(folder.path(), &format!("{command} absent.file")).expect(1);
        assert!(
            failed.stderr.contains("absent.file"),
            "{command}: {}",
            failed.stderr
        );
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing is left behind"
    );
}

#[test]
fn a_plan_tells_who_has_which_part_of_the_cache() {
    let folder = house().join("crates/ringfence-scenario/tests/good");
    let plan = ringfence(&folder, "plan --case unregulated complete.toml").expect(0);
    for line in [
        "class of service most: ways 4-15, colours 1-5, 7",
        "class of service some: ways 0, 3, colours ",
        "thread corners/0 (vision): core 0, class of service most",
    ] {
        assert!(plan.stdout.contains(line), "{line}: {}", plan.stdout);
    }
    let without = ringfence(&folder, "plan --case solo complete.toml").expect(0);
    assert!(!without.stdout.contains("class of service"));
}

#[test]
fn a_dry_run_is_the_plan_and_writes_nothing() {
    let folder = scratch();
    let scenario = house().join("scenarios/demo.toml");
    let plan = ringfence(folder.path(), &format!("plan {}", scenario.display())).expect(0);
    let dry = ringfence(
        folder.path(),
        &format!("run --dry-run {}", scenario.display()),
    )
    .expect(0);
    assert_eq!(plan.stdout, dry.stdout);
    assert!(
        plan.stdout
            .contains("50 MB/s requested, 49984 KB/s applied (781 lines a period)")
    );
    let plan = ringfence(
        folder.path(),
        &format!("plan --json {}", scenario.display()),
    );
    let plan = plan.expect(0).json();
    let regulated_by = |case: &serde_json::Value| case["regulated_by"].clone();
    let cases = plan["cases"].as_array().unwrap();
    let regulated_by: Vec<_> = cases.iter().map(regulated_by).collect();
    assert_eq!(regulated_by, ["nothing", "nothing", "nothing", "traffic"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_plan_of_what_cannot_be_run_here_is_refused_as_the_run_is() {
    let folder = scratch();
    let text = fs::read_to_string(house().join("scenarios/linux/activations.toml")).unwrap();
    let many = text.replace("cores = 4\n", "cores = 512\n");
    assert_ne!(many, text);
    fs::write(folder.path().join("many.toml"), many).unwrap();
    for command in ["plan", "run --dry-run", "run"] {
        let command = format!("{command} --target linux many.toml");
        let refused = ringfence(folder.path(), &command).expect(4);
        let told = "platform `four-cores` needs CPUs 0-511, and this process may use CPUs ";
        assert!(refused.stderr.contains(told), "{}", refused.stderr);
        assert_eq!(refused.stdout, "");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    ringfence(folder.path(), "plan many.toml").expect(0);
}

#[test]
fn flags_select_cases_and_refuse_unknown_ones() {
    let scenario = "scenarios/demo.toml";
    let solo = ringfence(&house(), &format!("plan --json --case solo {scenario}"))
        .expect(0)
        .json();
    let names: Vec<_> = solo["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| &case["name"])
        .collect();
    assert_eq!(names, ["solo/steering", "solo/vision"]);

    let unknown = ringfence(&house(), &format!("plan --case sole {scenario}")).expect(1);
    assert!(
        unknown.stderr.contains("co-run, rt-gang"),
        "{}",
        unknown.stderr
    );
    let seconds = ringfence(&house(), &format!("plan --json -d 5 {scenario}")).expect(0);
    assert_eq!(seconds.json()["duration_ns"], 5_000_000_000_u64);
    let short = ringfence(&house(), &format!("plan -d 1ms {scenario}")).expect(1);
    assert!(short.stderr.contains("--duration: "), "{}", short.stderr);
}

#[test]
fn platforms_print_their_sources_and_load_again() {
    let folder = scratch();
    let list = ringfence(folder.path(), "platforms --json")
        .expect(0)
        .json();
    for platform in list.as_array().unwrap() {
        let name = platform["name"].as_str().unwrap();
        let file = ringfence(folder.path(), &format!("platforms {name}")).expect(0);
        assert!(file.stdout.contains('#'), "{name} names no sources");
    }
    let unknown = ringfence(folder.path(), "platforms commodore-64").expect(1);
    assert!(
        unknown.stderr.contains("raspberry-pi-3"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn schemas_completions_and_manual_pages_are_generated() {
    let folder = scratch();
    for of in ["scenario", "platform"] {
        let schema = ringfence(folder.path(), &format!("schema {of}"))
            .expect(0)
            .json();
        assert!(schema["properties"].is_object());
    }
    assert!(
        ringfence(folder.path(), "completions bash")
            .expect(0)
            .stdout
            .contains("ringfence")
    );
    ringfence(folder.path(), "man pages").expect(0);
    for page in ["run", "doctor", "restore"] {
        let page = format!("pages/ringfence-{page}.1");
        assert!(folder.path().join(page).is_file());
    }
}

#[test]
fn a_trace_tells_what_is_in_it() {
    let info = ringfence(&house(), "trace info --json traces/susan-corners.rftrace")
        .expect(0)
        .json();
    let job = &info["jobs"][0];
    assert!(job["loads"].as_u64().unwrap() > job["stores"].as_u64().unwrap());
    assert!(
        job["working_set_bytes"].as_u64().unwrap() > 32 << 10,
        "it should not fit the L1"
    );
}

#[test]
fn a_mistyped_command_line_is_an_error_and_no_missed_bound() {
    let folder = scratch();
    for arguments in ["run --bogus", "report", "schema sonnet", "fence"] {
        ringfence(folder.path(), arguments).expect(1);
    }
    for arguments in ["--version", "--help", "run --help"] {
        ringfence(folder.path(), arguments).expect(0);
    }
}

#[test]
fn links_stay_links_and_devices_stay_devices() {
    let folder = scratch();
    let trace = house().join("traces/susan-corners.rftrace");
    let scenario = house().join("scenarios/rt-gang/illustrative.toml");
    ringfence(
        folder.path(),
        &format!("run -q -o run.rfr {}", scenario.display()),
    )
    .expect(0);
    fs::write(folder.path().join("target.html"), "old").unwrap();
    std::os::unix::fs::symlink("target.html", folder.path().join("link.html")).unwrap();

    ringfence(
        folder.path(),
        "report run.rfr --html link.html --events /dev/null",
    )
    .expect(0);
    let link = fs::symlink_metadata(folder.path().join("link.html")).unwrap();
    assert!(link.is_symlink());
    assert!(
        fs::metadata(folder.path().join("target.html"))
            .unwrap()
            .len()
            > 1000
    );
    assert!(!fs::metadata("/dev/null").unwrap().is_file());

    // A failing report leaves the older file alone.
    let failed = format!("report {} --html target.html", trace.display());
    ringfence(folder.path(), &failed).expect(1);
    assert!(
        fs::metadata(folder.path().join("target.html"))
            .unwrap()
            .len()
            > 1000
    );
}

#[test]
fn looks_at_what_is_enforced_say_what_they_expect() {
    let folder = scratch();
    for (command, expected) in [
        ("top --interval 5ms", "expected at least 100 ms"),
        ("top --interval soon", "soon"),
        ("metrics --listen 127.0.0.1", "invalid socket address"),
        // Of nobody: kept for examples (RFC 5737).
        (
            "metrics --listen 192.0.2.1:9477",
            "expected an address of this machine and a free port",
        ),
    ] {
        let failed = ringfence(folder.path(), command).expect(1);
        assert!(
            failed.stderr.contains(expected),
            "{command}: {}",
            failed.stderr
        );
    }
}

#[test]
fn workload_files_of_rt_app_become_scenarios_or_say_why_not() {
    let folder = scratch();
    let write = |run: &str| {
        let text = format!(
            r#"{{ "tasks": {{ "camera": {{ "policy": "SCHED_FIFO", "priority": 20, "loop": -1, {run},
                "timer": {{ "ref": "a", "period": 20000, "mode": "absolute" }} }} }},
                "global": {{ "duration": 1 }} }}"#
        );
        fs::write(folder.path().join("camera.json"), text).unwrap();
    };
    write(r#""run": 1000"#);
    let import = "import camera.json --platform raspberry-pi-3";
    ringfence(folder.path(), &format!("{import} -o camera.toml")).expect(0);
    ringfence(folder.path(), "run --quiet camera.toml").expect(0);
    let printed = ringfence(folder.path(), import).expect(0).stdout;
    let written = fs::read_to_string(folder.path().join("camera.toml")).unwrap();
    assert_eq!(printed, written);

    write(r#""lock": "mutex""#);
    let refused = ringfence(folder.path(), &format!("{import} -o camera.toml")).expect(1);
    assert!(
        refused.stderr.contains("camera.json: "),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("lock"), "{}", refused.stderr);
    assert_eq!(
        fs::read_to_string(folder.path().join("camera.toml")).unwrap(),
        written
    );
    fs::write(folder.path().join("camera.json"), "{\n  5").unwrap();
    let broken = ringfence(folder.path(), import).expect(1);
    assert!(
        broken.stderr.contains("camera.json:2:"),
        "{}",
        broken.stderr
    );
}

/// Two VMs: one with a task, one that writes, with a reservation.
const TWO_VMS: &str = r#"
[scenario]
name = "two-vms"
platform = "zcu104"
duration = "20 ms"

[[vm]]
name = "critical"
cores = "0"

[[vm.task]]
name = "corners"
period = "10 ms"
program = { kind = "bandwidth", access = "read", working_set = "384 KiB" }

[[vm]]
name = "writer"
cores = "3,1,2"
reservation = { budget = "100 MB/s", period = "100 us", shares = [1, 2, 3] }

[[vm.best_effort]]
name = "writes"
threads = 3
program = { kind = "bandwidth", access = "write", working_set = "4 MiB" }

[[case]]
name = "solo"

[[case]]
name = "co-run"
"#;

#[test]
fn vms_run_in_the_simulator_each_on_its_cores() {
    let folder = scratch();
    fs::write(folder.path().join("vms.toml"), TWO_VMS).unwrap();
    let checked = ringfence(folder.path(), "check vms.toml").expect(0);
    assert!(checked.stdout.contains("zcu104, 2 VMs, 3 cases"));
    let ran = ringfence(folder.path(), "run --json vms.toml").expect(0);
    let cases = ran.json()["cases"].as_array().unwrap().clone();
    let names: Vec<_> = cases.iter().map(|case| case["name"].as_str()).collect();
    assert_eq!(
        names,
        [Some("solo/critical"), Some("solo/writer"), Some("co-run")]
    );
}

#[test]
fn a_plan_tells_what_vms_have_reserved() {
    let folder = scratch();
    let reserved = TWO_VMS.replace("\"co-run\"", "\"reserved\"");
    fs::write(folder.path().join("vms.toml"), reserved).unwrap();
    let plan = ringfence(folder.path(), "plan --case solo vms.toml").expect(0);
    assert!(
        plan.stdout
            .contains("VM writer: cores 3, 1, 2: no reservation"),
        "{}",
        plan.stdout
    );
}

#[test]
fn what_a_target_cannot_do_with_vms_is_refused() {
    let folder = scratch();
    fs::write(folder.path().join("vms.toml"), TWO_VMS).unwrap();
    let linux = ringfence(folder.path(), "plan --target linux vms.toml").expect(4);
    assert!(
        linux.stderr.contains("needs a hypervisor"),
        "{}",
        linux.stderr
    );
    let idle = TWO_VMS.split("[[vm.best_effort]]").next().unwrap();
    fs::write(
        folder.path().join("idle.toml"),
        idle.to_owned() + "\n[[case]]\nname = \"co-run\"\n",
    )
    .unwrap();
    let idle = ringfence(folder.path(), "run idle.toml").expect(4);
    let said = "the VM `writer` has nothing that a simulation executes";
    assert!(idle.stderr.contains(said), "{}", idle.stderr);
}
