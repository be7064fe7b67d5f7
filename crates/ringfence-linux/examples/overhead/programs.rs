//! What BPF programs cost, as the kernel counts it (sysctl kernel.bpf_stats_enabled).

use std::collections::BTreeMap;
use std::fs;
use std::io;

use libbpf_rs::query::ProgInfoIter;
use serde::Serialize;

/// One program, on average of the cycles.
#[derive(Serialize)]
pub struct Program {
    name: String,
    calls: f64,
    time_ns: f64,
}

/// Calls and nanoseconds of each program since it was loaded.
pub type Counted = BTreeMap<(u32, String), (u64, u64)>;

/// Begins or ends to count.
pub fn count(counts: bool) -> io::Result<()> {
    let path = "/proc/sys/kernel/bpf_stats_enabled";
    fs::write(path, if counts { "1" } else { "0" })
}

/// What was counted so far.
pub fn counted() -> Counted {
    let each = ProgInfoIter::default().map(|program| {
        let name = program.name.to_string_lossy().into_owned();
        ((program.id, name), (program.run_cnt, program.run_time_ns))
    });
    each.collect()
}

/// What was counted since then, over so many cycles; the programs that ran.
pub fn since(before: &Counted, cycles: usize) -> Vec<Program> {
    let cycles = cycles as f64;
    let each = counted().into_iter().filter_map(|(key, (calls, time_ns))| {
        let (calls_before, time_before_ns) = before.get(&key).copied().unwrap_or_default();
        let calls = calls - calls_before;
        (calls > 0).then(|| Program {
            name: key.1,
            calls: calls as f64 / cycles,
            time_ns: (time_ns - time_before_ns) as f64 / cycles,
        })
    });
    each.collect()
}
