//! Pointer chases.

use ringfence_workloads::large_pages;

use super::{Arrays, Effort, MeasureError, lists, timed};
use crate::disturbance::Watch;
use crate::inventory::Cache;
use crate::statistics::Spread;

/// Load-to-use latency in an array of `bytes`, nanoseconds.
pub fn of(
    bytes: u64,
    line_bytes: u64,
    llc: &Cache,
    effort: Effort,
    watch: &mut Watch,
) -> Result<Spread, MeasureError> {
    let mut chase = lists(bytes, line_bytes, 1)?;
    warm(&mut chase, llc);
    Ok(timed(effort, watch, |accesses| chase.run(accesses)))
}

/// Brings an array that fits a cache into it; of a larger one, takes out what its making has
/// left in the caches, which in its random order is met anywhere.
pub(super) fn warm(chase: &mut ringfence_workloads::aggressor::Walk, llc: &Cache) {
    let llc_lines = llc.size_bytes / llc.line_bytes;
    chase.run((chase.accesses_per_pass() * 2).min(llc_lines));
}

/// What a chase over growing arrays showed.
pub struct Sweep {
    /// `(bytes, least nanoseconds)`.
    pub points: Vec<(u64, f64)>,
    /// Capacity that the last-level cache seems to have.
    pub llc_seen_bytes: u64,
    /// Whether the largest array lay in huge pages.
    pub in_huge_pages: bool,
}

/// Chases over arrays from a small one to one in main memory, twice as much each time, and
/// finer where the last-level cache ends.
pub fn by_size(
    private: &Cache,
    llc: &Cache,
    arrays: &Arrays,
    effort: Effort,
    watch: &mut Watch,
) -> Result<Sweep, MeasureError> {
    let line = llc.line_bytes;
    let mut sizes: Vec<u64> = (12..)
        .map(|bits| 1_u64 << bits)
        .take_while(|&size| size < llc.size_bytes)
        .collect();
    let shares =
        [1_u64, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12].map(|eighths| llc.size_bytes * eighths / 8);
    sizes.extend(shares.iter().map(|size| size / line * line));
    sizes.extend(sizes.clone().iter().map(|size| size * 3 / 4 / line * line));
    sizes.sort_unstable();
    sizes.dedup();
    sizes.retain(|&size| size >= 4096 && size < arrays.dram);
    sizes.push(arrays.dram);
    let mut points = Vec::new();
    let mut in_huge_pages = false;
    for size in sizes {
        let mut chase = lists(size, line, 1)?;
        warm(&mut chase, llc);
        let seen = timed(effort, watch, |accesses| chase.run(accesses));
        points.push((size, seen.least));
        in_huge_pages = large_pages::huge_bytes().is_some_and(|bytes| bytes * 2 >= size);
    }
    let llc_seen_bytes = capacity(&points, private.size_bytes, llc.size_bytes);
    Ok(Sweep {
        points,
        llc_seen_bytes,
        in_huge_pages,
    })
}

/// The largest array up to the stated size of the last-level cache that is nearer to its
/// latency than to that of the largest array; at least twice the private cache.
///
/// Its latency is that of the smallest array of twice the private cache or more.
fn capacity(points: &[(u64, f64)], private_bytes: u64, llc_bytes: u64) -> u64 {
    let outside = |&&(size, _): &&(u64, f64)| size >= private_bytes * 2;
    let hit = points.iter().find(outside);
    let (Some(&(_, hit_ns)), Some(&(_, dram_ns))) = (hit, points.last()) else {
        return llc_bytes;
    };
    let middle_ns = (hit_ns * dram_ns).sqrt();
    let fits = points
        .iter()
        .filter(outside)
        .take_while(|&&(size, ns)| size <= llc_bytes && ns <= middle_ns);
    let seen = fits.map(|&(size, _)| size).last();
    seen.unwrap_or(0).max(private_bytes * 2).min(llc_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A cache of which others leave `left` sixteenths is seen as one of about that size.
        #[test]
        fn the_step_in_latency_is_the_capacity(left in 2_u64..17, noise in prop::collection::vec(1.0..1.2, 40)) {
            let (private, llc) = (1_u64 << 20, 64_u64 << 20);
            let held = llc * left / 16;
            let points: Vec<(u64, f64)> = (0..40)
                .zip(noise)
                .map(|(step, noise)| {
                    let size = (4096.0 * 1.4_f64.powi(step)) as u64;
                    let ns = if size <= private { 5.0 } else if size <= held { 30.0 } else { 100.0 };
                    (size, ns * noise)
                })
                .collect();
            let seen = capacity(&points, private, llc);
            prop_assert!(seen <= held && (seen as f64 > held as f64 / 1.45 || seen == private * 2), "{seen} of {held}");
        }
    }

    #[test]
    fn where_no_step_can_be_seen_the_stated_size_stays() {
        assert_eq!(capacity(&[], 1 << 20, 8 << 20), 8 << 20);
        assert_eq!(capacity(&[(4096, 1.0)], 1 << 20, 8 << 20), 8 << 20);
    }
}
