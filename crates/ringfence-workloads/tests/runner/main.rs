//! The runner as a process, seen through its job log and `/proc`: orders and counts. No
//! test says how long anything takes.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ringfence_scenario::model::{self, Access, Overrun, Pattern};
use ringfence_workloads::clock::now_ns;
use ringfence_workloads::cpu;
use ringfence_workloads::job_log::{Answer, JobLog, Kind, Mark, Size};
use ringfence_workloads::program::{Program, Setting};
use ringfence_workloads::runner::{Outcome, Release, Work};

const MS: u64 = 1_000_000;

fn compute(time_ns: u64) -> Program {
    Program::Scenario(model::Program::Compute(model::Compute {
        time_ns,
        slowed_by: Vec::new(),
    }))
}

/// Two phases, after each of which the threads meet.
fn phases() -> Program {
    let phase = model::Phase {
        compute_cycles: 1000,
        read_bytes: 6400,
        write_bytes: 3200,
        working_set_bytes: 4096,
        pattern: Pattern::Sequential,
    };
    Program::Scenario(model::Program::Phases(vec![phase.clone(), phase]))
}

/// Ten jobs from soon on, on all processors.
fn work(program: Program, threads: u16, log: &JobLog) -> Work {
    Work {
        name: "steering".to_owned(),
        task: 3,
        program,
        setting: Setting {
            threads,
            line_bytes: 64,
            bank_functions: Vec::new(),
            seed: 1,
        },
        cores: cpu::allowed().unwrap(),
        pinned: true,
        release: Release::Periodic {
            period_ns: 10 * MS,
            offset_ns: 5 * MS,
            overrun: Overrun::Queue,
        },
        start_ns: now_ns() + 400 * MS,
        duration_ns: 105 * MS,
        log: Some(log.path()),
        gang: None,
        launcher: Some(std::process::id()),
        marks_sleep: false,
    }
}

fn log() -> JobLog {
    JobLog::create(Size::new(8, 1024).unwrap()).unwrap()
}

