//! Regulation where traffic cannot be counted: best-effort work gets a share of time.
//!
//! A core that reads memory in sequence and does nothing else moves the most that one core
//! can. A gang that tolerates a tenth of that gives best-effort cores a tenth of each
//! period. Work that uses less memory is throttled more than it need be; work that
//! disturbs in other ways than by its traffic is not measured at all.

use std::time::{Duration, Instant};

use ringfence_scenario::model::{Access, Bandwidth, Gang, Program as Model};
use ringfence_scenario::quantity;
use ringfence_workloads::program::{Program, Setting, prepare};

use super::CaseError;

use crate::scheduler::Tolerance;

/// What the record says of such a run, on a machine on which a core reads `full` bytes per
/// second at most.
pub fn remark(full: u64) -> String {
    format!(
        "duty cycle: best-effort work was throttled by time, because this target does not count its \
         traffic; a core reads at most {} here, and what a gang tolerates was that share of each \
         period; the record proves nothing about budgets in bytes",
        quantity::BANDWIDTH.format(full)
    )
}

/// Larger than last-level caches are.
const ARRAY_BYTES: u64 = 64 << 20;
const LINE_BYTES: u64 = 64;
const MEASURED: Duration = Duration::from_millis(50);

/// What a core reads at most, in bytes per second: the best of a few tries, as others may
/// disturb one. At least 1.
///
/// # Errors
/// There is no memory to measure with.
pub fn full_bytes_per_second() -> Result<u64, CaseError> {
    (0..3).try_fold(1, |best, _| Ok(measure()?.max(best)))
}

fn measure() -> Result<u64, CaseError> {
    let program = Program::Scenario(Model::Bandwidth(Bandwidth {
        access: Access::Read,
        working_set_bytes: ARRAY_BYTES,
        passes: 1,
    }));
    let setting = Setting {
        threads: 1,
        line_bytes: LINE_BYTES,
        bank_functions: Vec::new(),
        seed: 1,
    };
    let mut parts = prepare(&program, &setting).map_err(|error| CaseError::Process {
        name: "measuring what a core reads".into(),
        reason: error.to_string(),
    })?;
    let begin = Instant::now();
    let mut accesses = 0;
    while begin.elapsed() < MEASURED {
        accesses += parts[0].step();
    }
    let bytes = u128::from(accesses * LINE_BYTES) * 1_000_000_000;
    Ok(u64::try_from(bytes / begin.elapsed().as_nanos().max(1)).unwrap_or(u64::MAX))
}

/// What `gang` tolerates, in nanoseconds of each period on a core that reads `full` bytes
/// per second at most.
pub fn tolerance(gang: &Gang, period_ns: u64, full: u64) -> Tolerance {
    let directions = [
        gang.tolerance.read_bytes_per_second,
        gang.tolerance.write_bytes_per_second,
    ];
    let strictest = directions.into_iter().flatten().min();
    strictest.map_or(Tolerance::UNLIMITED, |rate| {
        let time_ns = u128::from(period_ns) * u128::from(rate) / u128::from(full);
        // As much as a period is no limit.
        let time_ns = u64::try_from(time_ns).unwrap_or(u64::MAX);
        Tolerance {
            reads: if time_ns < period_ns {
                time_ns
            } else {
                u64::MAX
            },
            writes: u64::MAX,
        }
    })
}

/// What gangs of one priority of a partition tolerate, which are scheduled as one: as little as
/// the strictest of `gangs` that is one of them; see [`tolerance`].
pub fn strictest(
    gangs: &[&Gang],
    (partition, priority): (usize, u8),
    period_ns: u64,
    full: u64,
) -> Tolerance {
    let is_one = |gang: &&&Gang| gang.partition == partition && gang.priority == priority;
    let all = gangs.iter().filter(is_one);
    let all = all.map(|gang| tolerance(gang, period_ns, full));
    all.min_by_key(|tolerance| tolerance.reads)
        .unwrap_or(Tolerance::UNLIMITED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringfence_scenario::model;

    fn gang(priority: u8, read: Option<u64>, write: Option<u64>) -> Gang {
        Gang {
            name: "gang".into(),
            partition: 0,
            priority,
            tolerance: model::Tolerance {
                read_bytes_per_second: read,
                write_bytes_per_second: write,
            },
            class_of_service: None,
            tasks: vec![],
        }
    }

    #[test]
    fn the_strictest_of_a_virtual_gang_decides_wherever_it_stands() {
        let all = [
            gang(1, Some(100), None),
            gang(1, None, None),
            gang(2, Some(0), None),
        ];
        let of = |order: [usize; 3], priority| {
            let gangs = order.map(|index| &all[index]);
            strictest(&gangs, (0, priority), 1_000_000, 1000).reads
        };
        for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0]] {
            assert_eq!(of(order, 1), 100_000);
            assert_eq!(of(order, 2), 0);
            assert_eq!(of(order, 3), u64::MAX);
        }
    }

    #[test]
    fn the_stricter_direction_decides_what_share_of_a_period_is_left() {
        for (read, write, expected) in [
            (None, None, u64::MAX),
            (Some(0), None, 0),
            (Some(250), Some(100), 100_000),
            (Some(100), Some(250), 100_000),
            (Some(999), None, 999_000),
            (Some(1000), None, u64::MAX),
            (Some(u64::MAX), Some(u64::MAX), u64::MAX),
        ] {
            let gang = gang(1, read, write);
            assert_eq!(tolerance(&gang, 1_000_000, 1000).reads, expected);
        }
    }
}
