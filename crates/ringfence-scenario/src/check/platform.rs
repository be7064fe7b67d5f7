//! Platforms: sizes that divide, powers of two, banks that can all be reached.

use super::dram;
use crate::diagnostic::Problems;
use crate::file::platform::{
    AddressBits, CoreTable, HypervisorTable, L1Table, LlcTable, MemoryTable, OsTable, PlatformFile,
    PrefetcherTable,
};
use crate::file::value::{Count, Size, Time};
use crate::file::{List, Located};
use crate::platform::{
    CoreModel, HypervisorCosts, Inclusion, L1, Llc, MemorySystem, OsCosts, PagePlacement, Platform,
    Prefetcher,
};
use crate::quantity::{SIZE, TIME};

const LINE_BYTES: std::ops::RangeInclusive<u64> = 16..=256;
const TICK_NS: std::ops::RangeInclusive<u64> = 1_000..=1_000_000_000;
const LLC_BANKS_MAX_LOG2: usize = 6;
/// Caches stay in 32 bits with room for arithmetic.
const CACHE_BYTES_MAX: u64 = 1 << 30;

/// Checks a platform; gives nothing when `problems` has or gets any.
pub(crate) fn platform(file: &PlatformFile, problems: &mut Problems) -> Option<Platform> {
    let platform = Platform {
        name: file.name.value.0.clone(),
        description: file
            .description
            .as_ref()
            .map(|text| text.value.0.clone())
            .unwrap_or_default(),
        cores: file.cores.value.0 as u16,
        frequency_hz: file.frequency.value.0,
        os: os(&file.os.value, problems),
        hypervisor: file
            .hypervisor
            .as_ref()
            .map(|table| hypervisor(&table.value, problems)),
        stated_page_colours: page_colours(file, problems),
        memory: file.memory.as_ref().map(|table| memory(table, problems)),
    };
    problems.is_empty().then_some(platform)
}

/// Those that are stated in place of a memory's.
fn page_colours(file: &PlatformFile, problems: &mut Problems) -> Option<u16> {
    let Located { value, span } = file.page_colours.as_ref()?;
    if file.memory.is_some() {
        problems.report(
            *span,
            "`page_colours` beside `memory`",
            "either of them: the last-level cache of `memory` tells its page colours",
        );
    } else if !value.0.is_power_of_two() {
        problems.report(
            *span,
            format!("{} page colours", value.0),
            "a power of two, such as 16",
        );
    }
    Some(value.0 as u16)
}

fn os(table: &OsTable, problems: &mut Problems) -> OsCosts {
    let tick = &table.tick;
    if !TICK_NS.contains(&tick.value.0) {
        problems.report(
            tick.span,
            format!("a tick of {}", TIME.format(tick.value.0)),
            "1 us to 1 s",
        );
    }
    OsCosts {
        context_switch_ns: at_most_a_second(&table.context_switch, problems),
        interrupt_ns: at_most_a_second(&table.interrupt, problems),
        reschedule_latency_ns: at_most_a_second(&table.reschedule_latency, problems),
        tick_ns: tick.value.0,
    }
}

fn hypervisor(table: &HypervisorTable, problems: &mut Problems) -> HypervisorCosts {
    let latency = &table.overflow_latency;
    if latency.value.0 == 0 {
        problems.report(
            latency.span,
            "a latency of 0 ns",
            "more, such as \"100 ns\"",
        );
    }
    HypervisorCosts {
        interrupt_ns: at_most_a_second(&table.interrupt, problems),
        overflow_latency_ns: at_most_a_second(latency, problems),
    }
}

fn at_most_a_second(cost: &Located<Time>, problems: &mut Problems) -> u64 {
    if cost.value.0 > *TICK_NS.end() {
        let found = format!("a cost of {}", TIME.format(cost.value.0));
        problems.report(cost.span, found, "at most 1 s");
    }
    cost.value.0
}

fn memory(table: &Located<MemoryTable>, problems: &mut Problems) -> MemorySystem {
    let table = &table.value;
    let line_bytes = table.line.value.0;
    if !LINE_BYTES.contains(&line_bytes) || !line_bytes.is_power_of_two() {
        problems.report(
            table.line.span,
            format!("a cache line of {}", SIZE.format(line_bytes)),
            "a power of two from 16 B to 256 B",
        );
    }
    let core = core(&table.core.value);
    let l1 = l1(&table.l1.value, &core, line_bytes, problems);
    let llc = llc(&table.llc.value, line_bytes, problems);
    if llc.size_bytes <= l1.size_bytes {
        problems.report(
            table.llc.value.size.span,
            format!(
                "a last-level cache of {}",
                SIZE.format(u64::from(llc.size_bytes))
            ),
            format!(
                "more than the first-level cache's {}",
                SIZE.format(u64::from(l1.size_bytes))
            ),
        );
    }
    if llc.latency_cycles <= l1.latency_cycles {
        problems.report(
            table.llc.value.latency_cycles.span,
            format!("a last-level latency of {} cycles", llc.latency_cycles),
            format!(
                "more than the first-level cache's {} cycles",
                l1.latency_cycles
            ),
        );
    }
    MemorySystem {
        line_bytes: line_bytes.min(*LINE_BYTES.end()) as u32,
        core,
        l1,
        llc,
        dram: dram::dram(&table.dram, line_bytes, problems),
        page_placement: table
            .page_placement
            .as_ref()
            .map_or(PagePlacement::Random, |placement| placement.value.into()),
    }
}

