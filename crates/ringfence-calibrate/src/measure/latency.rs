//! Pointer chases.

use ringfence_workloads::aggressor::{Access, Walk};
use ringfence_workloads::large_pages;

use super::{Arrays, Effort, MeasureError, lists, timed, walk};
use crate::disturbance::Watch;
use crate::statistics::Spread;
use ringfence_workloads::inventory::Cache;

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
pub(super) fn warm(chase: &mut Walk, llc: &Cache) {
    let llc_lines = llc.size_bytes / llc.line_bytes;
    chase.run((chase.accesses_per_pass() * 2).min(llc_lines));
}

/// What growing arrays showed.
pub struct Sweep {
    /// Of a chase: `(bytes, least nanoseconds)`.
    pub chase: Vec<(u64, f64)>,
    /// Of a bandwidth walk.
    pub walk: Vec<(u64, f64)>,
    /// Capacity of the last-level cache as the chase finds it.
    pub chase_seen_bytes: u64,
    /// As either finds it. Where others use the cache, too, a slow program loses its lines
    /// to them before it comes back, and a fast one keeps more.
    pub llc_seen_bytes: u64,
    /// Whether the largest array lay in huge pages.
    pub in_huge_pages: bool,
}

/// Chases and walks over arrays from a small one to one in main memory.
pub fn by_size(
    private: &Cache,
    llc: &Cache,
    arrays: &Arrays,
    effort: Effort,
    watch: &mut Watch,
) -> Result<Sweep, MeasureError> {
    let line = llc.line_bytes;
    let (mut chased, mut walked) = (Vec::new(), Vec::new());
    let mut in_huge_pages = false;
    for size in sizes(llc, arrays, effort) {
        let mut chase = lists(size, line, 1)?;
        warm(&mut chase, llc);
        in_huge_pages = large_pages::huge_bytes().is_some_and(|bytes| bytes * 2 >= size);
        let seen = timed(effort, watch, |accesses| chase.run(accesses));
        chased.push((size, seen.least));
        drop(chase);
        let mut array = walk(size, line, Access::Read)?;
        array.run(2 * array.accesses_per_pass());
        let seen = timed(effort, watch, |accesses| array.run(accesses));
        walked.push((size, seen.undisturbed()));
    }
    let of = |points: &[(u64, f64)]| capacity(points, private.size_bytes, llc.size_bytes);
    let chase_seen_bytes = of(&chased);
    Ok(Sweep {
        chase_seen_bytes,
        llc_seen_bytes: chase_seen_bytes.max(of(&walked)),
        chase: chased,
        walk: walked,
        in_huge_pages,
    })
}

/// Twice as much each time, and eighths of the last-level cache where there is time for it.
fn sizes(llc: &Cache, arrays: &Arrays, effort: Effort) -> Vec<u64> {
    let doubling = (12..).map(|bits| 1_u64 << bits);
    let mut sizes: Vec<u64> = doubling.take_while(|&size| size < llc.size_bytes).collect();
    if effort == Effort::Full {
        let between = sizes.iter().map(|size| size / 2 * 3);
        let eighths = (1..=8).map(|eighths| llc.size_bytes / 8 * eighths);
        let more: Vec<u64> = between.chain(eighths).collect();
        sizes.extend(
            more.iter()
                .map(|size| size / llc.line_bytes * llc.line_bytes),
        );
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes.retain(|&size| size < arrays.dram);
    sizes.push(arrays.dram);
    sizes
}

/// The largest array up to the stated size of the last-level cache that is nearer to its
/// time than to that of the largest array; at least twice the private cache.
///
/// Its time is that of the smallest array of twice the private cache or more.
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