fn start(work: &Work) -> Child {
    Command::new(env!("CARGO_BIN_EXE_runner"))
        .arg(serde_json::to_string(work).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What it printed in the end.
fn outcome(child: Child) -> Outcome {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn drain(log: &mut JobLog) -> Vec<Mark> {
    let mut marks = Vec::new();
    let drained = log.drain(|mark| marks.push(mark));
    assert_eq!((drained.lost, drained.damaged), (0, 0));
    marks
}

fn jobs(marks: &[Mark], kind: Kind) -> Vec<u64> {
    let marks = marks.iter().filter(|mark| mark.kind == kind);
    marks.map(|mark| mark.job).collect()
}

#[test]
fn jobs_are_released_on_the_common_clock_and_run_in_order() {
    let mut log = log();
    let work = work(phases(), 3, &log);
    let outcome = outcome(start(&work));
    let marks = drain(&mut log);
    // Releases are exact, however late the machine is.
    let first_ns = work.start_ns + 5 * MS;
    let expected: Vec<u64> = (0..10).map(|job| first_ns + job * 10 * MS).collect();
    let releases = marks.iter().filter(|mark| mark.kind == Kind::Released);
    let releases: Vec<u64> = releases.map(|mark| mark.time_ns).collect();
    assert_eq!(releases, expected);
    let ends = jobs(&marks, Kind::End).len() as u64 / 3;
    // A machine that stood still may have kept the last ones from beginning.
    assert!((1..=10).contains(&ends), "{ends}");
    let mut times: BTreeMap<(u64, u32), (u64, u64)> = BTreeMap::new();
    for mark in &marks {
        assert_eq!(mark.task, 3);
        let entry = times.entry((mark.job, mark.thread.thread)).or_default();
        match mark.kind {
            Kind::Begin => entry.0 = mark.time_ns,
            Kind::End => entry.1 = mark.time_ns,
            _ => {}
        }
    }
    for job in 0..ends {
        let of = |job: u64| times.range((job, 0)..(job + 1, 0)).map(|(_, times)| *times);
        assert_eq!(of(job).count(), 3);
        for (begin_ns, end_ns) in of(job) {
            assert!(expected[job as usize] <= begin_ns && begin_ns <= end_ns);
            // They meet in the middle: nobody ends before all have begun.
            assert!(of(job).all(|(other_begin_ns, _)| other_begin_ns <= end_ns));
            // The next job begins when all have ended this one.
            assert!(of(job + 1).all(|(next_ns, _)| next_ns == 0 || end_ns <= next_ns));
        }
    }
    let done: Vec<u64> = outcome.threads.iter().map(|thread| thread.jobs).collect();
    assert_eq!((done, outcome.stopped), (vec![ends; 3], false));
}

#[test]
fn late_jobs_wait_or_are_dropped() {
    for overrun in [Overrun::Queue, Overrun::Skip] {
        let mut log = log();
        let mut work = work(compute(25 * MS), 1, &log);
        work.release = Release::Periodic {
            period_ns: 10 * MS,
            offset_ns: 0,
            overrun,
        };
        work.duration_ns = 100 * MS;
        let outcome = outcome(start(&work));
        let marks = drain(&mut log);
        let (begun, ended) = (jobs(&marks, Kind::Begin), jobs(&marks, Kind::End));
        assert_eq!(begun, ended);
        assert_eq!(outcome.threads[0].jobs, begun.len() as u64);
        assert_eq!(jobs(&marks, Kind::Released), (0..10).collect::<Vec<_>>());
        let dropped = jobs(&marks, Kind::Dropped);
        match overrun {
            Overrun::Queue => {
                // One after the other; those that the end came before never began.
                assert_eq!(begun, (0..begun.len() as u64).collect::<Vec<_>>());
                assert!(dropped.is_empty() && begun.len() <= 4);
            }
            Overrun::Skip => {
                let mut all = [begun.clone(), dropped.clone()].concat();
                all.sort_unstable();
                assert_eq!(all, (0..10).collect::<Vec<_>>());
                // 25 ms of work take up at least two of the next releases.
                assert!(
                    dropped.len() >= 2 * begun.len() - 2,
                    "{begun:?} {dropped:?}"
                );
                assert_eq!((begun[0], &dropped[..2]), (0, &[1, 2][..]));
            }
        }
    }
}

#[test]
fn two_processes_share_their_start() {
    let mut log = log();
    let work = work(phases(), 1, &log);
    let second = Work {
        task: 4,
        ..work.clone()
    };
    for child in [start(&work), start(&second)] {
        outcome(child);
    }
    let marks = drain(&mut log);
    let releases = |task| {
        let marks = marks.iter();
        let marks = marks.filter(move |mark| mark.task == task && mark.kind == Kind::Released);
        marks.map(|mark| mark.time_ns).collect::<Vec<_>>()
    };
    assert_eq!(releases(3).len(), 10);
    assert_eq!(releases(3), releases(4));
}

/// Threads of a process by name, with the processors that they may use; of those that
/// have one.
fn threads(process: u32) -> BTreeMap<String, String> {
    let folder = format!("/proc/{process}/task");
    let entries = std::fs::read_dir(Path::new(&folder)).unwrap();
    let threads = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let name = std::fs::read_to_string(path.join("comm")).ok()?;
        let status = std::fs::read_to_string(path.join("status")).ok()?;
        let cpus = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        Some((name.trim().to_owned(), cpus.trim().to_owned()))
    });
    threads.collect()
}

#[test]
fn endless_work_is_named_pinned_and_counted_until_it_is_told_to_end() {
    let mut log = log();
    let program = Program::Scenario(model::Program::Bandwidth(model::Bandwidth {
        access: Access::Write,
        working_set_bytes: 1 << 20,
        passes: 1,
    }));
    let work = Work {
        name: "a-very-long-hog-name".to_owned(),
        release: Release::Endless,
        duration_ns: u64::MAX,
        gang: Some("slam".to_owned()),
        ..work(program, 2, &log)
    };
    let child = start(&work);
    // Each thread asks for its gang before it begins.
    let mut asked = Vec::new();
    while asked.len() < 2 {
        log.wait(std::time::Duration::from_millis(100));
        log.answer(|request| {
            asked.push(request);
            Answer::Accepted
        });
    }
    for request in &asked {
        assert_eq!(request.gang.as_deref(), Some("slam"));
        assert_eq!(request.thread.process, child.id());
    }
    let seen = threads(child.id());
    let cpus = cpu::allowed().unwrap();
    for thread in 0..2 {
        let name = format!("a-very-long-h-{thread}");
        let cpu = cpus[thread % cpus.len()].to_string();
        assert_eq!(seen.get(&name), Some(&cpu), "{seen:?}");
    }
    // It works: a thread has used the processor.
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let after_name = stat.rsplit(") ").next().unwrap();
        let fields: Vec<&str> = after_name.split(' ').collect();
        fields[11].parse::<u64>().unwrap()
    };
    while ticks() < 5 {
        std::thread::yield_now();
    }
    let process = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    let outcome = outcome(child);
    assert!(outcome.stopped);
    for thread in &outcome.threads {
        assert_eq!(thread.accesses, thread.steps * 10_000);
    }
    assert!(outcome.threads.iter().any(|thread| thread.steps > 0));
    log.reclaim();
    assert_eq!(log.drain(|_| ()).left.len(), 2);
}

