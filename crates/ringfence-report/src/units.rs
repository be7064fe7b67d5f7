//! Numbers as people read them.

use ringfence_record::accuracy::Quantity;

/// A value for columns whose numbers are compared: `0.122 m`, `12.5 %`, `3`.
pub fn quantity_in_column(quantity: Quantity, value: i64) -> String {
    match quantity {
        Quantity::Length => format!("{:.3} m", value as f64 / 1e6),
        Quantity::Duration if value < 0 => format!("-{}", duration_in_column(value.unsigned_abs())),
        Quantity::Duration => duration_in_column(value.unsigned_abs()),
        Quantity::Share => percent(value as f64 / 1e6),
        Quantity::Count => value.to_string(),
    }
}

/// A duration with up to four significant digits in the unit in which it
/// reads best: `12.34 ms`, `950 µs`, `3 s`.
pub fn duration(ns: u64) -> String {
    let (divisor, unit) = scale(ns);
    format!("{} {unit}", significant(ns as f64 / divisor, 4))
}

/// A duration with two decimals, for columns whose numbers are compared.
pub fn duration_in_column(ns: u64) -> String {
    let (divisor, unit) = scale(ns);
    format!("{:.2} {unit}", ns as f64 / divisor)
}

/// The unit in which a duration reads best.
fn scale(ns: u64) -> (f64, &'static str) {
    match ns {
        1_000_000_000.. => (1e9, "s"),
        1_000_000.. => (1e6, "ms"),
        1_000.. => (1e3, "µs"),
        _ => (1.0, "ns"),
    }
}

/// A bandwidth in decimal megabytes per second: `103 MB/s`.
pub fn bandwidth(bytes_per_second: f64) -> String {
    format!("{} MB/s", significant(bytes_per_second / 1e6, 3))
}

/// Events in a second, in millions: `41.3 M/s`.
pub fn millions(per_second: f64) -> String {
    format!("{} M/s", significant(per_second / 1e6, 3))
}

/// A ratio such as `1.25×`.
pub fn factor(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

/// A share in percent: `93.5 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A count with its noun: `1 job`, `60 jobs`, `2 periods of a core`.
pub fn count(number: u64, noun: &str) -> String {
    let (head, rest) = noun.split_at(noun.find(' ').unwrap_or(noun.len()));
    let plural = match (number, head.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {head}{plural}{rest}")
}

/// `value` with at most `digits` significant digits, whole part always complete.
fn significant(value: f64, digits: usize) -> String {
    let whole_digits = if value < 1.0 {
        1
    } else {
        value.log10() as usize + 1
    };
    let text = format!("{value:.*}", digits.saturating_sub(whole_digits));
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_pick_their_unit() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1 µs"),
            (12_345_678, "12.35 ms"),
            (20_000_000, "20 ms"),
            (1_200_000_000, "1.2 s"),
            (61_234_000_000, "61.23 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn other_numbers_stay_short() {
        assert_eq!(bandwidth(103_400_000.0), "103 MB/s");
        assert_eq!(bandwidth(2_345_678.0), "2.35 MB/s");
        assert_eq!(bandwidth(0.0), "0 MB/s");
        assert_eq!(millions(41_320_000.0), "41.3 M/s");
        assert_eq!(factor(1.0), "1.00×");
        assert_eq!(duration_in_column(8_200_000), "8.20 ms");
        assert_eq!(percent(0.935), "93.5 %");
        assert_eq!(count(1, "job"), "1 job");
        assert_eq!(count(0, "job"), "0 jobs");
        assert_eq!(count(2, "stretch on a core"), "2 stretches on a core");
    }
}
