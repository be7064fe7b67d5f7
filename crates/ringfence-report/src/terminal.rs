//! A summary for the terminal: the verdict first, then a table.
//!
//! The text is coloured. Write it to `anstream::stdout()`, which takes the
//! colours out where they are not wanted: not a terminal, or `NO_COLOR` is set.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use ringfence_analysis::cache_share::ranges;
use ringfence_analysis::summary::{CaseSummary, Summary};
use ringfence_analysis::verdict::{ClaimKind, Outcome};
use ringfence_record::event::Header;

use crate::Error;
use crate::report::Report;
use crate::rows;
use crate::set_up;
use crate::text_table::{print, table};
use crate::wording::{self, Mark};

/// Sentences go to a new line before they pass this column.
const LINE_COLUMNS: usize = 80;

/// Breaches shown for each claim that does not hold.
const EVIDENCE_LINES: usize = 3;

/// Writes the summary.
///
/// # Errors
/// When `out` fails.
pub fn write(report: &Report, out: &mut impl Write) -> Result<(), Error> {
    let summary = &report.summary;
    let bold = Style::new().bold();
    let mut headline = wording::headline(summary);
    if headline.chars().count() > LINE_COLUMNS {
        headline = headline.replace("; ", ";\n");
    }
    writeln!(out, "{bold}{headline}{bold:#}\n")?;
    if let Some(damage) = &summary.damage {
        let style = style(Mark::Missed);
        writeln!(out, "{style}{damage}{style:#}\n")?;
    }
    verdicts(summary, out)?;
    tasks(summary, out)?;
    slack(summary, out)?;
    best_effort(summary, out)?;
    throughput(summary, out)?;
    trajectories(summary, out)?;
    measures(summary, out)?;
    for case in &summary.cases {
        breaches(case, out)?;
    }
    cache_shares(summary, out)?;
    made_from(&summary.header, out)
}

/// Who had which share of the last-level cache.
fn cache_shares(summary: &Summary, out: &mut impl Write) -> Result<(), Error> {
    let allocating = summary
        .cases
        .iter()
        .filter(|case| !case.cache_shares.is_empty());
    let mut table = table(&["Share of the cache", "Case", "Ways", "Colours", "Of"], 5);
    for case in allocating {
        for share in &case.cache_shares {
            table.add_row([
                share.class_of_service.clone(),
                case.name.clone(),
                ranges(&share.ways),
                ranges(&share.colours),
                share.work.join(", "),
            ]);
        }
    }
    match table.is_empty() {
        true => Ok(()),
        false => print(&table, out),
    }
}

/// What ran, changed how, from which files.
fn made_from(header: &Header, out: &mut impl Write) -> Result<(), Error> {
    writeln!(out, "{}, seed {}", set_up::title(header), header.seed)?;
    if !header.overrides.is_empty() {
        writeln!(out, "changed by {}", header.flags())?;
    }
    if header.inputs.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut table = table(&["Made from", "", "Bytes", "SHA-256"], 2);
    for input in &header.inputs {
        table.add_row([
            set_up::input_name(input),
            set_up::input_path(input).into(),
            input.size_bytes.to_string(),
            format!("{:.12}", input.sha256),
        ]);
    }
    print(&table, out)
}

fn style(mark: Mark) -> Style {
    let style = Style::new();
    match mark {
        Mark::Kept => style.fg_color(Some(AnsiColor::Green.into())),
        Mark::Missed => style.fg_color(Some(AnsiColor::Red.into())).bold(),
        Mark::Met | Mark::Open => style,
    }
}

fn verdicts(summary: &Summary, out: &mut impl Write) -> Result<(), Error> {
    let width = summary
        .cases
        .iter()
        .map(|case| case.name.chars().count())
        .max()
        .unwrap_or(0);
    for case in &summary.cases {
        let mark = Mark::of_case(case);
        let style = style(mark);
        write!(out, "{style}{} {:width$}{style:#}", mark.sign(), case.name)?;
        let mut column = width + 2;
        for sentence in wording::sentences(case) {
            let length = sentence.chars().count() + 2;
            if column + length > LINE_COLUMNS && column > width + 2 {
                write!(out, "\n{:1$}", "", width + 2)?;
                column = width + 2;
            }
            write!(out, "  {sentence}")?;
            column += length;
        }
        writeln!(out)?;
    }
    writeln!(out)?;
    Ok(())
}

