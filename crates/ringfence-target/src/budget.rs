//! Tolerances in the units that a regulator counts in: lines a period.

use ringfence_policy::regulator::{Budget, events_per_period};
use ringfence_scenario::model::{Scenario, Tolerance};

/// Bytes of an event that the regulator counts. Without memory nothing is
/// counted, and the size only decides how a tolerance is rounded.
pub fn line_bytes(scenario: &Scenario) -> u32 {
    const WITHOUT_MEMORY: u32 = 64;
    let memory = scenario.platform.memory.as_ref();
    memory.map_or(WITHOUT_MEMORY, |memory| memory.line_bytes)
}

/// Lines that a rate allows in a period, rounded down.
pub fn budget_lines(bytes_per_second: u64, period_ns: u64, line_bytes: u32) -> u64 {
    events_per_period(bytes_per_second, period_ns, line_bytes)
        .expect("a scenario's period is in range")
}

/// A tolerance in lines a period; `u64::MAX` is unlimited.
pub fn budget(tolerance: Tolerance, period_ns: u64, line_bytes: u32) -> Budget {
    let lines = |bytes_per_second: Option<u64>| {
        bytes_per_second.map_or(u64::MAX, |rate| budget_lines(rate, period_ns, line_bytes))
    };
    Budget {
        reads: lines(tolerance.read_bytes_per_second),
        writes: lines(tolerance.write_bytes_per_second),
    }
}
