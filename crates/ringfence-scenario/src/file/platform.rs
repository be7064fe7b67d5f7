//! The platform file, and the `[platform]` table of a scenario.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use toml::de::DeValue;

use super::macros::{file_table, file_word};
use super::value::{Bandwidth, Count, FineTime, Frequency, Name, Size, Text, Time, whole_number};
use super::{Decode, List, Located, describe};
use crate::diagnostic::{Problems, Span};
use crate::platform as model;

file_table! {
    /// A machine.
    pub struct PlatformFile {
        /// Name, such as `raspberry-pi-3`.
        pub name: Located<Name>,
        /// One line that says what it is. Default: empty.
        pub description: Option<Located<Text>>,
        /// Number of cores.
        pub cores: Located<Count<1, 512>>,
        /// Clock of every core.
        pub frequency: Located<Frequency>,
        /// Costs of the operating system's own work.
        pub os: Located<OsTable>,
        /// Costs of a hypervisor's own work. Scenarios with reservations need them in a simulation.
        pub hypervisor: Option<Located<HypervisorTable>>,
        /// Page colours of the last-level cache, a power of two, where there is no `memory` to
        /// tell them. VMs with `colours` need them.
        pub page_colours: Option<Located<Count<1, { model::MemorySystem::PAGE_COLOURS_MAX as u64 }>>>,
        /// Caches and main memory. Left out for a machine that only measures
        /// time, on which `compute` programs alone run.
        pub memory: Option<Located<MemoryTable>>,
    }
}

file_table! {
    /// What scheduling costs. All but the tick may be `"0 ns"`.
    #[schemars(title = "[os]")]
    pub struct OsTable {
        /// From a core's decision to switch to the first instruction of the next thread.
        pub context_switch: Located<Time>,
        /// Extra work of a reschedule or timer interrupt on the core that takes it.
        pub interrupt: Located<Time>,
        /// From sending a reschedule interrupt to its arrival on the other core.
        pub reschedule_latency: Located<Time>,
        /// Period of the scheduler tick that shares a core between best-effort
        /// threads; `"1 us"` to `"1 s"`.
        pub tick: Located<Time>,
    }
}

file_table! {
    /// What holding a VM to its reservation costs; at most `"1 s"` each.
    #[schemars(title = "[hypervisor]")]
    pub struct HypervisorTable {
        /// What an interrupt that the hypervisor takes, for the begin of a period or a share
        /// that is used up, costs the guest on that core.
        pub interrupt: Located<Time>,
        /// From the memory event that uses up a core's share to that core's interrupt; not `"0 ns"`.
        pub overflow_latency: Located<Time>,
    }
}

file_table! {
    /// Everything between a core and its data.
    #[schemars(title = "[memory]")]
    pub struct MemoryTable {
        /// Bytes of a cache line: a power of two, `"16 B"` to `"256 B"`.
        pub line: Located<Size>,
        /// How a core issues accesses.
        pub core: Located<CoreTable>,
        /// Private first-level data cache: write-back, write-allocate, least recently used.
        pub l1: Located<L1Table>,
        /// Shared last-level cache: banked, write-back, write-allocate.
        pub llc: Located<LlcTable>,
        /// Main memory.
        pub dram: Located<DramTable>,
        /// `"random"` or `"sequential"`. Default: `"random"`.
        pub page_placement: Option<Located<PagePlacement>>,
    }
}

file_table! {
    /// How a core issues memory accesses.
    #[schemars(title = "[memory.core]")]
    pub struct CoreTable {
        /// Cycles that issuing one access occupies the core.
        pub issue_cycles: Located<Count<1, 1000>>,
        /// Cycles per instruction that is not a memory access, in thousandths.
        pub cycles_per_instruction_milli: Located<Count<1, 100_000>>,
        /// First-level misses a core may have outstanding before it stalls.
        pub outstanding_misses: Located<Count<1, 64>>,
        /// Stores that miss and wait without stalling the core.
        pub store_buffer: Located<Count<1, 256>>,
        /// Instructions that an out-of-order core can have begun past the oldest
        /// load that waits. Default: the core works in program order.
        pub reorder_window: Option<Located<Count<1, 1024>>>,
        /// Fetches lines before they are asked for. Default: none.
        pub prefetcher: Option<Located<PrefetcherTable>>,
    }
}

