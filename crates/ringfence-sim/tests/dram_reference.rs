//! The DRAM model against the cycle counts of Ramulator 2.1.

#[path = "common/load.rs"]
mod load;

use load::{Pattern, closed_loop, ddr4_2400};

/// Clocks for 1,000,000 reads after 20,000, from Ramulator 2.1 (FRFCFS).
const REFERENCE: [(Pattern, u32, u64); 6] = [
    (Pattern::Sequential, 1, 6_634_900),
    (Pattern::Sequential, 4, 4_212_767),
    (Pattern::Sequential, 8, 4_212_220),
    (Pattern::Random, 1, 16_417_285),
    (Pattern::Random, 4, 7_087_886),
    (Pattern::Random, 8, 6_929_534),
];

#[test]
fn closed_loop_reads_take_the_reference_clocks() {
    for (pattern, outstanding, reference) in REFERENCE {
        let start = std::time::Instant::now();
        let measured = closed_loop(&ddr4_2400(), pattern, outstanding, 20_000, 1_000_000);
        let error = measured.cycles as f64 / reference as f64 - 1.0;
        println!(
            "{pattern:?} M={outstanding}: {} clocks, {:+.4} %, latency {:.2} ns, {:.2} M/s",
            measured.cycles,
            error * 100.0,
            measured.mean_latency * 0.833,
            1.02 / start.elapsed().as_secs_f64()
        );
    }
}
