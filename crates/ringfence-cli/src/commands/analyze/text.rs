//! The analysis as text.

use ringfence_analysis::duration::exact;
use ringfence_analysis::schedulability::comparison::Policy;
use ringfence_analysis::schedulability::propose::PartitionProposal;
use ringfence_analysis::schedulability::tolerance::{Fits, LargestTolerance};
use ringfence_analysis::schedulability::verdict::{
    PartitionVerdict, ShareVerdict, TaskVerdict, Unbounded,
};
use ringfence_report::text_table;
use ringfence_scenario::quantity::BANDWIDTH;

use crate::commands::analyze::{Analysis, Comparison};

/// All of it.
pub fn text(analysis: &Analysis) -> String {
    let verdict = match analysis.schedulable {
        true => "all deadlines hold",
        false => "not all deadlines hold",
    };
    let mut text = format!(
        "{}, case {} on {}: {verdict}\n",
        analysis.scenario, analysis.case, analysis.platform
    );
    for partition in &analysis.partitions {
        text += &partition_text(partition);
    }
    if !analysis.largest_tolerances.is_empty() {
        text += "\nLargest tolerance, each way, with which all deadlines of the partition hold,\nof the gangs named while the others keep theirs\n";
        for tolerance in &analysis.largest_tolerances {
            text += &tolerance_text(tolerance);
        }
    }
    if !analysis.comparison.is_empty() {
        text += "\nOther ways to schedule the same tasks, on any core and at no cost\n";
        for comparison in &analysis.comparison {
            text += &comparison_text(comparison);
        }
    }
    for proposal in &analysis.proposals {
        text += &proposal_text(proposal);
    }
    if !analysis.notes.is_empty() {
        text += "\n";
    }
    for note in &analysis.notes {
        text += &format!("note: {note}\n");
    }
    text
}

fn partition_text(partition: &PartitionVerdict) -> String {
    let mut text = format!(
        "\nPartition {}: utilisation {}, {}\n",
        partition.partition,
        percent(partition.utilization_ppm),
        share_text(&partition.share)
    );
    let header = [
        "task", "gang", "prio", "alone", "+ own", "+ others", "+ share", "bound", "deadline",
        "slack",
    ];
    let mut table = text_table::table(&header, 2);
    table.add_rows(partition.tasks.iter().map(task_row));
    text += &text_table::text(&table);
    for task in partition.tasks.iter().filter(|task| !task.is_met()) {
        text += &format!("  {}\n", failure_text(task));
    }
    text
}

fn task_row(task: &TaskVerdict) -> Vec<String> {
    let mut cells = vec![
        task.task.clone(),
        task.gang.clone(),
        task.priority.to_string(),
        exact(task.execution_ns),
    ];
    match &task.response {
        Some(response) => cells.extend([
            exact(response.own.total() - response.own.execution),
            exact(response.others.total()),
            exact(response.share_ns),
            exact(response.response_ns),
        ]),
        None => cells.extend(["", "", "", "none"].map(str::to_owned)),
    }
    cells.push(exact(task.deadline_ns));
    cells.push(match task.slack_ns {
        Some(slack_ns) if slack_ns < 0 => format!("-{}", exact(slack_ns.unsigned_abs())),
        Some(slack_ns) => exact(slack_ns.unsigned_abs()),
        None => String::new(),
    });
    cells
}

fn failure_text(task: &TaskVerdict) -> String {
    let name = &task.task;
    match (task.slack_ns, task.unbounded) {
        (Some(slack_ns), _) => format!(
            "{name} can miss its deadline by {}",
            exact(slack_ns.unsigned_abs())
        ),
        (None, Some(Unbounded::Overload { utilization_ppm })) => format!(
            "{name} has no bound: with all costs, it and what comes before it need {} of the time",
            percent(utilization_ppm)
        ),
        (None, _) => format!(
            "{name} has no bound: the traffic that it or a gang above it tolerates can hold it \
             up without end"
        ),
    }
}

fn share_text(share: &ShareVerdict) -> String {
    match share {
        ShareVerdict::Off => "no share limit".into(),
        ShareVerdict::NeverReached { busy_ns, limit_ns } => format!(
            "share limit never reached (at most {} of {} a window)",
            exact(*busy_ns),
            exact(*limit_ns)
        ),
        ShareVerdict::MayBeReached {
            limit_ns,
            window_ns,
        } => format!(
            "share limit of {} in {} may be reached",
            exact(*limit_ns),
            exact(*window_ns)
        ),
    }
}

fn tolerance_text(tolerance: &LargestTolerance) -> String {
    let gangs = tolerance.gangs.join(", ");
    match tolerance.fits {
        Fits::Nothing => format!("  {gangs}: none; not even that saves all deadlines\n"),
        Fits::UpTo {
            lines_per_period: 0,
            ..
        } => format!("  {gangs}: none; best-effort work has to stand still beside them\n"),
        Fits::UpTo {
            lines_per_period,
            bytes_per_second,
        } => format!(
            "  {gangs}: {} ({lines_per_period} lines a period)\n",
            BANDWIDTH.format(bytes_per_second)
        ),
        Fits::Everything => format!("  {gangs}: all that the memory can move\n"),
    }
}

fn comparison_text(comparison: &Comparison) -> String {
    let policy = match comparison.policy {
        Policy::GlobalFixedPriority => "global fixed priority",
        Policy::GlobalGangFixedPriority => "global gang fixed priority",
    };
    let times = match comparison.slowed_by_others {
        true => "slowed down by all others",
        false => "as if alone",
    };
    let bounds = comparison
        .tasks
        .iter()
        .zip(&comparison.verdict.responses_ns);
    let bounds: Vec<String> = bounds
        .map(|(task, response_ns)| match response_ns {
            Some(response_ns) => format!("{task} {}", exact(*response_ns)),
            None => format!("{task} not within its deadline"),
        })
        .collect();
    let verdict = match comparison.verdict.schedulable {
        true => "schedulable",
        false => "not known to be schedulable",
    };
    format!(
        "  {}, {policy}, execution times {times}: {verdict} ({})\n",
        comparison.partition,
        bounds.join(", ")
    )
}

fn proposal_text(proposal: &PartitionProposal) -> String {
    let partition = &proposal.partition;
    let Some(found) = &proposal.proposal else {
        return format!("\nVirtual gangs for {partition}: none with at most 99 priorities\n");
    };
    let searched = match found.exact {
        true => "of all compositions",
        false => "of those that a greedy search tried",
    };
    let mut text = match found.schedulable {
        true => format!(
            "\nVirtual gangs for {partition}: all deadlines hold, and least utilisation {searched}: {}\n",
            percent(found.utilization_ppm)
        ),
        false => format!(
            "\nVirtual gangs for {partition}: no composition {searched_out} meets all deadlines; least utilisation {}\n",
            percent(found.utilization_ppm),
            searched_out = searched.trim_start_matches("of ")
        ),
    };
    for gang in &found.gangs {
        let tasks = gang.tasks.iter();
        let tasks: Vec<String> = tasks
            .map(|task| format!("{} ({})", task.task, exact(task.execution_ns)))
            .collect();
        text += &format!("  priority {}: {}\n", gang.priority, tasks.join(" + "));
    }
    text
}

/// A share of time, in hundredths of a percent, rounded down.
fn percent(ppm: u64) -> String {
    format!("{}.{:02} %", ppm / 10_000, ppm % 10_000 / 100)
}
