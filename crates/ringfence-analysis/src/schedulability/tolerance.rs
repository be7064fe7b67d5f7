//! The largest tolerance with which all deadlines of a partition hold: of all its
//! gangs alike, and of each gang while the others keep what the scenario says.

use ringfence_scenario::model::Gang;
use serde::Serialize;

use super::problem::{Problem, ProblemError, TriedTolerance};
use super::verdict::judge;

/// What best-effort work may have beside a gang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LargestTolerance {
    /// Names of the gangs that get it; gangs of one priority share a tolerance.
    pub gangs: Vec<String>,
    /// The answer.
    #[serde(flatten)]
    pub fits: Fits,
}

/// How much fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "fits")]
pub enum Fits {
    /// Deadlines of the partition are missed even if these gangs tolerate nothing.
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

/// Searches the largest tolerances of each partition, first that of all gangs
/// alike when there are several. Empty when nothing is regulated or there is no memory to regulate.
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
    let mut found = Vec::new();
    for partition in problem.used_partitions() {
        let gangs = || {
            problem
                .gangs()
                .filter(move |gang| gang.partition == partition)
        };
        let mut priorities: Vec<u8> = gangs().map(|gang| gang.priority).collect();
        priorities.sort_unstable_by(|a, b| b.cmp(a));
        priorities.dedup();
        let together = (priorities.len() > 1).then_some(None);
        for priority in together.into_iter().chain(priorities.into_iter().map(Some)) {
            let is_meant = |gang: &&Gang| priority.is_none_or(|p| p == gang.priority);
            found.push(LargestTolerance {
                gangs: gangs()
                    .filter(is_meant)
                    .map(|gang| gang.name.clone())
                    .collect(),
                fits: largest_at(problem, (partition, priority), most_lines)?,
            });
        }
    }
    Ok(found)
}

/// More lines never make a response shorter, so the largest number is found by halving.
fn largest_at(
    problem: &Problem<'_>,
    place: (usize, Option<u8>),
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
    (partition, priority): (usize, Option<u8>),
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
