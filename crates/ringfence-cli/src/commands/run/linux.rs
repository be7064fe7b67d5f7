//! Runs cases on this machine.

use std::cell::RefCell;
use std::fs;
use std::io::Write;

use ringfence_linux::doctor;
use ringfence_linux::run::{RunError, RunOptions};
use ringfence_record::Writer;
use ringfence_scenario::model::{Case, Scenario, Scheduling};

use crate::commands::target::Linux;
use crate::progress::CaseBars;

/// Runs every case, one after the other; this program, started again, does the work.
pub fn run<W: Write>(
    scenario: &Scenario,
    how: &Linux,
    bars: &CaseBars,
    writer: &mut Writer<W>,
) -> Result<(), RunError> {
    let is_gang = |case: &Case| case.scheduling == Scheduling::Gang;
    if scenario.cases.iter().any(is_gang)
        && let Some(warning) = doctor::outranking_threads()
    {
        eprintln!("{warning}");
    }
    // The program that runs, even if its file has been replaced since.
    let runner = ["/proc/self/exe".into(), "runner".into()];
    let guard = ["/proc/self/exe".into(), "guard".into()];
    let measured = RefCell::new(Vec::new());
    let options = RunOptions {
        runner: &runner,
        guard: &guard,
        mode: how.mode,
        wake_ups: how.wake_ups,
        regulate_by: &how.regulate_by,
        hand_over_ns: how.hand_over_ns,
        progress: &|case, ran_ns| bars.reached(case, ran_ns),
        measured: &|case, text| measured.borrow_mut().push(format!("{case}: {text}")),
    };
    let result = ringfence_linux::run::run(scenario, &options, writer);
    bars.clear();
    for line in measured.take() {
        eprintln!("{line}");
    }
    result
}

/// The machine's name: of its board, or else of its processor.
pub fn machine() -> String {
    let board = fs::read_to_string("/proc/device-tree/model").ok();
    let processor = || {
        let text = fs::read_to_string("/proc/cpuinfo").ok()?;
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.to_owned())
    };
    let name = board.or_else(processor).unwrap_or_default();
    match name.trim_matches(|c: char| c.is_whitespace() || c == '\0') {
        "" => "this machine".into(),
        name => name.into(),
    }
}

/// The kernel's release.
pub fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("Linux {}", release.trim())
}