file_table! {
    /// A stream prefetcher: it follows walks over neighbouring lines, up or
    /// down, and stays in the page of the walk.
    #[schemars(title = "[memory.core.prefetcher]")]
    pub struct PrefetcherTable {
        /// Walks that it follows at a time.
        pub streams: Located<Count<1, 64>>,
        /// How many lines it is ahead of the walk.
        pub distance_lines: Located<Count<1, 64>>,
        /// Prefetches that it may have outstanding. Default: `distance_lines`.
        pub outstanding: Option<Located<Count<1, 64>>>,
        /// `"l1"` or `"llc"`.
        pub fills: Located<PrefetchLevel>,
    }
}

file_word! {
    /// Where the lines go that a prefetcher fetches.
    pub enum PrefetchLevel -> model::PrefetchLevel {
        /// The first-level cache.
        L1 = "l1" => model::PrefetchLevel::L1,
        /// The last-level cache.
        Llc = "llc" => model::PrefetchLevel::Llc,
    }
}

file_table! {
    /// A private first-level data cache.
    #[schemars(title = "[memory.l1]")]
    pub struct L1Table {
        /// Capacity: ways × lines × a power of two of sets.
        pub size: Located<Size>,
        /// Associativity.
        pub ways: Located<Count<1, 64>>,
        /// Load-to-use latency of a hit in core cycles.
        pub latency_cycles: Located<Count<1, 1000>>,
        /// Lines that may be missing at a time, whoever wants them. Default: as
        /// many as loads, stores and prefetches may be outstanding together.
        pub mshrs: Option<Located<Count<1, 512>>>,
    }
}

file_word! {
    /// What an eviction from the last-level cache does to the first-level caches.
    pub enum Inclusion -> model::Inclusion {
        /// Nothing.
        NonInclusive = "non-inclusive" => model::Inclusion::NonInclusive,
        /// Their copies are dropped too.
        Inclusive = "inclusive" => model::Inclusion::Inclusive,
    }
}

file_word! {
    /// How the operating system chooses the page frames of a program's memory.
    pub enum PagePlacement -> model::PagePlacement {
        /// Scattered over the memory, as on a machine that has run for a while.
        Random = "random" => model::PagePlacement::Random,
        /// In a row from a random place, as on a machine that has just booted.
        Sequential = "sequential" => model::PagePlacement::Sequential,
    }
}

file_word! {
    /// Which line a set gives up.
    pub enum Replacement -> model::Replacement {
        /// Least recently used.
        Lru = "lru" => model::Replacement::Lru,
        /// Pseudo-random, from the scenario's seed.
        Random = "random" => model::Replacement::Random,
    }
}

file_table! {
    /// A shared last-level cache.
    #[schemars(title = "[memory.llc]")]
    pub struct LlcTable {
        /// Capacity: ways × lines × a power of two of sets; larger than the first-level cache.
        pub size: Located<Size>,
        /// Associativity.
        pub ways: Located<Count<1, 64>>,
        /// Load-to-use latency of an uncontended hit, seen from the core, in core cycles.
        pub latency_cycles: Located<Count<1, 10_000>>,
        /// How lines map to banks. Each entry gives one bit of the bank's
        /// number: the parity of the physical address bits that it lists, as
        /// `[[4], [5], [6, 12]]` for eight banks. Default: one bank.
        #[schemars(with = "Option<List<AddressBits>>")]
        pub bank_functions: List<AddressBits>,
        /// Core cycles that one access occupies its bank.
        pub bank_service_cycles: Located<Count<1, 1000>>,
        /// Distinct lines that may be missing at a time.
        pub mshrs: Located<Count<1, 1024>>,
        /// Most of `mshrs` that one bank may use. Default: all.
        pub mshrs_per_bank: Option<Located<Count<1, 1024>>>,
        /// Dirty lines that may wait at a time for the memory controller to take
        /// them. Default: as many as `mshrs`.
        pub write_back_buffer: Option<Located<Count<1, 1024>>>,
        /// `"non-inclusive"` or `"inclusive"`. Default: `"non-inclusive"`.
        pub inclusion: Option<Located<Inclusion>>,
        /// `"lru"` or `"random"`.
        pub replacement: Located<Replacement>,
    }
}

