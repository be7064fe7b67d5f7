//! The largest tolerance of a gang with which all deadlines of its partition hold.

use serde::Serialize;

use super::problem::{Problem, ProblemError, TriedTolerance};
use super::verdict::judge;

/// What best-effort work may have beside a gang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LargestTolerance {
    /// Names of the gangs of one partition and priority; a tolerance is theirs together.
    pub gangs: Vec<String>,
    /// The answer.
    #[serde(flatten)]
    pub fits: Fits,
}

/// How much fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "fits")]
pub enum Fits {
    /// Deadlines of the partition are missed even if nothing is tolerated.
    Nothing,
    /// Up to so much, read and written alike.
    UpTo {
        /// Lines each way that each best-effort core may move in a regulation period.
        lines_per_period: u64,
        /// The least bandwidth that gives so many lines.
        bytes_per_second: u64,
    },
    /// As much as the memory can move.
    Everything,
}

/// Searches the largest tolerance of each gang, the others being what the scenario
/// says. Empty when nothing is regulated or there is no memory to regulate.
///
/// # Errors
/// What the analysis cannot handle.
pub fn largest(problem: &Problem<'_>) -> Result<Vec<LargestTolerance>, ProblemError> {
    let Some(memory) = problem.scenario.platform.memory.as_ref() else {
        return Ok(Vec::new());
    };
    if !problem.is_regulated() {
        return Ok(Vec::new());
    }
    let most_lines = problem.lines_per_period(memory.dram.peak_bytes_per_second()) + 1;
    let mut places: Vec<(usize, u8)> = problem
        .gangs()
        .map(|gang| (gang.partition, gang.priority))
        .collect();
    places.sort_by_key(|&(partition, priority)| (partition, std::cmp::Reverse(priority)));
    places.dedup();
    places
        .into_iter()
        .map(|place| {
            Ok(LargestTolerance {
                gangs: problem
                    .gangs()
                    .filter(|gang| (gang.partition, gang.priority) == place)
                    .map(|gang| gang.name.clone())
                    .collect(),
                fits: largest_at(problem, place, most_lines)?,
            })
        })
        .collect()
}

/// More lines never make a response shorter, so the largest number is found by halving.
fn largest_at(
    problem: &Problem<'_>,
    place: (usize, u8),
    most_lines: u64,
) -> Result<Fits, ProblemError> {
    if !fits(problem, place, 0)? {
        return Ok(Fits::Nothing);
    }
    if fits(problem, place, most_lines)? {
        return Ok(Fits::Everything);
    }
    let (mut fitting, mut failing) = (0, most_lines);
    while failing - fitting > 1 {
        let middle = fitting + (failing - fitting) / 2;
        match fits(problem, place, middle)? {
            true => fitting = middle,
            false => failing = middle,
        }
    }
    Ok(Fits::UpTo {
        lines_per_period: fitting,
        bytes_per_second: bytes_per_second(problem, fitting),
    })
}

fn fits(
    problem: &Problem<'_>,
    (partition, priority): (usize, u8),
    lines_each_way: u64,
) -> Result<bool, ProblemError> {
    let tried = TriedTolerance {
        partition,
        priority,
        lines_each_way,
    };
    let partitions = problem.partitions(Some(tried))?;
    let place = problem.used_partitions().binary_search(&partition);
    Ok(place.is_ok_and(|place| judge(&partitions[place]).schedulable))
}

/// The least rate that the regulator rounds down to so many lines.
fn bytes_per_second(problem: &Problem<'_>, lines: u64) -> u64 {
    let bytes = u128::from(lines) * u128::from(problem.line_bytes()) * 1_000_000_000;
    let rate = bytes.div_ceil(problem.scenario.regulation.period_ns.into());
    u64::try_from(rate).unwrap_or(u64::MAX)
}
