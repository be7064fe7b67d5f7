//! Quantities as people read them.

use ringfence_record::accuracy::Quantity;

/// A value without rounding: `0.122 m`, `12.5 %`, `3`.
pub fn exact(quantity: Quantity, value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let size = value.unsigned_abs();
    let text = match quantity {
        Quantity::Length => format!("{} m", decimal(size, 6)),
        Quantity::Duration => crate::duration::exact(size),
        Quantity::Share => format!("{} %", decimal(size, 4)),
        Quantity::Count => size.to_string(),
    };
    format!("{sign}{text}")
}

/// `steps` of which ten to the power of `digits` are one, without zeros at the end.
fn decimal(steps: u64, digits: u32) -> String {
    let scale = 10_u64.pow(digits);
    let fraction = format!(".{:0width$}", steps % scale, width = digits as usize);
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    format!("{}{fraction}", steps / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_unit_and_no_needless_digits() {
        for (quantity, value, text) in [
            (Quantity::Length, 122_000, "0.122 m"),
            (Quantity::Length, -2_000_001, "-2.000001 m"),
            (Quantity::Duration, 12_000_000, "12 ms"),
            (Quantity::Share, 125_000, "12.5 %"),
            (Quantity::Share, 1_000_000, "100 %"),
            (Quantity::Count, 3, "3"),
            (Quantity::Length, i64::MIN, "-9223372036854.775808 m"),
        ] {
            assert_eq!(exact(quantity, value), text);
        }
    }
}
