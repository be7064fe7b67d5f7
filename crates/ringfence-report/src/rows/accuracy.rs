//! Errors of trajectories, and measured figures.

use ringfence_analysis::accuracy::{MeasureStatistics, TrajectoryStatistics};
use ringfence_analysis::spread::Spread;
use ringfence_analysis::summary::{CaseSummary, Summary};
use ringfence_record::accuracy::Quantity;

use super::{NOTHING, each_once};
use crate::units::quantity_in_column;
use crate::wording::Mark;

/// Why a percentile is left out.
pub const FEW_VALUES: &str =
    "95 %: only where there are 20 values or more; of fewer it would be the largest.";

/// Errors of a trajectory in a case.
pub struct TrajectoryRow<'a> {
    /// First row of its trajectory.
    pub first: bool,
    pub trajectory: &'a str,
    pub case: &'a str,
    pub mark: Mark,
    /// Positions that were compared, of those found.
    pub compared: String,
    pub median: String,
    pub root_mean_square: String,
    pub p95: String,
    pub largest: String,
    pub limit: String,
}

/// Values of a measure in a case.
pub struct MeasureRow<'a> {
    /// First row of its measure.
    pub first: bool,
    pub measure: &'a str,
    pub case: &'a str,
    pub mark: Mark,
    pub values: u64,
    /// `None` where there is no limit.
    pub above_limit: Option<u64>,
    pub smallest: String,
    pub median: String,
    pub p95: String,
    pub largest: String,
    pub limit: String,
}

/// The names of all trajectories.
pub fn trajectory_names(summary: &Summary) -> Vec<&str> {
    let all = summary.cases.iter().flat_map(trajectories);
    each_once(all.map(|one| one.trajectory.as_str()))
}

/// What is measured: a name and a quantity, as nothing keeps a record from giving two
/// quantities one name.
pub fn measured(summary: &Summary) -> Vec<(&str, Quantity)> {
    let all = summary.cases.iter().flat_map(measures);
    each_once(all.map(|one| (one.measure.as_str(), one.quantity)))
}

/// The trajectories of a case that can be relied on.
pub fn trajectories(case: &CaseSummary) -> &[TrajectoryStatistics] {
    let statistics = case.statistics.as_ref();
    statistics.map_or(&[], |statistics| &statistics.trajectories)
}

/// The measures of a case that can be relied on.
pub fn measures(case: &CaseSummary) -> &[MeasureStatistics] {
    let statistics = case.statistics.as_ref();
    statistics.map_or(&[], |statistics| &statistics.measures)
}

/// All trajectories in all cases, grouped by trajectory.
pub fn trajectory_rows(summary: &Summary) -> Vec<TrajectoryRow<'_>> {
    let mut rows = Vec::new();
    for name in trajectory_names(summary) {
        let before = rows.len();
        for case in &summary.cases {
            let found = trajectories(case)
                .iter()
                .filter(|one| one.trajectory == name);
            rows.extend(found.map(|one| TrajectoryRow::of(case, one)));
        }
        rows[before].first = true;
    }
    rows
}

/// All measures in all cases, grouped by measure.
pub fn measure_rows(summary: &Summary) -> Vec<MeasureRow<'_>> {
    let mut rows = Vec::new();
    for what in measured(summary) {
        let before = rows.len();
        for case in &summary.cases {
            let found = measures(case)
                .iter()
                .filter(|one| (one.measure.as_str(), one.quantity) == what);
            rows.extend(found.map(|one| MeasureRow::of(case, one)));
        }
        rows[before].first = true;
    }
    rows
}

impl<'a> TrajectoryRow<'a> {
    fn of(case: &'a CaseSummary, trajectory: &'a TrajectoryStatistics) -> Self {
        let error = trajectory.error_um.as_ref();
        let limit = trajectory.median_limit_um.map(clamped);
        let median = error.map(|error| error.median);
        TrajectoryRow {
            first: false,
            trajectory: &trajectory.trajectory,
            case: &case.name,
            mark: mark(
                limit.is_some() && median.is_some(),
                limit.zip(median).is_some_and(|(limit, it)| it > limit),
            ),
            compared: format!("{} of {}", trajectory.compared, trajectory.positions),
            median: length(median),
            root_mean_square: length(trajectory.error_root_mean_square_um.map(clamped)),
            p95: length(error.and_then(p95)),
            largest: length(error.map(|error| error.max)),
            limit: length(limit),
        }
    }
}

impl<'a> MeasureRow<'a> {
    fn of(case: &'a CaseSummary, measure: &'a MeasureStatistics) -> Self {
        let values = measure.values.as_ref();
        let cell = |value: Option<i64>| cell(measure.quantity, value);
        MeasureRow {
            first: false,
            measure: &measure.measure,
            case: &case.name,
            mark: mark(
                measure.limit.is_some() && values.is_some(),
                measure.above_limit > 0,
            ),
            values: values.map_or(0, |values| values.count),
            above_limit: measure.limit.map(|_| measure.above_limit),
            smallest: cell(values.map(|values| values.min)),
            median: cell(values.map(|values| values.median)),
            p95: cell(values.and_then(p95)),
            largest: cell(values.map(|values| values.max)),
            limit: cell(measure.limit),
        }
    }
}

fn mark(judged: bool, missed: bool) -> Mark {
    match (judged, missed) {
        (false, _) => Mark::Open,
        (true, false) => Mark::Kept,
        (true, true) => Mark::Missed,
    }
}

/// Unless it would only repeat the largest value.
fn p95(spread: &Spread) -> Option<i64> {
    spread.tells_p95().then_some(spread.p95)
}

fn clamped(um: u64) -> i64 {
    i64::try_from(um).unwrap_or(i64::MAX)
}

fn length(um: Option<i64>) -> String {
    cell(Quantity::Length, um)
}

fn cell(quantity: Quantity, value: Option<i64>) -> String {
    value.map_or_else(
        || NOTHING.into(),
        |value| quantity_in_column(quantity, value),
    )
}
