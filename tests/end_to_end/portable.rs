//! Gangs that an agent keeps apart, on the kernel that these tests run on.
//!
//! Whoever may not do it skips them. Nothing is said of times: the machine may be busy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ringfence::{Finished, ringfence, scratch};

/// A machine takes one run at a time.
static MACHINE: Mutex<()> = Mutex::new(());
/// How long something that must come may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

const SCENARIO: &str = r#"
    [scenario]
    name = "portable"
    description = "A gang that preempts another one"
    duration = "2 s"
    [platform]
    name = "two-cores"
    description = "Two cores that measure time only"
    cores = 2
    frequency = "1 GHz"
    [platform.os]
    context_switch = "0 ns"
    interrupt = "0 ns"
    reschedule_latency = "0 ns"
    tick = "1 ms"
    [[gang]]
    name = "high"
    priority = 30
    [[gang.task]]
    name = "high"
    period = "100 ms"
    offset = "20 ms"
    cores = "0"
    program = { kind = "compute", time = "5 ms" }
    [[gang]]
    name = "low"
    priority = 20
    tolerance = "none"
    [[gang.task]]
    name = "low"
    period = "400 ms"
    threads = 2
    cores = "0-1"
    program = { kind = "compute", time = "150 ms" }
    [[best_effort]]
    name = "hog"
    threads = 2
    program = { kind = "compute" }
    [[case]]
    name = "rt-gang"
    regulation = true
"#;

/// The machine for oneself, if it and the rights on it are such that the test can be done.
fn machine() -> Option<MutexGuard<'static, ()>> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let is_root = status.lines().any(|line| line.starts_with("Uid:\t0\t0"));
    let missing = if !is_root {
        "root"
    } else if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        "a kernel with BTF"
    } else if freezers().is_empty() {
        "a freezer"
    } else if !Path::new("/sys/devices/system/cpu/cpu1").exists() {
        "a second CPU"
    } else {
        return Some(MACHINE.lock().unwrap_or_else(PoisonError::into_inner));
    };
    eprintln!("skipped: this test needs {missing}");
    None
}

/// Where a run may have made its groups.
fn freezers() -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let is_freezer = |fields: &[&str]| match fields {
        [_, _, "cgroup2", ..] => true,
        [_, _, "cgroup", options, ..] => options.split(',').any(|option| option == "freezer"),
        _ => false,
    };
    let fields = mounts.lines().map(|line| line.split(' ').collect());
    let freezers = fields.filter(|fields: &Vec<&str>| is_freezer(fields));
    freezers.map(|fields| PathBuf::from(fields[1])).collect()
}

/// Groups of runs that there are.
fn groups() -> Vec<PathBuf> {
    let all = freezers()
        .into_iter()
        .filter_map(|mount| fs::read_dir(mount).ok());
    let all = all.flatten().filter_map(|entry| Some(entry.ok()?.path()));
    all.filter(|path| path.to_string_lossy().contains("/ringfence-gang-"))
        .collect()
}

fn arguments(folder: &Path) -> &'static str {
    fs::write(folder.join("portable.toml"), SCENARIO).unwrap();
    "run --target linux --gang-scheduler portable -q --json -o run.rfr portable.toml"
}

/// A run, when nobody else is at it; `None` if this machine cannot do it. A busy one misses
/// deadlines.
fn run(folder: &Path) -> Option<Finished> {
    run_with(folder, "")
}

fn run_with(folder: &Path, more: &str) -> Option<Finished> {
    let begin = Instant::now();
    loop {
        let finished = ringfence(folder, &format!("{} {more}", arguments(folder)));
        let is_busy = finished.stderr.contains("already at work");
        if is_busy && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(500));
            continue;
        }
        if finished.code == 4 {
            eprintln!("skipped: {}", finished.stderr);
            return None;
        }
        assert!([0, 2].contains(&finished.code), "{}", finished.stderr);
        return Some(finished);
    }
}

/// A run that shows what it is to show, a longer one if the machine had no time for it; none if
/// this machine cannot do it.
fn run_until(folder: &Path, more: &str, shows: impl Fn(&Finished) -> Result<(), String>) {
    let mut missing = String::new();
    for duration in ["2s", "8s", "32s"] {
        let Some(finished) = run_with(folder, &format!("{more} --duration {duration}")) else {
            return;
        };
        match shows(&finished) {
            Ok(()) => return,
            Err(what) => missing = what,
        }
    }
    panic!("{missing}");
}