file_word! {
    /// Order of address fields, low to high. Each has a long and a short name.
    pub enum AddressMap -> model::AddressMap {
        /// Column, bank group, bank, rank, row.
        ColumnGroupBankRow = "column-group-bank-row" => model::AddressMap::ColumnGroupBankRow,
        /// Bank group, column, bank, rank, row.
        GroupColumnBankRow = "group-column-bank-row" => model::AddressMap::GroupColumnBankRow,
        /// Bank group, bank, rank, column, row.
        BankColumnRow = "bank-column-row" => model::AddressMap::BankColumnRow,
        /// `column-group-bank-row`.
        CoBgBaRo = "co_bg_ba_ro" => model::AddressMap::ColumnGroupBankRow,
        /// `group-column-bank-row`.
        BgCoBaRo = "bg_co_ba_ro" => model::AddressMap::GroupColumnBankRow,
        /// `bank-column-row`.
        BankCoRo = "bank_co_ro" => model::AddressMap::BankColumnRow,
    }
}

file_word! {
    /// What one refresh command refreshes.
    pub enum RefreshMode -> model::RefreshMode {
        /// Every bank of a rank, each `refi`.
        AllBanks = "all-banks" => model::RefreshMode::AllBanks,
        /// One bank of a rank, the banks in turn, so that each has its turn every `refi`.
        PerBank = "per-bank" => model::RefreshMode::PerBank,
    }
}

file_word! {
    /// Which of the commands that are legal in a clock goes first.
    pub enum Scheduler -> model::Scheduler {
        /// The command of the oldest request.
        FrFcfs = "fr-fcfs" => model::Scheduler::FrFcfs,
        /// As `fr-fcfs`, but at most `hit_cap` younger row hits of a bank go
        /// before an older request for another row of it.
        FrFcfsCap = "fr-fcfs-cap" => model::Scheduler::FrFcfsCap { hits: HIT_CAP },
        /// Row hits before all other commands, each by age; a row with a hit stays open.
        RowHitFirst = "row-hit-first" => model::Scheduler::RowHitFirst,
        /// Cores that are not on the blacklist first, then as `row-hit-first`.
        /// `blacklist_after` requests of a core in a row put it on the list, which
        /// is cleared every `blacklist_clear` clocks.
        Blacklist = "blacklist" => model::Scheduler::Blacklist {
            streak: BLACKLIST_AFTER,
            clear: BLACKLIST_CLEAR,
        },
    }
}

/// The cap of Mutlu and Moscibroda, "Stall-time fair memory access scheduling" (MICRO 2007).
const HIT_CAP: u32 = 4;
/// Threshold of Subramanian et al., "The blacklisting memory scheduler" (ICCD 2014).
const BLACKLIST_AFTER: u32 = 4;
/// Clearing interval of the same.
const BLACKLIST_CLEAR: u32 = 10_000;

