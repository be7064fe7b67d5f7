//! The programs that the book offers for pasting are accepted, and do on the
//! modelled Raspberry Pi 3 what it says. `UPDATE=1 cargo test -p ringfence-sim
//! --test ready_made_programs` writes its figures again.

use std::path::{Path, PathBuf};

use ringfence_scenario::model::{Program, Scenario};
use ringfence_scenario::{NoFiles, parse};
use ringfence_sim::machine::{ExactMachine, Machine, Picoseconds, Traffic};

const MS: Picoseconds = 1_000_000_000;
/// Caches fill before what is measured: two sweeps of the cache stressor, a changing and a reading one.
const WARM_UP: Picoseconds = 2 * MS;
const MEASURED: Picoseconds = 16 * MS;
const BEGIN: &str = "<!-- figures -->\n";
const END: &str = "<!-- end of figures -->";

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/adding-a-program.md")
}

/// Name and TOML of each program in the table.
fn offered(page: &str) -> Vec<(&str, &str)> {
    let rows = page.lines().filter_map(|line| {
        let (name, program) = line.strip_prefix("| ")?.split_once(" | `{")?;
        Some((name, program.strip_suffix("}` |")?))
    });
    rows.collect()
}

/// A scenario with the program as best-effort work; what it has of tasks does not run here.
fn scenario(program: &str) -> Scenario {
    let source = format!(
        r#"
        scenario = {{ name = "one", platform = "raspberry-pi-3", duration = "1 s" }}
        case = [{{ name = "co-run" }}]
        [[gang]]
        name = "idle"
        priority = 1
        task = [{{ name = "idle", period = "1 s", program = {{ kind = "cpu", working_set = "1 KiB", cycles_per_access = 1, accesses = 1 }} }}]
        [[best_effort]]
        name = "load"
        program = {{{program}}}
        "#
    );
    parse(&source, "one.toml", Path::new(""), &NoFiles).unwrap_or_else(|said| panic!("{said}"))
}

/// Traffic of the program on each of the first `cores` cores.
fn traffic(scenario: &Scenario, program: &Program, cores: u16) -> Traffic {
    let mut machine = ExactMachine::new(&scenario.platform, 1, 1_000_000).unwrap();
    // stress-ng's workers share one buffer; of everything else each core has a copy.
    let threads = match program {
        Program::Strided(_) => cores,
        _ => 1,
    };
    let tasks = (0..cores / threads).map(|task| format!("load {task}"));
    let streams: Vec<_> = tasks
        .flat_map(|name| {
            machine
                .add_task(&name, program, threads, true, None)
                .unwrap()
        })
        .collect();
    for (core, stream) in (0..).zip(streams) {
        machine.start(core, stream, 0);
    }
    let so_far = |machine: &ExactMachine| {
        (0..cores).fold(Traffic::default(), |sum, core| {
            let of_core = machine.traffic(core).total();
            Traffic {
                read_lines: sum.read_lines + of_core.read_lines,
                write_lines: sum.write_lines + of_core.write_lines,
                llc_accesses: sum.llc_accesses + of_core.llc_accesses,
                llc_misses: sum.llc_misses + of_core.llc_misses,
            }
        })
    };
    machine.run_until(WARM_UP);
    let before = so_far(&machine);
    machine.run_until(WARM_UP + MEASURED);
    let after = so_far(&machine);
    Traffic {
        read_lines: after.read_lines - before.read_lines,
        write_lines: after.write_lines - before.write_lines,
        llc_accesses: after.llc_accesses - before.llc_accesses,
        llc_misses: after.llc_misses - before.llc_misses,
    }
}

/// Three cells of a table.
fn cells(traffic: &Traffic) -> String {
    let microseconds = (MEASURED / 1_000_000) as f64;
    let share = traffic.llc_misses as f64 / traffic.llc_accesses.max(1) as f64;
    let bytes = (traffic.read_lines + traffic.write_lines) * 64;
    format!(
        "{:.1} M/s | {:.1} % | {:.0} MB/s",
        traffic.llc_accesses as f64 / microseconds,
        share * 100.0,
        bytes as f64 / microseconds
    )
}

/// The program alone, and one on each core.
fn row(name: &str, program: &str) -> String {
    let scenario = scenario(program);
    let program = &scenario.best_effort[0].program;
    let [alone, four] = [1, 4].map(|cores| cells(&traffic(&scenario, program, cores)));
    format!("| {name} | {alone} | {four} |\n")
}

#[test]
fn the_book_says_what_its_programs_do() {
    let text = std::fs::read_to_string(page()).unwrap();
    let programs = offered(&text);
    assert_eq!(programs.len(), 14, "programs in the table of the page");
    let mut table = String::from(
        "| load | LLC alone | missed | memory | LLC, four | missed | memory |\n|---|--:|--:|--:|--:|--:|--:|\n",
    );
    let rows: Vec<String> = std::thread::scope(|scope| {
        let spawn = |(name, program)| scope.spawn(move || row(name, program));
        let running: Vec<_> = programs.into_iter().map(spawn).collect();
        let rows = running.into_iter().map(|row| row.join().unwrap());
        rows.collect()
    });
    table += &rows.concat();
    println!("{table}");
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (figures, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(page(), [before, BEGIN, &table, END, after].concat()).unwrap();
    } else {
        assert!(
            figures == table,
            "the figures of {} are out of date: run UPDATE=1 cargo test -p ringfence-sim --test ready_made_programs",
            page().display()
        );
    }
}