/// Whether the higher gang has taken over from the lower one, and given back, some times.
fn shows_preemptions(events: &str) -> Result<(), String> {
    let active = active_priorities(events);
    let preempted = active.windows(3).filter(|it| it == &[20, 30, 20]).count();
    match preempted {
        4.. => Ok(()),
        _ => Err(format!("{active:?}")),
    }
}

/// The events of the run in this folder.
fn events_of(folder: &Path) -> String {
    ringfence(folder, "report run.rfr --events events.jsonl");
    fs::read_to_string(folder.join("events.jsonl")).unwrap()
}

fn outcome<'a>(summary: &'a Value, kind: &str) -> &'a Value {
    let claims = summary["cases"][0]["verdict"]["claims"].as_array();
    let mut claims = claims.expect("claims").iter();
    claims.find(|claim| claim["kind"] == kind).expect(kind)
}

/// Some kernels do not tell every switch and wake-up. If both are missing, a run can be judged
/// broken that was not (docs/src/portable.md): one of a few must hold.
#[test]
fn gangs_run_one_at_a_time_as_far_as_was_measured() {
    let Some(_machine) = machine() else { return };
    let folder = scratch();
    let mut broken = Vec::new();
    for _ in 0..3 {
        let Some(finished) = run(folder.path()) else {
            return;
        };
        let said = "rt-gang: portable mode (freezer of version";
        assert!(finished.stderr.contains(said), "{}", finished.stderr);
        assert_eq!(groups(), [] as [PathBuf; 0]);
        assert!(!Path::new("/run/ringfence/journal.jsonl").exists());
        let summary = finished.json();
        let claims = ["complete-record", "one-gang-at-a-time", "work-conservation"];
        let claims = claims.map(|kind| outcome(&summary, kind).clone());
        match claims.iter().all(|claim| claim["outcome"] == "pass") {
            true => return,
            false => broken.push(claims),
        }
    }
    panic!("{broken:#?}");
}

/// A kernel that tells nothing is not needed: threads say when they have work. Nobody records who
/// runs then, and nobody judges it.
#[test]
fn threads_say_themselves_when_they_have_work() {
    let Some(_machine) = machine() else { return };
    let folder = scratch();
    let folder = folder.path();
    run_until(folder, "--wake-ups jobs", |finished| {
        for said in [
            "wake-ups seen through the job API, and by a look each millisecond",
            "how long gangs waited for a core is not known",
        ] {
            assert!(finished.stderr.contains(said), "{}", finished.stderr);
        }
        assert_eq!(groups(), [] as [PathBuf; 0]);
        let summary = finished.json();
        for kind in ["one-gang-at-a-time", "work-conservation", "share"] {
            let claim = outcome(&summary, kind);
            assert_eq!(claim["outcome"], "not-judged", "{claim:#}");
            assert_eq!(claim["note"], "the record does not say who ran where");
        }
        assert_eq!(outcome(&summary, "complete-record")["outcome"], "pass");
        assert_eq!(summary["cases"][0]["statistics"]["slack"], Value::Null);
        let events = events_of(folder);
        assert!(!events.contains("\"thread-on\""));
        assert!(events.contains("nobody recorded who ran where"));
        shows_preemptions(&events)
    });
}

/// Each job of the low gang is so long that a job of the high one comes in between.
#[test]
fn the_higher_gang_takes_over_and_the_lower_one_goes_on_after_it() {
    let Some(_machine) = machine() else { return };
    let folder = scratch();
    let folder = folder.path();
    run_until(folder, "", |_| {
        let events = events_of(folder);
        assert!(events.contains("duty cycle"));
        match events.contains("\"throttled\"") {
            true => shows_preemptions(&events),
            false => Err("best-effort work was never throttled".into()),
        }
    });
}

/// Of the gangs that came to run, one after the other.
fn active_priorities(events: &str) -> Vec<u64> {
    let priority = |line| {
        let event: Value = serde_json::from_str(line).unwrap();
        event.get("gang-active")?["priority"].as_u64()
    };
    events.lines().filter_map(priority).collect()
}