file_table! {
    /// Main memory behind one controller; identical channels interleaved by cache line.
    #[schemars(title = "[memory.dram]")]
    pub struct DramTable {
        /// Device family and speed, such as `LPDDR2-900`.
        pub name: Located<Name>,
        /// Channels: a power of two.
        pub channels: Located<Count<1, 16>>,
        /// Ranks per channel: a power of two.
        pub ranks: Located<Count<1, 8>>,
        /// Bank groups per rank: a power of two. Default: 1, for families without bank groups.
        pub bank_groups: Option<Located<Count<1, 16>>>,
        /// Banks per bank group: a power of two.
        pub banks_per_group: Located<Count<1, 64>>,
        /// Bytes of one row of one rank across the channel: a power of two.
        pub row: Located<Size>,
        /// Rows per bank: a power of two.
        pub rows: Located<Count<1, 1_048_576>>,
        /// Data bits of one channel: a power of two.
        pub channel_bits: Located<Count<8, 512>>,
        /// Transfers that one column command moves: a power of two, two a clock.
        pub burst_length: Located<Count<2, 64>>,
        /// Memory clock; data moves at twice this rate.
        pub clock: Located<Frequency>,
        /// Peak bandwidth of all channels together. Checked against the other keys when given.
        pub peak_bandwidth: Option<Located<Bandwidth>>,
        /// Order of address fields from low to high after the line offset.
        pub address_map: Located<AddressMap>,
        /// Each entry flips one bit of the bank's number, its lowest bit first
        /// (bank, then bank group, then rank): by the parity of the physical
        /// address bits that it lists, as `[[17], [18]]`. Default: none.
        #[schemars(with = "Option<List<AddressBits>>")]
        pub bank_xor: List<AddressBits>,
        /// `"all-banks"` or `"per-bank"`. Default: `"all-banks"`.
        pub refresh: Option<Located<RefreshMode>>,
        /// Command timings.
        pub timing: Located<TimingTable>,
        /// Scheduler and queue settings.
        pub controller: Located<ControllerTable>,
    }
}

file_table! {
    /// DRAM timings by their JEDEC names without the leading `t`. Each is a
    /// whole number of memory clocks or a time, which is rounded up to whole
    /// clocks (`refi`: down). Distances between commands run from the last
    /// clock of one to the last clock of the next.
    #[schemars(title = "[memory.dram.timing]")]
    pub struct TimingTable {
        /// Read latency: column command to first data.
        pub cl: Located<Clocks>,
        /// Write latency: column command to first data.
        pub cwl: Located<Clocks>,
        /// Activate to column command.
        pub rcd: Located<Clocks>,
        /// Precharge of one bank to its activate or refresh.
        pub rp: Located<Clocks>,
        /// Precharge of all banks to an activate or refresh. Default: `rp`.
        pub rp_all: Option<Located<Clocks>>,
        /// Precharge to precharge of the same rank. Default: 1.
        pub ppd: Option<Located<Clocks>>,
        /// Activate to precharge.
        pub ras: Located<Clocks>,
        /// Activate to activate, different bank group.
        pub rrd_s: Located<Clocks>,
        /// Activate to activate, same bank group. Default: `rrd_s`.
        pub rrd_l: Option<Located<Clocks>>,
        /// Window that holds at most four activates.
        pub faw: Located<Clocks>,
        /// Column to column, different bank group; at least one burst.
        pub ccd_s: Located<Clocks>,
        /// Column to column, same bank group. Default: `ccd_s`.
        pub ccd_l: Option<Located<Clocks>>,
        /// Read to precharge.
        pub rtp: Located<Clocks>,
        /// End of write data to precharge.
        pub wr: Located<Clocks>,
        /// End of write data to read, different bank group.
        pub wtr_s: Located<Clocks>,
        /// End of write data to read, same bank group. Default: `wtr_s`.
        pub wtr_l: Option<Located<Clocks>>,
        /// Extra clocks of bus turnaround from read to write, and between ranks.
        pub turnaround: Located<Clocks>,
        /// Refresh cycle of all banks.
        pub rfc: Located<Clocks>,
        /// Refresh cycle of one bank; required with `refresh = "per-bank"`.
        pub rfc_bank: Option<Located<Clocks>>,
        /// Average time between refreshes of a bank; 0 switches refresh off.
        pub refi: Located<Clocks>,
        /// Clocks that an activate takes on the command bus. Default: 1.
        pub activate_clocks: Option<Located<Count<1, 16>>>,
        /// Clocks that a read or write takes on the command bus. Default: 1.
        pub column_clocks: Option<Located<Count<1, 16>>>,
        /// Clocks that a precharge or refresh takes on the command bus. Default: 1.
        pub precharge_clocks: Option<Located<Count<1, 16>>>,
    }
}