fn tasks(summary: &Summary, out: &mut impl Write) -> Result<(), Error> {
    let rows = rows::task_rows(summary);
    if rows.is_empty() {
        return Ok(());
    }
    let header = [
        "Task", "Case", "Missed", "Median", "99 %", "Longest", "Deadline", "Slowdown",
    ];
    let mut table = table(&header, 2);
    for row in rows {
        let task = if row.first { row.task } else { "" };
        let missed = format!("{} of {}", row.missed, row.jobs);
        table.add_row([
            task,
            row.case,
            &missed,
            &row.median,
            &row.p99,
            &row.longest,
            &row.deadline,
            &row.slowdown,
        ]);
    }
    print(&table, out)?;
    writeln!(out, "{}\n", wording::FEW_JOBS)?;
    Ok(())
}

fn slack(summary: &Summary, out: &mut impl Write) -> Result<(), Error> {
    let rows = rows::slack_rows(summary);
    if rows.is_empty() {
        return Ok(());
    }
    let header = [
        "Left by real-time work",
        "Core time",
        "Of all cores",
        "Each hyperperiod",
        "Of",
    ];
    let mut table = table(&header, 1);
    for row in rows {
        table.add_row([
            row.case,
            &row.left,
            &row.share,
            &row.per_hyperperiod,
            &row.hyperperiod,
        ]);
    }
    print(&table, out)
}

fn best_effort(summary: &Summary, out: &mut impl Write) -> Result<(), Error> {
    let rows = rows::best_effort_rows(summary);
    if rows.is_empty() {
        return Ok(());
    }
    let header = [
        "Best-effort",
        "Core time",
        "Of all cores",
        "Read",
        "Written",
        "Throttled",
    ];
    let mut table = table(&header, 1);
    for row in rows {
        table.add_row([
            row.case,
            &row.core_time,
            &row.share,
            &row.read,
            &row.written,
            &row.throttled,
        ]);
    }
    print(&table, out)
}

fn throughput(summary: &Summary, out: &mut impl Write) -> Result<(), Error> {
    let rows = rows::throughput_rows(summary);
    if rows.is_empty() {
        return Ok(());
    }
    let header = ["Throughput", "Case", "Core time", "Accesses", "Traffic"];
    let mut table = table(&header, 2);
    for row in rows {
        let work = if row.first { row.work } else { "" };
        table.add_row([work, row.case, &row.core_time, &row.accesses, &row.traffic]);
    }
    print(&table, out)
}

fn trajectories(summary: &Summary, out: &mut impl Write) -> Result<(), Error> {
    let rows = rows::accuracy::trajectory_rows(summary);
    if rows.is_empty() {
        return Ok(());
    }
    let header = [
        "Errors of",
        "Case",
        "Median",
        "RMS",
        "95 %",
        "Largest",
        "Median at most",
    ];
    let mut table = table(&header, 2);
    for row in rows {
        let name = if row.first { row.trajectory } else { "" };
        table.add_row([
            name,
            row.case,
            &row.median,
            &row.root_mean_square,
            &row.p95,
            &row.largest,
            &row.limit,
        ]);
    }
    print(&table, out)
}

fn measures(summary: &Summary, out: &mut impl Write) -> Result<(), Error> {
    let rows = rows::accuracy::measure_rows(summary);
    if rows.is_empty() {
        return Ok(());
    }
    let header = [
        "Measured",
        "Case",
        "Above limit",
        "Smallest",
        "Median",
        "Largest",
        "At most",
    ];
    let mut table = table(&header, 2);
    for row in rows {
        let name = if row.first { row.measure } else { "" };
        let above = match row.above_limit {
            Some(above) => format!("{above} of {}", row.values),
            None => rows::NOTHING.into(),
        };
        table.add_row([
            name,
            row.case,
            &above,
            &row.smallest,
            &row.median,
            &row.largest,
            &row.limit,
        ]);
    }
    print(&table, out)
}

/// Evidence for what a case claims and does not hold; misses and errors of a case
/// that claims no isolation are what it is there to show.
fn breaches(case: &CaseSummary, out: &mut impl Write) -> Result<(), Error> {
    let failed = case.verdict.claims.iter().filter(|claim| {
        let is_of_results = matches!(claim.kind, ClaimKind::Deadlines | ClaimKind::Accuracy);
        claim.outcome == Outcome::Fail && (!is_of_results || case.verdict.claims_isolation)
    });
    for claim in failed {
        writeln!(
            out,
            "{}: {}: {}",
            case.name,
            wording::claim_name(claim.kind),
            wording::outcome(claim)
        )?;
        for breach in claim.evidence.iter().take(EVIDENCE_LINES) {
            writeln!(out, "  {}", wording::breach(breach))?;
        }
        let more = claim.breaches.saturating_sub(EVIDENCE_LINES as u64);
        if more > 0 {
            writeln!(out, "  and {more} more")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