#[test]
fn a_run_that_is_killed_leaves_nothing_frozen() {
    let Some(_machine) = machine() else { return };
    let folder = scratch();
    if run(folder.path()).is_none() {
        return;
    }
    let mut process = started(folder.path(), "2s");
    process.kill().unwrap();
    process.wait().unwrap();
    wait_until("groups are gone", || groups().is_empty());
    wait_until("the journal is gone", || {
        !Path::new("/run/ringfence/journal.jsonl").exists()
    });
    // And the next one begins.
    run(folder.path());
}

/// While it runs others see it, and when it was killed they see that nobody enforces, although
/// it could not say so.
#[test]
fn a_run_is_seen_from_outside_as_long_as_it_is_there() {
    let Some(_machine) = machine() else { return };
    let folder = scratch();
    if run(folder.path()).is_none() {
        return;
    }
    let mut process = started(folder.path(), "600s");
    let look = || {
        let finished = ringfence(folder.path(), "top --json --once");
        let seen = (finished.code == 0).then(|| finished.json());
        seen.filter(|seen| seen["process"] == process.id())
    };
    let jobs = |seen: &Value, gang: usize| seen["gangs"][gang]["jobs"].as_u64().expect("jobs");
    wait_until("jobs of both gangs are seen", || {
        look().is_some_and(|seen| jobs(&seen, 0) > 1 && jobs(&seen, 1) > 0)
    });
    let seen = look().expect("it runs");
    for (key, expected) in [
        ("mode", "portable"),
        ("scenario", "portable"),
        ("case", "rt-gang"),
    ] {
        assert_eq!(seen[key], expected, "{seen:#}");
    }
    assert_eq!(seen["gangs"][0]["name"], "high");
    // They have finished jobs of 5 ms and of 150 ms.
    for (gang, least_ns) in [(0, 5_000_000), (1, 100_000_000)] {
        let active_ns = seen["gangs"][gang]["active_ns"].as_u64();
        assert!(active_ns >= Some(least_ns), "{seen:#}");
    }
    assert_eq!(seen["cpus"][1]["best_effort"]["period_ns"], 1_000_000);
    let text = ringfence(folder.path(), "top").expect(0).stdout;
    assert!(
        text.starts_with("case rt-gang of portable, portable mode, process"),
        "{text}"
    );
    process.kill().unwrap();
    process.wait().unwrap();
    wait_until("groups are gone", || groups().is_empty());
    let look = || ringfence(folder.path(), "top --json --once");
    let seen = look();
    let is_another = seen.code == 0 && seen.json()["process"] != process.id();
    let said = "nothing is enforced on this machine now";
    assert!(
        is_another || seen.code == 1 && seen.stderr.contains(said),
        "{}",
        seen.stderr
    );
}

/// A run of this length that has made its groups.
fn started(folder: &Path, duration: &str) -> Child {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let mut process = Command::new(env!("CARGO_BIN_EXE_ringfence"))
            .args(arguments(folder).split_whitespace())
            .args(["--duration", duration])
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while process.try_wait().unwrap().is_none() {
            if groups().len() == 2 {
                return process;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    panic!("no run makes groups");
}

#[track_caller]
fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(
            begin.elapsed() < PATIENCE,
            "it does not come to it that {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_dry_run_lists_every_change_and_makes_none() {
    let Some(_machine) = machine() else { return };
    let folder = scratch();
    let limit = || fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").ok();
    let before = limit();
    let arguments = format!("{} --dry-run", arguments(folder.path()));
    let dry = ringfence(folder.path(), &arguments);
    if dry.code == 4 {
        eprintln!("skipped: {}", dry.stderr);
        return;
    }
    let cases = dry.expect(0).json()["changes"].clone();
    assert_eq!(cases[0]["case"], "rt-gang");
    let changes = cases[0]["changes"].to_string();
    for gang in ["ringfence-gang-0", "ringfence-gang-1"] {
        assert!(
            changes.contains(&format!("/{gang}\",\"change")),
            "{changes}"
        );
    }
    assert!(
        changes.contains("write '-1' to /proc/sys/kernel/sched_rt_runtime_us"),
        "{changes}"
    );
    assert_eq!(limit(), before);
    assert_eq!(groups(), Vec::<PathBuf>::new());
    let files = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 1, "only the scenario");
}
