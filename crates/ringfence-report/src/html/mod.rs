//! One self-contained page: works offline, from a file, and in print.

mod accuracy;
mod data;
mod glossary;
mod tables;
mod thin;

use std::io::Write;

use askama::Template;

use crate::report::Report;
use crate::rows::accuracy::{self as accuracy_rows, MeasureRow, TrajectoryRow};
use crate::rows::{self, BestEffortRow, SlackRow, TaskRow, ThroughputRow};
use crate::{Error, set_up, wording};
use data::{Group, PageData};
use tables::{Card, ClaimRow, Named, TaskTable, TimelineTable};

/// Our scripts; they are one module, in this order.
const SCRIPTS: [&str; 8] = [
    include_str!("../../assets/format.js"),
    include_str!("../../assets/boxes.js"),
    include_str!("../../assets/distributions.js"),
    include_str!("../../assets/accuracy.js"),
    include_str!("../../assets/timeline.js"),
    include_str!("../../assets/bandwidth.js"),
    include_str!("../../assets/window.js"),
    include_str!("../../assets/main.js"),
];

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    title: &'a str,
    eyebrow: String,
    headline: String,
    description: &'a str,
    damage: Option<&'a str>,
    cards: Vec<Card<'a>>,
    task_rows: Vec<TaskRow<'a>>,
    best_effort_rows: Vec<BestEffortRow<'a>>,
    throughput_rows: Vec<ThroughputRow<'a>>,
    slack_rows: Vec<SlackRow<'a>>,
    few_jobs: &'static str,
    quantile_names: &'static [&'static str],
    tasks: Vec<TaskTable<'a>>,
    trajectories: Vec<Named<'a, TrajectoryRow<'a>>>,
    measures: Vec<Named<'a, MeasureRow<'a>>>,
    few_values: &'static str,
    legend: Vec<Key>,
    timelines: Vec<TimelineTable<'a>>,
    claims: Vec<ClaimRow<'a>>,
    set_up: Vec<(String, String)>,
    glossary: &'static [(&'static str, &'static str)],
    version: &'static str,
    data: String,
    css: &'static str,
    theme_js: &'static str,
    d3: &'static str,
    d3_licence: &'static str,
    plot: &'static str,
    plot_licence: &'static str,
    scripts: String,
}

/// A colour of the timelines and what has it.
struct Key {
    name: String,
    class: String,
}

impl Key {
    /// Classes as in `page.css` and `groupClass` of `timeline.js`.
    fn of(group: Group) -> Self {
        const GANG_COLOURS: usize = 6;
        let class = match group.gang {
            Some(gang) => format!("gang-{}", gang % GANG_COLOURS + 1),
            None => format!("best-effort-{}", group.shade),
        };
        Key {
            name: group.name,
            class,
        }
    }
}

/// Writes the page.
///
/// # Errors
/// When `out` fails.
pub fn write(report: &Report, out: &mut impl Write) -> Result<(), Error> {
    let summary = &report.summary;
    let data = PageData::of(report);
    let resolutions_ns: Vec<u64> = data
        .timelines
        .iter()
        .map(|line| line.resolution_ns)
        .collect();
    let page = Page {
        title: &summary.header.scenario,
        eyebrow: set_up::title(&summary.header),
        headline: wording::headline(summary),
        description: &summary.header.description,
        damage: summary.damage.as_deref(),
        cards: summary.cases.iter().map(Card::of).collect(),
        task_rows: rows::task_rows(summary),
        best_effort_rows: rows::best_effort_rows(summary),
        throughput_rows: rows::throughput_rows(summary),
        slack_rows: rows::slack_rows(summary),
        few_jobs: crate::wording::FEW_JOBS,
        quantile_names: &tables::QUANTILES,
        tasks: tables::quantiles(summary),
        trajectories: tables::by_kind(accuracy_rows::trajectory_rows(summary), |row| {
            (row.first, row.trajectory)
        }),
        measures: tables::by_kind(accuracy_rows::measure_rows(summary), |row| {
            (row.first, row.measure)
        }),
        few_values: accuracy_rows::FEW_VALUES,
        legend: data.legend().into_iter().map(Key::of).collect(),
        timelines: tables::timelines(report, &resolutions_ns),
        claims: tables::claims(summary),
        set_up: tables::set_up(summary),
        glossary: &glossary::GLOSSARY,
        version: env!("CARGO_PKG_VERSION"),
        data: data.to_json()?,
        css: include_str!("../../assets/page.css"),
        theme_js: include_str!("../../assets/theme.js"),
        d3: include_str!("../../assets/vendor/d3-7.9.2.min.js"),
        d3_licence: include_str!("../../assets/vendor/d3-LICENSE"),
        plot: include_str!("../../assets/vendor/plot-0.6.17.umd.min.js"),
        plot_licence: include_str!("../../assets/vendor/plot-LICENSE"),
        scripts: SCRIPTS.concat(),
    };
    page.write_into(out)?;
    Ok(())
}
