//! Where more parallelism stops to help.

use serde::Serialize;

/// Share of the best rate that counts as all of it.
const NEAR_BEST: f64 = 0.95;

/// Time of an access with so many lists walked in turn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ParallelPoint {
    /// Lists, each one chain of dependent loads.
    pub lists: u32,
    /// Nanoseconds for one access.
    pub ns: f64,
}

/// The smallest number of lists that comes within 5 % of the best rate; `None` without points.
pub fn knee(points: &[ParallelPoint]) -> Option<u32> {
    let best_ns = points.iter().map(|point| point.ns).min_by(f64::total_cmp)?;
    let enough = points
        .iter()
        .filter(|point| point.ns * NEAR_BEST <= best_ns);
    enough.map(|point| point.lists).min()
}

/// How many accesses of `latency_ns` are under way when one ends each `ns_per_access`:
/// Little's law (Little, "A proof for the queuing formula L = λW", Operations Research 1961).
pub fn in_flight(latency_ns: f64, ns_per_access: f64) -> u32 {
    (latency_ns / ns_per_access).round().clamp(1.0, 1e6) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A core that can have `misses` under way speeds up with the lists until there are so
        /// many, and not beyond; noise of 1 % does not move the knee by more than 5 % and the 1.
        #[test]
        fn the_knee_is_where_the_misses_run_out(
            misses in 1_u32..64,
            latency_ns in 20.0..300.0,
            noise in prop::collection::vec(0.99..1.01, 64),
        ) {
            let points: Vec<ParallelPoint> = (1..=64)
                .zip(noise)
                .map(|(lists, noise)| ParallelPoint { lists, ns: latency_ns / f64::from(lists.min(misses)) * noise })
                .collect();
            let found = knee(&points).unwrap();
            let lowest = f64::from(misses) * 0.93 - 1.0;
            prop_assert!(f64::from(found) >= lowest && found <= misses, "{found} of {misses}");
            prop_assert!(in_flight(latency_ns, points[63].ns).abs_diff(misses) <= 1);
        }
    }

    #[test]
    fn without_points_there_is_no_knee() {
        assert_eq!(knee(&[]), None);
        assert_eq!(knee(&[ParallelPoint { lists: 4, ns: 9.0 }]), Some(4));
    }
}