fn core(table: &CoreTable) -> CoreModel {
    CoreModel {
        issue_cycles: u32_of(&table.issue_cycles),
        cycles_per_instruction_milli: u32_of(&table.cycles_per_instruction_milli),
        outstanding_misses: u32_of(&table.outstanding_misses),
        store_buffer: u32_of(&table.store_buffer),
        reorder_window: table.reorder_window.as_ref().map(u32_of),
        prefetcher: table
            .prefetcher
            .as_ref()
            .map(|table| prefetcher(&table.value)),
    }
}

fn prefetcher(table: &PrefetcherTable) -> Prefetcher {
    Prefetcher {
        streams: u32_of(&table.streams),
        distance_lines: u32_of(&table.distance_lines),
        outstanding: u32_of(table.outstanding.as_ref().unwrap_or(&table.distance_lines)),
        fills: table.fills.value.into(),
    }
}

fn l1(table: &L1Table, core: &CoreModel, line_bytes: u64, problems: &mut Problems) -> L1 {
    L1 {
        size_bytes: cache_size(&table.size, table.ways.value.0, line_bytes, problems),
        ways: u32_of(&table.ways),
        latency_cycles: u32_of(&table.latency_cycles),
        mshrs: table.mshrs.as_ref().map_or(core.outstanding(), u32_of),
    }
}

fn llc(table: &LlcTable, line_bytes: u64, problems: &mut Problems) -> Llc {
    refuse_large_ways(table, problems);
    Llc {
        size_bytes: cache_size(&table.size, table.ways.value.0, line_bytes, problems),
        ways: u32_of(&table.ways),
        latency_cycles: u32_of(&table.latency_cycles),
        bank_functions: bank_functions(&table.bank_functions, problems),
        bank_service_cycles: u32_of(&table.bank_service_cycles),
        mshrs: u32_of(&table.mshrs),
        mshrs_per_bank: table
            .mshrs_per_bank
            .as_ref()
            .map_or(u32_of(&table.mshrs), u32_of),
        write_back_buffer: table
            .write_back_buffer
            .as_ref()
            .map_or(u32_of(&table.mshrs), u32_of),
        inclusion: table
            .inclusion
            .as_ref()
            .map_or(Inclusion::NonInclusive, |inclusion| inclusion.value.into()),
        replacement: table.replacement.value.into(),
    }
}

/// Page colours are numbered.
fn refuse_large_ways(table: &LlcTable, problems: &mut Problems) {
    let way_bytes = table.size.value.0 / table.ways.value.0;
    let colours = u64::from(MemorySystem::PAGE_COLOURS_MAX);
    let most_bytes = colours * u64::from(MemorySystem::PAGE_BYTES);
    if way_bytes > most_bytes {
        problems.report_with_help(
            table.size.span,
            format!("a way of {}", SIZE.format(way_bytes)),
            format!(
                "at most {} in a way of the last-level cache, which is {colours} page colours",
                SIZE.format(most_bytes)
            ),
            "raise `ways` or shrink the cache",
        );
    }
}

/// A cache holds `ways` lines in each of a power of two of sets.
fn cache_size(size: &Located<Size>, ways: u64, line_bytes: u64, problems: &mut Problems) -> u32 {
    let way_lines = ways * line_bytes.max(1);
    let sets = size.value.0 / way_lines;
    let divides = size.value.0.is_multiple_of(way_lines) && sets.is_power_of_two();
    if !divides || size.value.0 > CACHE_BYTES_MAX {
        problems.report(
            size.span,
            format!("a cache of {}", SIZE.format(size.value.0)),
            format!(
                "{ways} ways of {} lines times a power of two of sets, at most 1 GiB",
                SIZE.format(line_bytes)
            ),
        );
    }
    size.value.0.min(CACHE_BYTES_MAX) as u32
}

/// Bank functions are independent: otherwise some banks would never be used.
fn bank_functions(functions: &List<AddressBits>, problems: &mut Problems) -> Vec<u64> {
    if let Some(function) = functions.get(LLC_BANKS_MAX_LOG2) {
        problems.report(
            function.span,
            format!("{} bank functions", functions.len()),
            format!("at most {LLC_BANKS_MAX_LOG2}, which is 64 banks"),
        );
    }
    let mut basis: Vec<u64> = Vec::new();
    for function in functions {
        let reduced = basis
            .iter()
            .fold(function.value.0, |mask, base| mask.min(mask ^ base));
        if reduced == 0 {
            problems.report(
                function.span,
                "a bank function that follows from the ones before it",
                "functions of which none is the exclusive or of others",
            );
        } else {
            basis.push(reduced);
            basis.sort_unstable_by(|a, b| b.cmp(a));
        }
    }
    functions.iter().map(|function| function.value.0).collect()
}

/// Counts of a platform file are below 2^32 by their types.
pub(super) fn u32_of<const MIN: u64, const MAX: u64>(count: &Located<Count<MIN, MAX>>) -> u32 {
    const { assert!(MAX <= u32::MAX as u64) };
    count.value.0 as u32
}
