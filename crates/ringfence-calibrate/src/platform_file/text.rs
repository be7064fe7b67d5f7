//! The tables of a platform file, each figure with its source.

use std::fmt::Display;

use ringfence_scenario::quantity::{BANDWIDTH, SIZE, TIME};

use super::NAME;
use super::derive::{BANK_SERVICE_CYCLES, MemoryModel};
use crate::figures::{Figures, MemoryFigures};
use crate::statistics::Spread;

/// What every file begins with.
const LEGEND: &str = "\
# Written by `ringfence calibrate` on the machine that it describes.
#
# Sources:
#   measured  alone on the machine: the value that a quarter of the repetitions stay
#             below, as other work only adds time, and the least and the most of them
#   system    what the system says in sysfs and procfs
#   [LITTLE]  Little's law: the latency of memory over the time of an access is the
#             number of accesses under way
#   [SCALE]   the power of two that serves what all cores take at the same time; where
#             n cores take 90 % of n times one core, or more, twice of it: then the
#             model does not saturate either. Nothing else comes from programs that
#             run side by side.
#   assumed   nothing measures it
";
/// Where no tick was found: the order of magnitude of an interrupt's entry, handler and exit.
const INTERRUPT_NS: u64 = 2_000;
/// Linux, kernel/Kconfig.hz: 250 Hz, the default.
const TICK_NS: u64 = 4_000_000;

/// A key, its value and where that is from.
fn line(key: &str, value: impl Display, source: impl Display) -> String {
    format!("{key} = {value} # {source}\n")
}

/// A quantity as a file has it.
fn quoted(value: impl Display) -> String {
    format!("\"{value}\"")
}

/// A measurement as a comment says it.
fn seen(spread: &Spread, unit: &str) -> String {
    format!(
        "measured {:.2} {unit} ({:.2} to {:.2}, {} times)",
        spread.undisturbed(),
        spread.least,
        spread.most,
        spread.count
    )
}

/// Everything before `[memory]`.
pub fn head(figures: &Figures, cycle_ns: &Spread) -> String {
    let warnings = figures.warnings.iter().map(|warning| wrapped(warning));
    let cores = figures.inventory.cpus.len();
    let clock_mhz = (1e3 / cycle_ns.undisturbed()).round();
    let clock_source = match cycle_ns.count {
        1 => "system: cpuinfo_max_freq".to_owned(),
        _ => seen(&cycle_ns.map(|ns| ns * 1000.0), "ps for an addition"),
    };
    let kind = match figures.inventory.is_virtual {
        true => "virtual machine",
        false => "machine",
    };
    let mut description = format!(
        "{} {kind}: {cores} cores at {clock_mhz} MHz",
        figures.architecture
    );
    if let Some(memory) = &figures.memory {
        let [private, llc] =
            [&memory.private, &memory.llc].map(|cache| SIZE.format(cache.size_bytes));
        description += &format!(", {private} private and {llc} shared cache");
    }
    [
        LEGEND.to_owned(),
        warnings.collect(),
        format!("\nname = \"{NAME}\"\ndescription = \"{description}\"\n"),
        line(
            "cores",
            cores,
            "system: those that may be used, one thread of each",
        ),
        line(
            "frequency",
            quoted(format!("{clock_mhz} MHz")),
            clock_source,
        ),
        os(figures),
    ]
    .concat()
}

fn os(figures: &Figures) -> String {
    let micro = |spread: &Spread| spread.map(|ns| ns / 1000.0);
    let whole_ns = |ns: f64| ns.round().max(1.0) as u64;
    let switch = &figures.os.context_switch_ns;
    let (interrupt_ns, interrupt_source) = match &figures.os.interrupt_ns {
        Some(found) => (
            whole_ns(found.undisturbed()),
            format!("{}, of a tick", seen(&micro(found), "us")),
        ),
        None => (INTERRUPT_NS, "assumed: no rhythm of ticks was found".into()),
    };
    let (tick_ns, tick_source) = match figures.os.tick_ns {
        Some(tick_ns) => (tick_ns, "measured: the rhythm of interruptions"),
        None => (
            TICK_NS,
            "assumed: 250 Hz; no rhythm of interruptions was found",
        ),
    };
    let time = |ns: u64| quoted(TIME.format(ns));
    [
        "\n[os]\n".to_owned(),
        line(
            "context_switch",
            time(whole_ns(switch.undisturbed())),
            format!("{}, over pipes", seen(&micro(switch), "us")),
        ),
        line("interrupt", time(interrupt_ns), interrupt_source),
        line(
            "reschedule_latency",
            time((interrupt_ns / 2).max(1)),
            "assumed: half of `interrupt`",
        ),
        line("tick", time(tick_ns), tick_source),
    ]
    .concat()
}

