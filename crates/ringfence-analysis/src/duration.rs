//! Durations as people read them.

/// A duration with at most three decimals, in the largest unit of which it has
/// one or more: `12 ms`, `379.438 µs`, `1.235 s`.
pub fn readable(ns: u64) -> String {
    let (digits, unit) = unit(ns);
    let shown = digits.min(3);
    let step_ns = 10_u64.pow(digits - shown);
    let steps = ns / step_ns + u64::from(ns % step_ns * 2 >= step_ns);
    decimal(steps, shown, unit)
}

/// A duration without rounding, where two that differ must not look equal:
/// `12 ms`, `1.000000001 s`.
pub fn exact(ns: u64) -> String {
    let (digits, unit) = unit(ns);
    decimal(ns, digits, unit)
}

/// The unit in which a duration reads best, and how many decimals it has to a nanosecond.
fn unit(ns: u64) -> (u32, &'static str) {
    match ns {
        1_000_000_000.. => (9, "s"),
        1_000_000.. => (6, "ms"),
        1_000.. => (3, "µs"),
        _ => (0, "ns"),
    }
}

/// `steps` of which a unit has ten to the power of `digits`, without zeros at the end.
fn decimal(steps: u64, digits: u32, unit: &str) -> String {
    let scale = 10_u64.pow(digits);
    let (whole, fraction) = (steps / scale, steps % scale);
    let fraction = format!(".{fraction:0width$}", width = digits as usize);
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    format!("{whole}{fraction} {unit}")
}

#[cfg(test)]
mod tests {
    use super::{exact, readable};

    #[test]
    fn durations_are_in_the_unit_that_reads_best() {
        for (ns, rounded, whole) in [
            (0, "0 ns", "0 ns"),
            (999, "999 ns", "999 ns"),
            (1000, "1 µs", "1 µs"),
            (379_438, "379.438 µs", "379.438 µs"),
            (12_000_000, "12 ms", "12 ms"),
            (12_345_678, "12.346 ms", "12.345678 ms"),
            (999_999_600, "1000 ms", "999.9996 ms"),
            (1_000_000_001, "1 s", "1.000000001 s"),
            (1_000_500_000, "1.001 s", "1.0005 s"),
            (61_234_567_891, "61.235 s", "61.234567891 s"),
            (u64::MAX, "18446744073.71 s", "18446744073.709551615 s"),
        ] {
            assert_eq!(readable(ns), rounded);
            assert_eq!(exact(ns), whole);
        }
    }
}
