//! Trajectories and measures, as the page's scripts draw them.

use ringfence_analysis::accuracy::{MeasureStatistics, course};
use ringfence_analysis::case::TrajectoryRun;
use ringfence_analysis::spread::Spread;
use ringfence_record::accuracy::{Alignment, Quantity};
use serde::Serialize;

use crate::report::Report;
use crate::rows::accuracy::{measured, measures, trajectories, trajectory_names};
use crate::rows::each_once;

/// Most places of one line that come into the page; longer ones are drawn with every second,
/// third, ... of theirs.
const MOST_PLACES: usize = 2000;

/// A trajectory in every case that has it.
#[derive(Serialize)]
pub struct TrajectoryData<'a> {
    index: usize,
    name: &'a str,
    median_limit_um: Option<u64>,
    /// Where it was, of the first case that knows it.
    truth: Places,
    cases: Vec<TrajectoryCase<'a>>,
}

#[derive(Serialize)]
struct TrajectoryCase<'a> {
    case: &'a str,
    found: Places,
    error_um: Option<&'a Spread>,
}

/// Places in the order of the trajectory's clock.
#[derive(Default, Serialize)]
struct Places {
    at_ns: Vec<u64>,
    /// Along each axis.
    um: [Vec<i64>; 3],
}

/// A measure in every case that has values of it.
#[derive(Serialize)]
pub struct MeasureData<'a> {
    index: usize,
    name: &'a str,
    quantity: Quantity,
    limit: Option<i64>,
    cases: Vec<MeasureCase<'a>>,
}

#[derive(Serialize)]
struct MeasureCase<'a> {
    case: &'a str,
    values: &'a Spread,
}

/// In the order of [`trajectory_names`], which the page's tables have, too.
pub fn trajectory_data(report: &Report) -> Vec<TrajectoryData<'_>> {
    let named = trajectory_names(&report.summary).into_iter().enumerate();
    named
        .map(|(index, name)| {
            let mut data = TrajectoryData {
                index,
                name,
                median_limit_um: None,
                truth: Places::default(),
                cases: Vec::new(),
            };
            let mut limits_um = Vec::new();
            for (run, summary) in report.readable_cases() {
                let declared = run.case.accuracy.trajectories.iter();
                let statistics = declared.zip(&run.trajectories).zip(trajectories(summary));
                for ((declared, run), statistics) in statistics.filter(|one| one.0.0.name == name) {
                    limits_um.extend(declared.median_limit_um);
                    if data.truth.at_ns.is_empty() {
                        data.truth = Places::true_of(run);
                    }
                    data.cases.push(TrajectoryCase {
                        case: &summary.name,
                        found: Places::found_of(run, declared.alignment),
                        error_um: statistics.error_um.as_ref(),
                    });
                }
            }
            data.median_limit_um = agreed(limits_um);
            data
        })
        .collect()
}

/// In the order of [`measured`], which the page's tables have, too.
pub fn measure_data(report: &Report) -> Vec<MeasureData<'_>> {
    let kinds = measured(&report.summary).into_iter().enumerate();
    kinds
        .map(|(index, kind)| {
            let of_cases = report.summary.cases.iter().flat_map(|case| {
                let of_kind = move |one: &&MeasureStatistics| (&*one.measure, one.quantity) == kind;
                let found = measures(case).iter().filter(of_kind);
                found.map(|one| (case.name.as_str(), one))
            });
            let of_cases: Vec<_> = of_cases.collect();
            let (name, quantity) = kind;
            MeasureData {
                index,
                name,
                quantity,
                limit: agreed(of_cases.iter().filter_map(|(_, one)| one.limit)),
                cases: of_cases
                    .iter()
                    .filter_map(|(case, one)| {
                        let values = one.values.as_ref()?;
                        Some(MeasureCase { case, values })
                    })
                    .collect(),
            }
        })
        .collect()
}

/// The limit of all cases that have one, which is drawn; `None` where they have different ones.
fn agreed<T: Copy + PartialEq>(limits: impl IntoIterator<Item = T>) -> Option<T> {
    match each_once(limits)[..] {
        [limit] => Some(limit),
        _ => None,
    }
}

impl Places {
    fn true_of(run: &TrajectoryRun) -> Self {
        let mut places = Self::default();
        for place in kept(&run.truth) {
            places.push(place.at_ns, place.position_um);
        }
        places
    }

    fn found_of(run: &TrajectoryRun, alignment: Alignment) -> Self {
        let mut places = Self::default();
        for point in kept(&course(run, alignment).points) {
            places.push(point.at_ns, point.position_um.map(|um| um.round() as i64));
        }
        places
    }

    fn push(&mut self, at_ns: u64, position_um: [i64; 3]) {
        self.at_ns.push(at_ns);
        for (axis, um) in self.um.iter_mut().zip(position_um) {
            axis.push(um);
        }
    }
}

/// Evenly many of them, with the first.
fn kept<T>(places: &[T]) -> impl Iterator<Item = &T> {
    places
        .iter()
        .step_by(places.len().div_ceil(MOST_PLACES).max(1))
}
