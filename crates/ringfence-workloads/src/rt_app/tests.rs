//! Files as rt-app's documentation describes them, and what becomes of them.

use std::path::Path;

use proptest::prelude::*;
use ringfence_scenario::NoFiles;
use ringfence_scenario::model::{Overrun, Program, Scenario};

use super::import;

const BOARD: &str = "raspberry-pi-3";

/// The scenario on a board of four cores.
fn scenario(text: &str) -> Scenario {
    let imported = import(text, BOARD).unwrap();
    ringfence_scenario::parse(&imported, "imported.toml", Path::new(""), &NoFiles)
        .unwrap_or_else(|problems| panic!("{problems:?}\n{imported}"))
}

fn time_us(program: &Program) -> u64 {
    match program {
        Program::Compute(compute) => compute.time_ns / 1000,
        other => panic!("{other:?}"),
    }
}

#[test]
fn priorities_become_gangs_and_the_rest_best_effort() {
    let file = r#"{
        /* Three of them, with
           a comment in between. */
        "tasks": {
            "camera": {
                "policy": "SCHED_FIFO", "priority": 20, "instance": 2, "cpus": [3, 1],
                "phases": { "only": {
                    "loop": -1,
                    "run": 1000, "runtime": 500, "run": 250, // by two keys of one name
                    "timer": { "ref": "unique", "period": 20000, "mode": "absolute" },
                } },
            },
            "radar": {
                "policy": "SCHED_RR", "priority": 20, "delay": 3000, "dl-deadline": 9000,
                "run0": 700, "timer0": { "ref": "a", "period": 10000 }
            },
            "steering": { "policy": "SCHED_FIFO", "run": 2000, "sleep": 8000, "loop": -1 },
            "later": { "instance": 0, "policy": "SCHED_FIFO", "run": 1 },
            "log \"all\"": { "instance": 3, "run": 100, "cpus": [0] },
            "camera": { "run": 5 }
        },
        "resources": {},
        "global": { "duration": 6, "calibration": "CPU0", "gnuplot": true, "ftrace": "none" }
    }"#;
    let scenario = scenario(file);
    assert_eq!(scenario.duration_ns, 6_000_000_000);
    let gangs: Vec<_> = scenario
        .gangs
        .iter()
        .map(|gang| (gang.name.as_str(), gang.priority, gang.tasks.len()))
        .collect();
    assert_eq!(gangs, [("priority-20", 20, 2), ("steering", 10, 1)]);
    let task = |gang: usize, task: usize| &scenario.gangs[gang].tasks[task];
    let camera = task(0, 0);
    assert_eq!((camera.period_ns, camera.threads), (20_000_000, 2));
    assert_eq!(
        (&camera.cores[..], camera.overrun),
        (&[1, 3][..], Overrun::Queue)
    );
    assert_eq!(time_us(&camera.program), 1750);
    let radar = task(0, 1);
    assert_eq!((radar.offset_ns, radar.deadline_ns), (3_000_000, 9_000_000));
    assert_eq!((&radar.cores[..], radar.overrun), (&[0][..], Overrun::Skip));
    let steering = task(1, 0);
    assert_eq!(
        (steering.period_ns, time_us(&steering.program)),
        (10_000_000, 2000)
    );
    let others: Vec<_> = scenario
        .best_effort
        .iter()
        .map(|work| {
            (
                work.name.as_str(),
                work.threads,
                work.cores.len(),
                work.pinned,
            )
        })
        .collect();
    assert_eq!(
        others,
        [("log \"all\"", 3, 1, false), ("camera1", 1, 4, false)]
    );
    let cases: Vec<&str> = scenario
        .cases
        .iter()
        .map(|case| case.name.as_str())
        .collect();
    assert_eq!(cases, ["co-run", "rt-gang"]);
}

