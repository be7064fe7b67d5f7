//! Tables for spreadsheets and scripts. Units are in the column names; the
//! column `csv_version` is raised whenever a column changes its meaning.

mod accuracy;

use std::io::Write;

use ringfence_analysis::case::{CaseRun, JobEnd};
use ringfence_record::event::{OffReason, UnthrottleReason};
use serde::Serialize;

use crate::Error;
use crate::report::Report;

/// Version of the columns.
pub const VERSION: u32 = 1;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// A row for each job.
    Jobs,
    /// A row for each stretch of time in which a thread was on a core, a core
    /// was throttled, a gang was active or a budget was in force.
    Intervals,
    /// A row for each sample of a core's totals.
    Counters,
    /// A row for each position of a trajectory, and for each true one.
    Positions,
    /// A row for each value that was measured.
    Measures,
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 5] = [
        Table::Jobs,
        Table::Intervals,
        Table::Counters,
        Table::Positions,
        Table::Measures,
    ];

    /// Name, for files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Table::Jobs => "jobs",
            Table::Intervals => "intervals",
            Table::Counters => "counters",
            Table::Positions => "positions",
            Table::Measures => "measures",
        }
    }
}

/// Writes one table of all cases that can be relied on.
///
/// # Errors
/// When `out` fails.
pub fn write(report: &Report, table: Table, out: &mut impl Write) -> Result<(), Error> {
    let mut writer = csv::Writer::from_writer(out);
    for (run, _) in report.readable_cases() {
        match table {
            Table::Jobs => jobs(run, &mut writer)?,
            Table::Intervals => intervals(run, &mut writer)?,
            Table::Counters => counters(run, &mut writer)?,
            Table::Positions => accuracy::positions(run, &mut writer)?,
            Table::Measures => accuracy::measures(run, &mut writer)?,
        }
    }
    writer.flush()?;
    Ok(())
}

#[derive(Serialize)]
struct JobRow<'a> {
    csv_version: u32,
    case: &'a str,
    task: &'a str,
    job: usize,
    released_ns: u64,
    started_ns: Option<u64>,
    finished_ns: Option<u64>,
    dropped_ns: Option<u64>,
    response_ns: Option<u64>,
    deadline_ns: u64,
    missed: bool,
}

fn jobs(run: &CaseRun, out: &mut csv::Writer<impl Write>) -> Result<(), Error> {
    for (task, jobs) in run.case.tasks.iter().zip(&run.jobs) {
        for (number, job) in jobs.iter().enumerate() {
            let (finished_ns, dropped_ns) = match job.end {
                JobEnd::Finished(time_ns) => (Some(time_ns), None),
                JobEnd::Dropped(time_ns) => (None, Some(time_ns)),
                JobEnd::Unfinished => (None, None),
            };
            out.serialize(JobRow {
                csv_version: VERSION,
                case: &run.case.name,
                task: &task.name,
                job: number,
                released_ns: job.released_ns,
                started_ns: job.started_ns,
                finished_ns,
                dropped_ns,
                response_ns: job.response_ns(),
                deadline_ns: job.deadline_ns(task),
                missed: job.missed(task, run.end_ns),
            })?;
        }
    }
    Ok(())
}

/// Columns that do not fit a kind of interval stay empty.
#[derive(Default, Serialize)]
struct IntervalRow<'a> {
    csv_version: u32,
    case: &'a str,
    kind: &'static str,
    from_ns: u64,
    to_ns: u64,
    core: Option<usize>,
    thread: Option<&'a str>,
    partition: Option<&'a str>,
    priority: Option<u8>,
    read_budget_bytes: Option<u64>,
    write_budget_bytes: Option<u64>,
    /// Why it ended.
    end: Option<&'static str>,
}

fn intervals(run: &CaseRun, out: &mut csv::Writer<impl Write>) -> Result<(), Error> {
    let row = |kind, from_ns, to_ns| IntervalRow {
        csv_version: VERSION,
        case: &run.case.name,
        kind,
        from_ns,
        to_ns,
        ..IntervalRow::default()
    };
    for (number, core) in run.cores.iter().enumerate() {
        let core_row = |kind, from_ns, to_ns| IntervalRow {
            core: Some(number),
            ..row(kind, from_ns, to_ns)
        };
        for on in &core.occupations {
            out.serialize(IntervalRow {
                thread: Some(run.thread_name(on.thread)),
                end: on.off.map(off_reason),
                ..core_row("thread", on.from_ns, on.to_ns)
            })?;
        }
        for throttle in &core.throttles {
            out.serialize(IntervalRow {
                end: throttle.reason.map(unthrottle_reason),
                ..core_row("throttled", throttle.from_ns, throttle.to_ns)
            })?;
        }
        for budget in &core.budgets {
            out.serialize(IntervalRow {
                read_budget_bytes: budget.read_bytes,
                write_budget_bytes: budget.write_bytes,
                ..core_row("budget", budget.from_ns, budget.to_ns)
            })?;
        }
    }
    for (partition, actives) in run.case.partitions.iter().zip(&run.partitions) {
        for active in actives.iter().filter(|active| active.priority.is_some()) {
            out.serialize(IntervalRow {
                partition: Some(&partition.name),
                priority: active.priority,
                ..row("gang-active", active.from_ns, active.to_ns)
            })?;
        }
    }
    Ok(())
}

fn off_reason(reason: OffReason) -> &'static str {
    match reason {
        OffReason::Preempted => "preempted",
        OffReason::Sleeping => "sleeping",
        OffReason::Throttled => "throttled",
        OffReason::Ended => "ended",
    }
}

fn unthrottle_reason(reason: UnthrottleReason) -> &'static str {
    match reason {
        UnthrottleReason::Refill => "refill",
        UnthrottleReason::NoGang => "no-gang",
        UnthrottleReason::Loan => "loan",
    }
}

#[derive(Serialize)]
struct CounterRow<'a> {
    csv_version: u32,
    case: &'a str,
    core: usize,
    time_ns: u64,
    read_bytes: u64,
    write_bytes: u64,
    best_effort_read_bytes: u64,
    best_effort_write_bytes: u64,
    llc_accesses: u64,
    llc_misses: u64,
}

fn counters(run: &CaseRun, out: &mut csv::Writer<impl Write>) -> Result<(), Error> {
    for (number, core) in run.cores.iter().enumerate() {
        for sample in &core.samples {
            let totals = &sample.counters;
            out.serialize(CounterRow {
                csv_version: VERSION,
                case: &run.case.name,
                core: number,
                time_ns: sample.time_ns,
                read_bytes: totals.read_bytes,
                write_bytes: totals.write_bytes,
                best_effort_read_bytes: totals.best_effort_read_bytes,
                best_effort_write_bytes: totals.best_effort_write_bytes,
                llc_accesses: totals.llc_accesses,
                llc_misses: totals.llc_misses,
            })?;
        }
    }
    Ok(())
}
