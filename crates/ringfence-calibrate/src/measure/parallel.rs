//! How many misses a core has under way.

use ringfence_workloads::aggressor::LISTS_MAX;
use ringfence_workloads::large_pages::LargePages;

use super::{Effort, MeasureError, latency, lists, timed};
use crate::disturbance::Watch;
use crate::knee::ParallelPoint;
use crate::statistics::Spread;
use ringfence_workloads::inventory::Cache;

/// Loads along more and more lists in an array of `bytes`.
pub fn by_lists(
    bytes: u64,
    line_bytes: u64,
    llc: &Cache,
    effort: Effort,
    watch: &mut Watch,
) -> Result<Vec<ParallelPoint>, MeasureError> {
    let counts = match effort {
        Effort::Quick => vec![1, 4, 8, 16, 32],
        Effort::Full => (1..=16)
            .chain((18..=32).step_by(2))
            .chain([40, 48, 64])
            .collect(),
    };
    let mut points = Vec::new();
    for count in counts {
        debug_assert!(count <= LISTS_MAX);
        let mut walk = lists(bytes, line_bytes, count)?;
        latency::warm(&mut walk, llc);
        points.push(ParallelPoint {
            lists: count as u32,
            ns: timed(effort, watch, |accesses| walk.run(accesses)).undisturbed(),
        });
    }
    Ok(points)
}

/// Lines between two stores, as a share of the array: its golden section, so that no stride
/// repeats in a page.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// Nanoseconds of a store to an array of `bytes`, each to another page.
pub fn scattered_stores(
    bytes: u64,
    line_bytes: u64,
    effort: Effort,
    watch: &mut Watch,
) -> Result<Spread, MeasureError> {
    let stride = line_bytes as usize / size_of::<u32>();
    let lines = (bytes / line_bytes).max(2) as usize;
    let mut memory = LargePages::new(lines * stride)
        .map_err(MeasureError::system("mapping an array for stores"))?;
    memory.iter_mut().step_by(stride).for_each(|word| *word = 1);
    let step = coprime_step(lines);
    let mut line = 0;
    Ok(timed(effort, watch, |accesses| {
        line = store(&mut memory, stride, line, step, accesses);
        accesses
    }))
}

#[inline(never)]
fn store(memory: &mut [u32], stride: usize, mut line: usize, step: usize, accesses: u64) -> usize {
    let lines = memory.len() / stride;
    for access in 0..accesses {
        memory[line * stride] = access as u32;
        line += step;
        if line >= lines {
            line -= lines;
        }
    }
    line
}

/// A step near the golden section of `lines` that visits all of them before one twice.
fn coprime_step(lines: usize) -> usize {
    let near = ((lines as f64 * GOLDEN) as usize).max(1);
    let divides_none = |&step: &usize| gcd(step, lines) == 1;
    (near..lines).find(divides_none).unwrap_or(1)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stores_visit_every_line_once(lines in 2_usize..2000) {
            let step = coprime_step(lines);
            let mut memory = vec![u32::MAX; lines * 16];
            let end = store(&mut memory, 16, 0, step, lines as u64);
            prop_assert_eq!(end, 0);
            let visits: std::collections::BTreeSet<u32> = memory.iter().step_by(16).copied().collect();
            prop_assert_eq!(visits, (0..lines as u32).collect());
        }
    }
}