/// `[memory]` and `[memory.core]`.
pub fn core(memory: &MemoryFigures, model: &MemoryModel) -> String {
    let (placement, pages) = match memory.in_huge_pages {
        true => ("sequential", "huge"),
        false => ("random", "small"),
    };
    let instructions = 1000 / model.cycles_per_instruction_milli;
    let mut text = [
        "\n[memory]\n".to_owned(),
        line("line", quoted(format!("{} B", memory.line_bytes)), "system"),
        line("page_placement", quoted(placement), format!("system: large arrays lie in {pages} pages")),
        "\n[memory.core]\n".to_owned(),
        line(
            "issue_cycles",
            model.issue_cycles,
            format!("{} for a line of the private cache", seen(&memory.read_ns.private, "ns")),
        ),
        line(
            "cycles_per_instruction_milli",
            model.cycles_per_instruction_milli,
            format!("assumed: {instructions} instructions a cycle"),
        ),
        line(
            "outstanding_misses",
            model.outstanding_misses,
            format!(
                "[LITTLE] measured {:.2} ns at best, along linked lists; {} of them come within 5 %",
                model.best_access_ns, model.knee_lists
            ),
        ),
        line(
            "store_buffer",
            model.store_buffer,
            format!("[LITTLE] {} for a scattered store", seen(&memory.scattered_store_ns, "ns")),
        ),
        line(
            "reorder_window",
            model.reorder_window,
            "assumed; a core that works in program order has none",
        ),
    ]
    .concat();
    if let Some(prefetches) = model.prefetches {
        text += "\n[memory.core.prefetcher]\n";
        text += &line("streams", 16, "assumed");
        text += &line(
            "distance_lines",
            prefetches,
            "assumed: as many as may be outstanding",
        );
        text += &line(
            "outstanding",
            prefetches,
            format!(
                "[LITTLE] {} in order, less the misses above",
                seen(&memory.read_ns.dram, "ns")
            ),
        );
        text += &line("fills", quoted("l1"), "assumed");
    }
    text
}

/// `[memory.l1]` and `[memory.llc]`.
pub fn caches(memory: &MemoryFigures, model: &MemoryModel) -> String {
    let (private, llc) = (&memory.private, &memory.llc);
    let mut text = String::from("\n[memory.l1]\n");
    if private.level > 1 {
        text += "\
# The machine has smaller caches inside this one. The model has one private level, and
# what contends is outside it, so this is the last one that is private: programs that
# fit a smaller one run too slowly on the model.
";
    }
    let size = |bytes: u64| quoted(SIZE.format(bytes));
    text += &line(
        "size",
        size(model.private.size_bytes),
        format!(
            "system: level {}{}",
            private.level,
            model.private.note(private)
        ),
    );
    text += &line(
        "ways",
        model.private.ways,
        ways_source(model.private.ways, private.ways),
    );
    text += &line(
        "latency_cycles",
        model.private_cycles,
        seen(&memory.latency_ns.private, "ns"),
    );
    text += "\n[memory.llc]\n";
    text += &traffic(memory);
    let size_source = match model.llc_is_seen {
        true => format!(
            "measured: what programs find of {} (system: level {})",
            SIZE.format(llc.size_bytes),
            llc.level
        ),
        false => format!("system: level {}{}", llc.level, model.llc.note(llc)),
    };
    text += &line("size", size(model.llc.size_bytes), size_source);
    text += &line(
        "ways",
        model.llc.ways,
        ways_source(model.llc.ways, llc.ways),
    );
    text += &line(
        "latency_cycles",
        model.llc_cycles,
        seen(&memory.latency_ns.llc, "ns"),
    );
    let bits = (0..model.banks.ilog2()).map(|bank| memory.line_bytes.ilog2() + bank);
    let functions: Vec<String> = bits.map(|bit| format!("[{bit}]")).collect();
    text += &line(
        "bank_functions",
        format!("[{}]", functions.join(", ")),
        "[SCALE]",
    );
    text += &line("bank_service_cycles", BANK_SERVICE_CYCLES, "assumed");
    text += &line(
        "mshrs",
        model.llc_mshrs,
        "assumed: all that the cores may have outstanding",
    );
    text + &line("replacement", quoted("lru"), "assumed")
}

fn ways_source(ways: u32, stated: u32) -> String {
    match stated {
        0 => "assumed: the system does not say".into(),
        _ if ways == stated => "system".into(),
        _ => format!("system: {stated}; the model has a power of two of sets"),
    }
}

/// Who shares the last-level cache, and what all cores take from it.
fn traffic(memory: &MemoryFigures) -> String {
    let mut text = String::new();
    if !memory.sharing.is_empty() {
        let shared = memory.sharing.iter().filter(|other| other.is_shared);
        text += &format!(
            "# measured: {} of {} other cores share it with the first.\n",
            shared.count(),
            memory.sharing.len()
        );
    }
    for (what, rates) in [
        ("read", memory.all_read_bytes_per_s),
        ("write", memory.all_write_bytes_per_s),
    ] {
        if let Some(rates) = rates {
            let [llc, dram] = [rates.llc, rates.dram]
                .map(|rate| BANDWIDTH.format((rate / 1e8).round() as u64 * 100_000_000));
            text += &format!(
                "# measured: all cores together {what} {llc} here and {dram} in memory.\n"
            );
        }
    }
    text
}

/// A sentence as comment lines.
fn wrapped(sentence: &str) -> String {
    let mut text = String::from("#\n#");
    let mut width = 1;
    for word in sentence.split_whitespace() {
        if width + word.len() > 88 {
            text += "\n#";
            width = 1;
        }
        text += &format!(" {word}");
        width += 1 + word.len();
    }
    text.push('\n');
    text
}
