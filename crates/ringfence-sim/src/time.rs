//! Simulated time and its units.

/// Simulated time in picoseconds since the start of the case.
pub type Picoseconds = u64;

/// Picoseconds in a nanosecond.
pub const PS_PER_NS: Picoseconds = 1_000;
/// Picoseconds in a second.
pub const PS_PER_S: Picoseconds = 1_000_000_000_000;

/// Period of a clock of `frequency_hz`, rounded to a whole picosecond, at least one.
///
/// Everything that counts in cycles of a core takes them from here: what the
/// engine simulates and what a run claims are rounded alike.
pub fn cycle_ps(frequency_hz: u64) -> Picoseconds {
    let hz = frequency_hz.max(1);
    (PS_PER_S.saturating_add(hz / 2) / hz).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_rounded_to_the_nearest_picosecond() {
        for (frequency_hz, period_ps) in [
            (1_000_000_000, 1000),
            (1_200_000_000, 833),
            (1_500_000_000, 667),
            (PS_PER_S, 1),
            (u64::MAX, 1),
            (0, PS_PER_S),
        ] {
            assert_eq!(cycle_ps(frequency_hz), period_ps, "{frequency_hz} Hz");
        }
    }
}
