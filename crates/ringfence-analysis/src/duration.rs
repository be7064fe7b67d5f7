//! Durations as people read them.

/// A duration without rounding, in the largest unit of which it has one or
/// more: `12 ms`, `379.438 µs`.
pub fn exact(ns: u64) -> String {
    let (digits, unit) = match ns {
        1_000_000_000.. => (9, "s"),
        1_000_000.. => (6, "ms"),
        1_000.. => (3, "µs"),
        _ => return format!("{ns} ns"),
    };
    let scale = 10_u64.pow(digits);
    let fraction = format!("{:0width$}", ns % scale, width = digits as usize);
    let decimals = format!("{}.{fraction}", ns / scale);
    let shortest = decimals.trim_end_matches('0').trim_end_matches('.');
    format!("{shortest} {unit}")
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn nothing_is_rounded() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1000, "1 µs"),
            (379_438, "379.438 µs"),
            (12_000_000, "12 ms"),
            (10_000_000_000, "10 s"),
            (1_000_000_001, "1.000000001 s"),
        ] {
            assert_eq!(exact(ns), text);
        }
    }
}
