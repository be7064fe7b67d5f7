//! The words and tables of the page.

use ringfence_analysis::statistics::CoreStatistics;
use ringfence_analysis::summary::{CaseSummary, Summary};
use ringfence_analysis::verdict::{ClaimResult, Outcome};

use super::data::{MOST_JOBS, task_names};
use crate::report::Report;
use crate::rows::{percentile, tasks};
use crate::set_up;
use crate::units::{self, count};
use crate::wording::{self, Mark};

/// The verdict on a case.
pub struct Card<'a> {
    pub case: &'a str,
    pub mark: Mark,
    pub sentences: Vec<String>,
}

impl<'a> Card<'a> {
    pub fn of(case: &'a CaseSummary) -> Self {
        Card {
            case: &case.name,
            mark: Mark::of_case(case),
            sentences: wording::sentences(case),
        }
    }
}

/// Headings of [`QuantileRow::values`].
pub const QUANTILES: [&str; 8] = [
    "Jobs finished",
    "Shortest",
    "25 %",
    "Median",
    "75 %",
    "95 %",
    "99 %",
    "Longest",
];

/// A task's response times in every case.
pub struct TaskTable<'a> {
    pub name: &'a str,
    pub quantiles: Vec<QuantileRow<'a>>,
}

pub struct QuantileRow<'a> {
    pub case: &'a str,
    pub values: [String; QUANTILES.len()],
}

pub fn quantiles(summary: &Summary) -> Vec<TaskTable<'_>> {
    let table = |name| {
        let rows = summary.cases.iter().filter_map(|case| {
            let response = tasks(case)
                .find(|task| task.task == name)?
                .response
                .as_ref()?;
            let values = [
                response.count.to_string(),
                units::duration_in_column(response.min_ns),
                units::duration_in_column(response.box_plot.lower_quartile_ns),
                units::duration_in_column(response.median_ns),
                units::duration_in_column(response.box_plot.upper_quartile_ns),
                percentile(response, 95, response.p95_ns),
                percentile(response, 99, response.p99_ns),
                units::duration_in_column(response.max_ns),
            ];
            Some(QuantileRow {
                case: &case.name,
                values,
            })
        });
        TaskTable {
            name,
            quantiles: rows.collect(),
        }
    };
    task_names(summary).into_iter().map(table).collect()
}

/// Rows of one name, from one that is the first of its kind to the next.
pub struct Named<'a, Row> {
    pub name: &'a str,
    pub rows: Vec<Row>,
}

/// Groups rows; `of` says whether one is the first of its kind, and its name.
pub fn by_kind<'a, Row>(rows: Vec<Row>, of: fn(&Row) -> (bool, &'a str)) -> Vec<Named<'a, Row>> {
    let mut tables: Vec<Named<'a, Row>> = Vec::new();
    for row in rows {
        match (of(&row), tables.last_mut()) {
            ((false, _), Some(last)) => last.rows.push(row),
            ((_, name), _) => tables.push(Named {
                name,
                rows: vec![row],
            }),
        }
    }
    tables
}

/// What stands beside a case's timeline.
pub struct TimelineTable<'a> {
    pub name: &'a str,
    pub has_traffic: bool,
    /// Length of a step of the bandwidth chart.
    pub step: String,
    pub notes: Vec<String>,
    pub cores: Vec<CoreRow>,
}

pub struct CoreRow {
    pub core: u16,
    pub real_time: String,
    pub best_effort: String,
    pub idle: String,
    pub throttled: String,
    pub read: String,
    pub written: String,
}

/// One for each of the page's timelines, in their order.
pub fn timelines<'a>(report: &'a Report, resolutions_ns: &[u64]) -> Vec<TimelineTable<'a>> {
    let cases = report.cases_with_course().zip(resolutions_ns);
    cases
        .map(|((run, summary), &resolution_ns)| {
            let cores = summary.statistics.as_ref().map_or(&[][..], |s| &s.cores);
            let steps = cores.iter().flat_map(|core| &core.bandwidth);
            let step_ns = steps.map(|point| point.to_ns - point.from_ns).max();
            let mut notes = Vec::new();
            if resolution_ns > 0 {
                notes.push(format!(
                    "Stretches shorter than {} are drawn merged with their neighbours; the Perfetto trace has all of them.",
                    units::duration(resolution_ns)
                ));
            }
            if run.jobs.iter().any(|jobs| jobs.len() > MOST_JOBS) {
                notes.push(format!(
                    "The first {MOST_JOBS} jobs of each task are marked; the Perfetto trace has all of them."
                ));
            }
            let messages = run.messages.iter();
            notes.extend(messages.map(|m| format!("{}: {}", units::duration(m.time_ns), m.text)));
            TimelineTable {
                name: &summary.name,
                has_traffic: step_ns.is_some(),
                step: units::duration(step_ns.unwrap_or(0)),
                notes,
                cores: cores.iter().map(|core| CoreRow::of(core, run.end_ns)).collect(),
            }
        })
        .collect()
}

