//! How right the work of a case was: errors of trajectories, and how figures are spread.
//!
//! The error of a position is its distance from the true one, which is the nearest in time of
//! those within [`MATCH_NS`]; positions without one are not compared. Where a trajectory is to be
//! aligned, the rotation and shift that bring its compared positions nearest to the true ones, in
//! the least squares sense, are taken out before: the absolute trajectory error of Sturm et al.,
//! "A benchmark for the evaluation of RGB-D SLAM systems" (IROS 2012), without scale.

mod rigid;

use ringfence_record::accuracy::{Alignment, Quantity};
use serde::{Deserialize, Serialize};

use crate::case::{CaseRun, Place, TrajectoryRun};
use crate::spread::Spread;
use rigid::Rigid;

/// How far apart in time a position and the true one may be, in nanoseconds, as `evo` has it.
pub const MATCH_NS: u64 = 10_000_000;

/// Positions that an alignment needs: two may turn around the line between them.
const ALIGNED_MIN: usize = 3;

/// A trajectory beside the true one.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// The positions, in the order of the trajectory's clock.
    pub points: Vec<CoursePoint>,
    /// Whether there were enough of them to align and compare them.
    pub compared: bool,
}

/// A position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoursePoint {
    /// Of which moment.
    pub at_ns: u64,
    /// When it was found.
    pub found_ns: u64,
    /// Where it is, along the axes of the true positions where it could be aligned.
    pub position_um: [f64; 3],
    /// How far that is from the true one; `None` where it was not compared.
    pub error_um: Option<u64>,
}

/// What is to be said of a trajectory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrajectoryStatistics {
    /// Its name.
    pub trajectory: String,
    /// Most that the median error may be.
    pub median_limit_um: Option<u64>,
    /// Positions that were found.
    pub positions: u64,
    /// Those that were compared with the true ones.
    pub compared: u64,
    /// How far they were from these.
    pub error_um: Option<Spread>,
    /// Root of the mean square of that.
    pub error_root_mean_square_um: Option<u64>,
}

/// What is to be said of a measure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureStatistics {
    /// Its name.
    pub measure: String,
    /// Of what it is.
    pub quantity: Quantity,
    /// Unit of the values, as keys have it: `um`, `ns`, `millionths` or `things`.
    pub unit: String,
    /// Most that each value may be.
    pub limit: Option<i64>,
    /// Values above that.
    pub above_limit: u64,
    /// How they are spread.
    pub values: Option<Spread>,
}

/// The trajectory beside the true one.
pub fn course(run: &TrajectoryRun, alignment: Alignment) -> Course {
    let pairs: Vec<Option<Place>> = run
        .positions
        .iter()
        .map(|position| nearest(&run.truth, position.place.at_ns))
        .collect();
    let matched = run
        .positions
        .iter()
        .zip(&pairs)
        .filter_map(|(found, truth)| {
            let truth = truth.as_ref()?;
            Some((
                found.place.position_um.map(to_f64),
                truth.position_um.map(to_f64),
            ))
        });
    let matched: Vec<_> = matched.collect();
    let needed = match alignment {
        Alignment::Same => 1,
        Alignment::Rigid => ALIGNED_MIN,
    };
    let compared = matched.len() >= needed;
    let motion = match alignment {
        Alignment::Rigid if compared => Rigid::nearest(&matched),
        _ => Rigid::NONE,
    };
    let points = run.positions.iter().zip(pairs).map(|(found, truth)| {
        let position_um = motion.apply(found.place.position_um.map(to_f64));
        let error_um = truth.filter(|_| compared).map(|truth| {
            let apart = rigid::distance(position_um, truth.position_um.map(to_f64));
            apart.round() as u64
        });
        CoursePoint {
            at_ns: found.place.at_ns,
            found_ns: found.found_ns,
            position_um,
            error_um,
        }
    });
    Course {
        points: points.collect(),
        compared,
    }
}

/// Places are at most 2^50 µm from the origin, which a double holds to the last.
fn to_f64(um: i64) -> f64 {
    um as f64
}

/// The place nearest in time, of two equally near the earlier; `None` without one near enough.
fn nearest(truth: &[Place], at_ns: u64) -> Option<Place> {
    let later = truth.partition_point(|place| place.at_ns < at_ns);
    let candidates = [later.checked_sub(1), Some(later)];
    candidates
        .into_iter()
        .filter_map(|index| truth.get(index?))
        .min_by_key(|place| place.at_ns.abs_diff(at_ns))
        .filter(|place| place.at_ns.abs_diff(at_ns) <= MATCH_NS)
        .copied()
}

/// One entry per trajectory.
pub fn trajectories(run: &CaseRun) -> Vec<TrajectoryStatistics> {
    let declared = run.case.accuracy.trajectories.iter().zip(&run.trajectories);
    declared
        .map(|(trajectory, found)| {
            let course = course(found, trajectory.alignment);
            let errors: Vec<u64> = course.points.iter().filter_map(|p| p.error_um).collect();
            let mean_square = errors.iter().map(|um| (*um as f64).powi(2)).sum::<f64>()
                / errors.len().max(1) as f64;
            TrajectoryStatistics {
                trajectory: trajectory.name.clone(),
                median_limit_um: trajectory.median_limit_um,
                positions: found.positions.len() as u64,
                compared: errors.len() as u64,
                error_root_mean_square_um: (!errors.is_empty())
                    .then(|| mean_square.sqrt().round() as u64),
                error_um: Spread::of(errors.into_iter().map(u64::cast_signed).collect()),
            }
        })
        .collect()
}

/// One entry per measure.
pub fn measures(run: &CaseRun) -> Vec<MeasureStatistics> {
    let declared = run.case.accuracy.measures.iter().zip(&run.measures);
    declared
        .map(|(measure, measured)| {
            let values: Vec<i64> = measured.iter().map(|one| one.value).collect();
            let is_above = |value: &&i64| measure.limit.is_some_and(|limit| **value > limit);
            MeasureStatistics {
                measure: measure.name.clone(),
                quantity: measure.quantity,
                unit: unit(measure.quantity).into(),
                limit: measure.limit,
                above_limit: values.iter().filter(is_above).count() as u64,
                values: Spread::of(values),
            }
        })
        .collect()
}

/// Unit of a quantity, as keys have it.
fn unit(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Length => "um",
        Quantity::Duration => "ns",
        Quantity::Share => "millionths",
        Quantity::Count => "things",
    }
}