/// It would go on for a minute: a launcher that is killed can tell it nothing.
#[test]
fn work_ends_with_its_launcher() {
    let mut log = log();
    let work = Work {
        release: Release::Endless,
        duration_ns: 60_000 * MS,
        gang: Some("slam".to_owned()),
        ..work(compute(MS), 1, &log)
    };
    let launcher = std::thread::spawn(move || {
        let child = start(&work);
        // It knows its launcher before it asks.
        let mut has_asked = false;
        while !has_asked {
            log.wait(std::time::Duration::from_millis(100));
            log.answer(|_| {
                has_asked = true;
                Answer::Accepted
            });
        }
        child
    });
    let status = launcher.join().unwrap().wait().unwrap();
    let kill = rustix::process::Signal::KILL.as_raw();
    assert_eq!(status.signal(), Some(kill), "{status}");
}

#[test]
fn sleeping_and_waking_is_said_where_it_is_wanted() {
    let mut log = log();
    let work = Work {
        marks_sleep: true,
        ..work(compute(MS), 1, &log)
    };
    outcome(start(&work));
    let marks = drain(&mut log);
    let kinds: Vec<Kind> = marks.iter().map(|mark| mark.kind).collect();
    // The first release is in the future, unless the machine stood still.
    let sleeps = jobs(&marks, Kind::Sleeping).len();
    assert_eq!(sleeps, jobs(&marks, Kind::Runnable).len());
    let woke = kinds.windows(2).filter(|pair| pair[0] == Kind::Sleeping);
    assert!(
        woke.clone().all(|pair| pair[1] == Kind::Runnable),
        "{kinds:?}"
    );
    assert_eq!(woke.count(), sleeps);
}

#[test]
fn work_that_cannot_be_is_refused_and_nothing_runs() {
    let log = log();
    let good = || work(compute(MS), 1, &log);
    let trace = Program::Scenario(model::Program::Trace(model::Trace {
        path: "susan.rftrace".into(),
        job: None,
    }));
    let cases = [
        (
            Work {
                cores: Vec::new(),
                ..good()
            },
            "cores of 0; expected at least 1",
        ),
        (
            Work {
                cores: vec![1023],
                ..good()
            },
            "keeping a thread on the cores [1023]",
        ),
        (
            Work {
                program: trace,
                ..good()
            },
            "run the program itself",
        ),
        (
            Work {
                launcher: Some(1),
                ..good()
            },
            "the launcher 1 is not the parent",
        ),
        (
            Work {
                log: Some("/nowhere".into()),
                ..good()
            },
            "/nowhere: No such file",
        ),
        (
            Work {
                release: Release::Periodic {
                    period_ns: 0,
                    offset_ns: 0,
                    overrun: Overrun::Queue,
                },
                ..good()
            },
            "a period of 0",
        ),
    ];
    for (work, expected) in cases {
        let mut child = start(&work);
        let status = child.wait().unwrap();
        let mut message = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut message)
            .unwrap();
        assert!(!status.success() && message.contains(expected), "{message}");
    }
    let refused = Command::new(env!("CARGO_BIN_EXE_runner"))
        .arg("{\"name\": 1}")
        .output()
        .unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("the work: "), "{message}");
}