impl CoreRow {
    fn of(core: &CoreStatistics, end_ns: u64) -> Self {
        let share = |ns: u64| units::percent(ns as f64 / end_ns.max(1) as f64);
        let rate = |bytes: u64| units::bandwidth(bytes as f64 * 1e9 / end_ns.max(1) as f64);
        CoreRow {
            core: core.core,
            real_time: share(core.real_time_ns),
            best_effort: share(core.best_effort_ns),
            idle: share(core.idle_ns),
            throttled: share(core.throttled_ns),
            read: rate(core.read_bytes),
            written: rate(core.write_bytes),
        }
    }
}

/// A claim of a case.
pub struct ClaimRow<'a> {
    /// First row of its case.
    pub first: bool,
    pub case: &'a str,
    pub claim: &'static str,
    pub mark: Mark,
    pub result: String,
    pub checked: String,
    pub note: Option<&'a str>,
    /// Heading of the breaches.
    pub found: String,
    pub breaches: Vec<String>,
}

/// What every case claims, and what it would have broken had it claimed more.
pub fn claims(summary: &Summary) -> Vec<ClaimRow<'_>> {
    summary
        .cases
        .iter()
        .flat_map(|case| {
            let claims = case.verdict.claims.iter();
            let told = claims.filter(|c| c.outcome != Outcome::NotClaimed || c.breaches > 0);
            told.enumerate()
                .map(|(index, claim)| ClaimRow::of(case, claim, index == 0))
        })
        .collect()
}

impl<'a> ClaimRow<'a> {
    fn of(case: &'a CaseSummary, claim: &'a ClaimResult, first: bool) -> Self {
        let listed = claim.evidence.len() as u64;
        let found = match claim.breaches {
            breaches if breaches > listed => format!("{breaches} found, the first {listed}"),
            breaches => format!("{breaches} found"),
        };
        ClaimRow {
            first,
            case: &case.name,
            claim: wording::claim_name(claim.kind),
            mark: Mark::of_claim(claim),
            result: wording::outcome(claim),
            checked: format!("{} checked", wording::checked(claim)),
            note: claim.note.as_deref(),
            found,
            breaches: claim.evidence.iter().map(wording::breach).collect(),
        }
    }
}

/// Where the record comes from, and who had which share of the last-level cache.
pub fn set_up(summary: &Summary) -> Vec<(String, String)> {
    let header = &summary.header;
    let kernel = header.kernel.as_deref().unwrap_or("none: a simulation");
    let seed = header.seed.to_string();
    let changed = match header.overrides.as_slice() {
        [] => "nothing".to_owned(),
        _ => header.flags(),
    };
    let recorder = format!("ringfence {}", header.ringfence_version);
    let reporter = format!("ringfence {}", env!("CARGO_PKG_VERSION"));
    let of_header = [
        ("Scenario", header.scenario.clone()),
        ("Platform", header.platform.clone()),
        ("Target", header.target.clone()),
        ("Kernel", kernel.into()),
        ("Seed", seed),
        ("Changed by the command line", changed),
    ];
    let of_inputs = header.inputs.iter().map(|input| {
        let path = set_up::input_path(input);
        let size = count(input.size_bytes, "byte");
        let text = format!("{path}; {size}, SHA-256 {}", input.sha256);
        (set_up::input_name(input), text)
    });
    let of_cases = summary.cases.iter().flat_map(|case| {
        let name = format!("Share of the cache in {}", case.name);
        let shares = case.cache_shares.iter();
        shares.map(move |share| (name.clone(), share.to_string()))
    });
    let of_programs = [("Recorded by", recorder), ("Reported by", reporter)];
    let named = |(name, text): (&str, String)| (name.to_owned(), text);
    of_header
        .map(named)
        .into_iter()
        .chain(of_inputs)
        .chain(of_cases)
        .chain(of_programs.map(named))
        .collect()
}