#[test]
fn what_a_scenario_cannot_say_is_refused_by_its_key() {
    let with = |event: &str| {
        format!(
            r#"{{ "tasks": {{ "t": {{ "policy": "SCHED_FIFO", "run": 10, "timer": {{ "ref": "unique", "period": 100 }}, {event} }} }}, "global": {{ "duration": 1 }} }}"#
        )
    };
    for (event, expected) in [
        (
            r#""lock1": "m""#,
            "tasks.t.lock1: tasks of a scenario share no mutexes",
        ),
        (r#""unlock": "m""#, "tasks.t.unlock: "),
        (
            r#""wait": {}"#,
            "tasks.t.wait: tasks of a scenario do not wake each other",
        ),
        (r#""resume": "other""#, "tasks.t.resume: "),
        (r#""barrier": "b""#, "tasks.t.barrier: "),
        (r#""mem": 1000"#, "kind = \"phases\""),
        (r#""iorun": 1000"#, "no devices"),
        (r#""yield": """#, "until its job ends"),
        (r#""fork": "x""#, "from its start"),
        (r#""sleep": 5"#, "tasks.t.sleep: a job here does not sleep"),
        (
            r#""timer": { "ref": "unique", "period": 7 }"#,
            "a second timer",
        ),
        (
            r#""timer": { "ref": "unique" }"#,
            "tasks.t.timer: expected a period",
        ),
        (
            r#""timer": { "period": 7, "mode": "odd" }"#,
            "tasks.t.timer.mode: ",
        ),
        (r#""loop": 10"#, "tasks.t.loop: jobs here go on"),
        (r#""dl-runtime": 10"#, "SCHED_DEADLINE"),
        (r#""policy": "SCHED_DEADLINE""#, "fixed priorities"),
        (r#""policy": "SCHED_SPORADIC""#, "expected SCHED_FIFO"),
        (
            r#""priority": 100"#,
            "tasks.t.priority: 100; expected 1 to 99",
        ),
        (
            r#""policy": "SCHED_OTHER""#,
            "best-effort work here never sleeps",
        ),
        (r#""util_min": 10"#, "clock frequencies"),
        (r#""taskgroup": "/a""#, "from priorities"),
        (r#""membind_nodes": [0]"#, "one memory"),
        (r#""cpus": []"#, "such as [0, 2]"),
        (r#""cpus": [-1]"#, "such as [0, 2]"),
        (r#""instance": -1"#, "0 to 65535 threads"),
        (
            r#""run1": 1.5"#,
            "tasks.t.run1: 1.5; expected a whole number of microseconds",
        ),
        (r#""phases": { "a": {}, "b": {} }"#, "2 phases"),
        (
            r#""phases": { "a": { "run": 3 } }"#,
            "beside events of the task",
        ),
        (
            r#""colour": 3"#,
            "tasks.t.colour: rt-app's documentation has no such key",
        ),
    ] {
        let error = import(&with(event), BOARD).unwrap_err().to_string();
        assert!(error.contains(expected), "{event}: {error}");
    }
    for (file, expected) in [
        ("[]", "the file: a list; expected an object"),
        ("{}", "tasks: missing"),
        (
            r#"{ "tasks": {} }"#,
            "global.duration: a run here has an end",
        ),
        (
            r#"{ "tasks": {}, "global": { "duration": -1 } }"#,
            "global.duration: a run here has an end",
        ),
        (
            r#"{ "tasks": {}, "global": { "duration": 1 } }"#,
            "tasks: no task has a real-time policy",
        ),
        (r#"{ "tusks": {} }"#, "tusks: expected tasks, global"),
        ("{ \"tasks\" {} }", "line 1, column 11: expected `:`"),
        ("{ /* no end", "line 1"),
        (
            r#"{ "tasks": { " x": {} }, "global": { "duration": 1 } }"#,
            "expected a name of 1 to 60",
        ),
        (
            r#"{ "tasks": { "x": { "policy": "SCHED_FIFO", "instance": 2, "run": 1, "timer": { "ref": "a", "period": 5 } } }, "global": { "duration": 1 } }"#,
            "tasks.x.timer.ref: the instances share a timer",
        ),
        (
            r#"{ "tasks": { "x": { "policy": "SCHED_FIFO", "run": 1 } }, "global": { "duration": 1 } }"#,
            "tasks.x: a real-time task that never sleeps",
        ),
        (
            r#"{ "tasks": { "x": { "policy": "SCHED_FIFO", "sleep": 1 } }, "global": { "duration": 1 } }"#,
            "tasks.x: it never runs",
        ),
    ] {
        let error = import(file, BOARD).unwrap_err().to_string();
        assert!(error.contains(expected), "{file}: {error}");
    }
}

/// What looks like a comment or a last comma inside a text stays as it is.
#[test]
fn texts_are_left_alone() {
    let file = r#"{ "tasks": { "/* a, } */": { "policy": "SCHED_FIFO", "run": 1, "sleep": 9999 } }, "global": { "duration": 1, "logdir": "\"//,]" } }"#;
    assert_eq!(scenario(file).gangs[0].tasks[0].name, "/* a, } */");
}

#[derive(Debug, Clone)]
struct Drawn {
    priority: u8,
    instances: u16,
    run_us: u64,
    period_us: u64,
    cpu: Option<u16>,
    is_absolute: bool,
}

prop_compose! {
    fn drawn()(
        priority in 1_u8..=99,
        instances in 1_u16..3,
        run_us in 1_u64..5_000,
        period_us in 20_000_u64..900_000,
        cpu in prop::option::of(0_u16..4),
        is_absolute: bool,
    ) -> Drawn {
        Drawn { priority, instances, run_us, period_us, cpu, is_absolute }
    }
}

proptest! {
    #[test]
    fn every_periodic_task_comes_back(tasks in prop::collection::vec(drawn(), 1..3)) {
        let mut file = "{ \"tasks\": {".to_owned();
        for (number, task) in tasks.iter().enumerate() {
            let cpus = task.cpu.map_or(String::new(), |cpu| format!("\"cpus\": [{cpu}],"));
            let mode = if task.is_absolute { "absolute" } else { "relative" };
            file += &format!(
                r#""t{number}": {{ {cpus} "policy": "SCHED_FIFO", "priority": {}, "instance": {},
                "run": {}, "timer": {{ "ref": "unique", "period": {}, "mode": "{mode}" }} }},"#,
                task.priority, task.instances, task.run_us, task.period_us
            );
        }
        file += "}, \"global\": { \"duration\": 2 } }";
        let scenario = scenario(&file);
        let found = scenario.gangs.iter().flat_map(|gang| {
            gang.tasks.iter().map(move |task| (gang.priority, task))
        });
        let mut seen = 0;
        for (priority, task) in found {
            let drawn = &tasks[task.name[1..].parse::<usize>().unwrap()];
            prop_assert_eq!(priority, drawn.priority);
            prop_assert_eq!(task.threads, drawn.instances);
            prop_assert_eq!(task.period_ns, drawn.period_us * 1000);
            prop_assert_eq!(time_us(&task.program), drawn.run_us);
            let is_queue = task.overrun == Overrun::Queue;
            prop_assert_eq!(is_queue, drawn.is_absolute);
            if let Some(cpu) = drawn.cpu {
                prop_assert_eq!(&task.cores, &vec![cpu]);
            }
            seen += 1;
        }
        prop_assert_eq!(seen, tasks.len());
    }

    #[test]
    fn any_text_is_imported_or_refused(text in ".{0,200}", pieces in prop::collection::vec(
        prop::sample::select(vec!["{", "}", "[", "]", "\"", "\\", ",", ":", "/*", "*/", "//", "\n", "tasks", "run", "1", "ü"]), 0..40)) {
        let _ = import(&text, BOARD);
        let _ = import(&pieces.concat(), BOARD);
    }
}
