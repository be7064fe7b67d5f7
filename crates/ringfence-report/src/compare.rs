//! Two records, or two cases, side by side.

mod accuracy;

use std::io::Write;

use anstyle::Style;
use ringfence_analysis::compare::{
    BestEffortComparison, Better, CaseComparison, Comparison, Difference, NOTICEABLE_PERCENT, Pair,
    TaskComparison,
};
use ringfence_analysis::verdict::Outcome;

use crate::text_table::{print, table};
use crate::wording::{FEW_JOBS, claim_name};
use crate::{Error, units};

/// Stands in a cell without a value.
const NOTHING: &str = "–";

/// Writes what differs as text, coloured as [`terminal`](crate::terminal) is.
///
/// `names` are what the reader calls the two sides, such as their file names.
///
/// # Errors
/// When `out` fails.
pub fn write(comparison: &Comparison, names: [&str; 2], out: &mut impl Write) -> Result<(), Error> {
    let bold = Style::new().bold();
    for (name, damage) in names
        .iter()
        .zip([&comparison.first_damage, &comparison.second_damage])
    {
        if let Some(damage) = damage {
            writeln!(out, "{bold}{name} is damaged: {damage}{bold:#}")?;
        }
    }
    for case in &comparison.cases {
        for change in &case.claims {
            let [first, second] = [change.first, change.second].map(outcome);
            let claim = claim_name(change.kind);
            let title = title(case);
            writeln!(out, "{bold}{title}: {claim}: {first} → {second}.{bold:#}")?;
        }
    }
    for case in &comparison.cases {
        writeln!(
            out,
            "{bold}{}: {}.{bold:#}",
            title(case),
            better(case.better, names)
        )?;
    }
    if comparison.cases.is_empty() {
        writeln!(
            out,
            "{bold}The records have no case of the same name.{bold:#}"
        )?;
    }
    writeln!(out)?;
    differences("Set-up", &comparison.differences, out)?;
    for case in &comparison.cases {
        differences(&title(case), &case.differences, out)?;
    }
    for (name, missing) in names
        .iter()
        .zip([&comparison.only_first, &comparison.only_second])
    {
        if !missing.is_empty() {
            writeln!(out, "Only in {name}: {}\n", missing.join(", "))?;
        }
    }
    tasks(&comparison.cases, names, out)?;
    accuracy::trajectories(&comparison.cases, names, out)?;
    accuracy::measures(&comparison.cases, names, out)?;
    best_effort(&comparison.cases, names, out)
}

/// Writes the comparison as one JSON value; units are in the keys.
///
/// # Errors
/// When `out` fails.
pub fn write_json(comparison: &Comparison, out: &mut impl Write) -> Result<(), Error> {
    serde_json::to_writer_pretty(&mut *out, comparison)?;
    writeln!(out)?;
    Ok(())
}

fn title(case: &CaseComparison) -> String {
    if case.first == case.second {
        return case.first.clone();
    }
    format!("{} and {}", case.first, case.second)
}

fn better(better: Better, [first, second]: [&str; 2]) -> String {
    match better {
        Better::First => format!("{first} is better"),
        Better::Second => format!("{second} is better"),
        Better::Equal => format!("no difference of {NOTICEABLE_PERCENT} % or more"),
        Better::Mixed => "each is better in some way".into(),
        Better::Unknown => "unknown, for a record of it cannot be relied on".into(),
    }
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "held",
        Outcome::Fail => "broken",
        Outcome::NotClaimed => "not claimed",
        Outcome::NotJudged => "not judged",
    }
}

fn differences(title: &str, found: &[Difference], out: &mut impl Write) -> Result<(), Error> {
    if found.is_empty() {
        return Ok(());
    }
    writeln!(out, "{title} differs:")?;
    for Difference {
        what,
        first,
        second,
    } in found
    {
        writeln!(out, "  {what}: {first} → {second}")?;
    }
    writeln!(out)?;
    Ok(())
}

fn tasks(cases: &[CaseComparison], names: [&str; 2], out: &mut impl Write) -> Result<(), Error> {
    if cases.iter().all(|case| case.tasks.is_empty()) {
        return Ok(());
    }
    let mut table = table(
        &[
            "Case", "Task", "", "Jobs", "Missed", "Median", "99 %", "Longest",
        ],
        3,
    );
    for case in cases {
        for task in &case.tasks {
            let labels = [title(case), task.task.clone()];
            table.add_row([&labels[..], &side(task, names[0], |pair| pair.first)].concat());
            let blank = [String::new(), String::new()];
            table.add_row([&blank[..], &side(task, names[1], |pair| pair.second)].concat());
            table.add_row([&blank[..], &ratios(task)].concat());
        }
    }
    print(&table, out)?;
    writeln!(out, "{FEW_JOBS}\n")?;
    Ok(())
}

fn side(task: &TaskComparison, name: &str, of: fn(&Pair) -> u64) -> [String; 6] {
    let time = |pair: &Option<Pair>| {
        pair.as_ref().map_or_else(
            || NOTHING.into(),
            |pair| units::duration_in_column(of(pair)),
        )
    };
    [
        name.into(),
        of(&task.jobs).to_string(),
        of(&task.missed).to_string(),
        time(&task.median_ns),
        time(&task.p99_ns),
        time(&task.max_ns),
    ]
}

fn ratios(task: &TaskComparison) -> [String; 6] {
    let blank = String::new;
    let times = [&task.median_ns, &task.p99_ns, &task.max_ns].map(|pair| ratio(pair.as_ref()));
    let [median, p99, longest] = times;
    ["ratio".into(), blank(), blank(), median, p99, longest]
}

fn ratio<T>(pair: Option<&Pair<T>>) -> String {
    pair.and_then(|pair| pair.ratio)
        .map_or_else(|| NOTHING.into(), units::factor)
}

fn best_effort(
    cases: &[CaseComparison],
    [first, second]: [&str; 2],
    out: &mut impl Write,
) -> Result<(), Error> {
    if cases.iter().all(|case| case.best_effort.is_empty()) {
        return Ok(());
    }
    let mut table = table(&["Case", "Best-effort", "", first, second, "Ratio"], 3);
    for case in cases {
        for work in &case.best_effort {
            let mut labels = [title(case), work.thread.clone()];
            for row in best_effort_rows(work) {
                table.add_row([&labels[..], &row].concat());
                labels = Default::default();
            }
        }
    }
    print(&table, out)
}

fn best_effort_rows(work: &BestEffortComparison) -> Vec<[String; 4]> {
    let row = |what: &str, pair: Option<&Pair>, text: fn(u64) -> String| {
        let side = |of: fn(&Pair) -> u64| pair.map_or_else(|| NOTHING.into(), |p| text(of(p)));
        [
            what.into(),
            side(|pair| pair.first),
            side(|pair| pair.second),
            ratio(pair),
        ]
    };
    let core_time = Some(&work.core_time_ns_per_second);
    let accesses = work.accesses_per_second.as_ref();
    let share = |ns_per_second| units::percent(ns_per_second as f64 / 1e9);
    let bandwidth = |bytes| units::bandwidth(bytes as f64);
    let mut rows = vec![row("core time", core_time, share)];
    rows.extend(accesses.map(|pair| row("accesses", Some(pair), |n| units::millions(n as f64))));
    rows.push(row("traffic", work.bytes_per_second.as_ref(), bandwidth));
    rows
}