file_table! {
    /// Settings of the memory controller.
    #[schemars(title = "[memory.dram.controller]")]
    pub struct ControllerTable {
        /// `"fr-fcfs"`, `"fr-fcfs-cap"`, `"row-hit-first"` or `"blacklist"`. Default: `"fr-fcfs"`.
        pub scheduler: Option<Located<Scheduler>>,
        /// Of `"fr-fcfs-cap"`: row hits that may overtake. Default: 4.
        pub hit_cap: Option<Located<Count<1, 1024>>>,
        /// Of `"blacklist"`: requests of one core in a row that put it on the list. Default: 4.
        pub blacklist_after: Option<Located<Count<1, 1024>>>,
        /// Of `"blacklist"`: clocks after which the list is cleared. Default: 10000.
        pub blacklist_clear: Option<Located<Count<1, 1_000_000>>>,
        /// Entries of a channel's read queue.
        pub read_queue: Located<Count<1, 1024>>,
        /// Entries of a channel's write queue.
        pub write_queue: Located<Count<1, 1024>>,
        /// Waiting writes at which the controller starts to drain them; at most `write_queue`.
        pub write_high: Located<Count<1, 1024>>,
        /// Waiting writes at which it goes back to reads; less than `write_high`.
        pub write_low: Located<Count<0, 1024>>,
        /// Time from the last-level cache to the controller's queue and back, together.
        pub link: Located<FineTime>,
    }
}

/// A DRAM timing: clocks, or a time that is rounded to clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// Memory clocks.
    Clocks(u32),
    /// Picoseconds.
    Picoseconds(u64),
}

/// Most clocks of one timing.
const CLOCKS_MAX: u64 = 1_000_000;

impl Decode for Clocks {
    fn expected() -> String {
        "a number of memory clocks or a time such as \"18 ns\"".to_owned()
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        match value {
            DeValue::Integer(_) => {
                let count = Count::<0, CLOCKS_MAX>::decode(value, span, problems)?;
                Some(Self::Clocks(count.0 as u32))
            }
            DeValue::String(_) => {
                let time = FineTime::decode(value, span, problems)?;
                Some(Self::Picoseconds(time.0))
            }
            other => {
                problems.report(span, describe(other), Self::expected());
                None
            }
        }
    }
}

impl JsonSchema for Clocks {
    fn schema_name() -> Cow<'static, str> {
        "Clocks".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "clocks or a time",
            "description": "A whole number of memory clocks, or a time such as `\"18 ns\"`.",
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": CLOCKS_MAX},
                FineTime::json_schema(generator),
            ],
            "examples": [17, "18 ns"],
        })
    }
}

/// Physical address bits whose parity is one bit, as a mask; never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressBits(pub u64);

/// Highest physical address bit.
const ADDRESS_BIT_MAX: u64 = 47;

impl Decode for AddressBits {
    fn expected() -> String {
        format!("a list of different address bits from 0 to {ADDRESS_BIT_MAX} such as [6, 12]")
    }

    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self> {
        let mask = value.as_array().and_then(|bits| {
            bits.iter().try_fold(0_u64, |mask, bit| {
                let bit = whole_number(bit.get_ref()).filter(|&bit| bit <= ADDRESS_BIT_MAX)?;
                (mask & (1 << bit) == 0).then_some(mask | 1 << bit)
            })
        });
        let mask = mask.filter(|&mask| mask != 0);
        if mask.is_none() {
            problems.report(span, describe(value), Self::expected());
        }
        mask.map(Self)
    }
}

impl JsonSchema for AddressBits {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "AddressBits".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "address bits",
            "type": "array", "minItems": 1, "uniqueItems": true,
            "items": {"type": "integer", "minimum": 0, "maximum": ADDRESS_BIT_MAX},
        })
    }
}
