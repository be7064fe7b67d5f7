//! How right the work was, in two cases.

use ringfence_record::accuracy::Quantity;
use serde::{Deserialize, Serialize};

use super::{Better, Pair, better_of, compare_sizes};
use crate::accuracy::{MeasureStatistics, TrajectoryStatistics};
use crate::differences::{Difference, by_key, push_difference};
use crate::quantity::exact;
use crate::spread::Spread;
use crate::statistics::CaseStatistics;

/// A trajectory in two cases. Errors are `None` when a side has no position that
/// could be compared with a true one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrajectoryComparison {
    /// Name.
    pub trajectory: String,
    /// Which is better: the smaller median of the error, then the smaller
    /// maximum. A side without errors is worse; errors that differ by less than
    /// [`NOTICEABLE_PERCENT`](super::NOTICEABLE_PERCENT) count as equal.
    pub better: Better,
    /// Positions that were found.
    pub positions: Pair,
    /// Those that were compared with the true ones.
    pub compared: Pair,
    /// Median error.
    pub median_um: Option<Pair<i64>>,
    /// Root of the mean square of the errors.
    pub root_mean_square_um: Option<Pair>,
    /// 95th percentile of the error; `None` also when a side has fewer than 20
    /// errors, of which it would be the largest.
    pub p95_um: Option<Pair<i64>>,
    /// Largest error.
    pub max_um: Option<Pair<i64>>,
}

/// A measure in two cases. Values are `None` when a side has none; their unit is
/// that of the quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasureComparison {
    /// Name.
    pub measure: String,
    /// Of what it is, on both sides.
    pub quantity: Quantity,
    /// Unit of the values, as keys have it: `um`, `ns`, `millionths` or `things`.
    pub unit: String,
    /// Which is better: the smaller share of values above the limit, then the
    /// smaller median. `None` unless both sides have a limit: without one nobody
    /// said that less is better.
    pub better: Option<Better>,
    /// Number of values.
    pub values: Pair,
    /// Values above the limit; `None` unless both sides have one.
    pub above_limit: Option<Pair>,
    /// Median.
    pub median: Option<Pair<i64>>,
    /// 95th percentile; `None` also when a side has fewer than 20 values.
    pub p95: Option<Pair<i64>>,
    /// Largest.
    pub max: Option<Pair<i64>>,
}

/// Trajectories of equal name.
pub(super) fn trajectories(a: &CaseStatistics, b: &CaseStatistics) -> Vec<TrajectoryComparison> {
    let pairs = matching(&a.trajectories, &b.trajectories, |one| &one.trajectory);
    pairs
        .map(|(a, b)| TrajectoryComparison {
            trajectory: a.trajectory.clone(),
            better: better_trajectory(a, b),
            positions: Pair::of(a.positions, b.positions),
            compared: Pair::of(a.compared, b.compared),
            median_um: of_both(&a.error_um, &b.error_um, |error| error.median),
            root_mean_square_um: a
                .error_root_mean_square_um
                .zip(b.error_root_mean_square_um)
                .map(|(a, b)| Pair::of(a, b)),
            p95_um: percentile(&a.error_um, &b.error_um),
            max_um: of_both(&a.error_um, &b.error_um, |error| error.max),
        })
        .collect()
}

/// Measures of equal name and quantity.
pub(super) fn measures(a: &CaseStatistics, b: &CaseStatistics) -> Vec<MeasureComparison> {
    let count = |values: &Option<Spread>| values.as_ref().map_or(0, |values| values.count);
    let pairs = matching(&a.measures, &b.measures, |one| &one.measure);
    pairs
        .filter(|(a, b)| a.quantity == b.quantity)
        .map(|(a, b)| MeasureComparison {
            measure: a.measure.clone(),
            quantity: a.quantity,
            unit: a.unit.clone(),
            better: both_limited(a, b).then(|| better_measure(a, b)),
            values: Pair::of(count(&a.values), count(&b.values)),
            above_limit: both_limited(a, b).then(|| Pair::of(a.above_limit, b.above_limit)),
            median: of_both(&a.values, &b.values, |values| values.median),
            p95: percentile(&a.values, &b.values),
            max: of_both(&a.values, &b.values, |values| values.max),
        })
        .collect()
}

/// What is not the same about what was asked for and what was measured.
pub(super) fn differences(a: &CaseStatistics, b: &CaseStatistics) -> Vec<Difference> {
    let mut found = Vec::new();
    let limit = |quantity, limit: Option<i64>| {
        limit.map_or_else(|| "none".into(), |limit| exact(quantity, limit))
    };
    for (a, b) in matching(&a.trajectories, &b.trajectories, |one| &one.trajectory) {
        let what = format!("limit of the median error of '{}'", a.trajectory);
        let limit = |one: &TrajectoryStatistics| {
            let um = one.median_limit_um;
            limit(
                Quantity::Length,
                um.map(|um| i64::try_from(um).unwrap_or(i64::MAX)),
            )
        };
        push_difference(&mut found, &what, limit(a), limit(b));
    }
    for (a, b) in matching(&a.measures, &b.measures, |one| &one.measure) {
        if a.quantity != b.quantity {
            let what = format!("unit of '{}'", a.measure);
            push_difference(&mut found, &what, &a.unit, &b.unit);
            continue;
        }
        let what = format!("limit of '{}'", a.measure);
        let limit = |one: &MeasureStatistics| limit(one.quantity, one.limit);
        push_difference(&mut found, &what, limit(a), limit(b));
    }
    found
}

fn matching<'a, T>(
    first: &'a [T],
    second: &'a [T],
    name: fn(&T) -> &str,
) -> impl Iterator<Item = (&'a T, &'a T)> {
    let in_second = by_key(second, name);
    let pairs = first
        .iter()
        .map(move |a| Some((a, *in_second.get(name(a))?)));
    pairs.flatten()
}

fn of_both(
    first: &Option<Spread>,
    second: &Option<Spread>,
    of: fn(&Spread) -> i64,
) -> Option<Pair<i64>> {
    let (first, second) = first.as_ref().zip(second.as_ref())?;
    Some(Pair::of(of(first), of(second)))
}

fn percentile(first: &Option<Spread>, second: &Option<Spread>) -> Option<Pair<i64>> {
    let tells = |spread: &Option<Spread>| spread.as_ref().is_some_and(Spread::tells_p95);
    of_both(first, second, |spread| spread.p95).filter(|_| tells(first) && tells(second))
}

fn better_trajectory(a: &TrajectoryStatistics, b: &TrajectoryStatistics) -> Better {
    let errors = |one: &TrajectoryStatistics| {
        let error = one.error_um.as_ref();
        error.map_or((i64::MAX, i64::MAX), |error| (error.median, error.max))
    };
    let ((median_a, max_a), (median_b, max_b)) = (errors(a), errors(b));
    better_of(compare_sizes(median_a, median_b).then_with(|| compare_sizes(max_a, max_b)))
}

fn both_limited(a: &MeasureStatistics, b: &MeasureStatistics) -> bool {
    a.limit.is_some() && b.limit.is_some()
}

fn better_measure(a: &MeasureStatistics, b: &MeasureStatistics) -> Better {
    // A side without values kept no limit.
    let (Some(of_a), Some(of_b)) = (&a.values, &b.values) else {
        return better_of(b.values.is_some().cmp(&a.values.is_some()));
    };
    let above = (u128::from(a.above_limit) * u128::from(of_b.count))
        .cmp(&(u128::from(b.above_limit) * u128::from(of_a.count)));
    better_of(above.then_with(|| compare_sizes(of_a.median, of_b.median)))
}
