//! The checked platform: cores, caches, DRAM and operating-system costs.

/// A machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Platform {
    /// Name, such as `raspberry-pi-3`.
    pub name: String,
    /// One line that says what it is.
    pub description: String,
    /// Number of cores, 1 to 512; targets state their own limits.
    pub cores: u16,
    /// Clock of every core in hertz.
    pub frequency_hz: u64,
    /// Costs of the operating system's own work.
    pub os: OsCosts,
    /// Costs of a hypervisor's own work; `None` where nobody knows them.
    pub hypervisor: Option<HypervisorCosts>,
    /// Page colours of the last-level cache, a power of two, where there is no `memory` to tell
    /// them; see [`Platform::page_colours`].
    pub stated_page_colours: Option<u16>,
    /// Caches and DRAM; `None` for a machine that only measures time, on which
    /// [`crate::model::Program::Compute`] alone can run.
    pub memory: Option<MemorySystem>,
}

impl Platform {
    /// Into how many parts pages divide the sets of the last-level cache: a power of two; `None`
    /// where nobody knows.
    pub fn page_colours(&self) -> Option<u16> {
        let of_memory = self.memory.as_ref().map(MemorySystem::page_colours);
        of_memory.or(self.stated_page_colours)
    }
}

/// What scheduling costs, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OsCosts {
    /// From a core's switch decision to the first instruction of the next thread.
    pub context_switch_ns: u64,
    /// Extra work of a reschedule interrupt or timer interrupt on the core that takes it.
    pub interrupt_ns: u64,
    /// From sending a reschedule interrupt to its arrival on the other core.
    pub reschedule_latency_ns: u64,
    /// Period of the scheduler tick that shares a core between best-effort threads.
    pub tick_ns: u64,
}

/// What holding a VM to its reservation costs, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HypervisorCosts {
    /// What an interrupt that the hypervisor takes costs the guest on that core, from its
    /// entry to the guest's next instruction.
    pub interrupt_ns: u64,
    /// From the memory event that uses up a core's share to that core's interrupt; positive.
    pub overflow_latency_ns: u64,
}

/// Everything between a core and its data.
#[derive(Debug, Clone, PartialEq)]
pub struct MemorySystem {
    /// Bytes of a cache line: a power of two, 16 to 256.
    pub line_bytes: u32,
    /// How a core issues accesses.
    pub core: CoreModel,
    /// Private first-level data cache.
    pub l1: L1,
    /// Shared last-level cache.
    pub llc: Llc,
    /// Main memory.
    pub dram: Dram,
    /// Where the operating system finds pages.
    pub page_placement: PagePlacement,
}

/// How the operating system chooses the page frames of a program's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagePlacement {
    /// Scattered over the memory, as on a machine that has run for a while.
    Random,
    /// In a row from a random place, as on a machine that has just booted.
    Sequential,
}

impl MemorySystem {
    /// Bytes of a page, as on every target platform.
    pub const PAGE_BYTES: u32 = 4096;

    /// Most page colours: their numbers fit 16 bits.
    pub const PAGE_COLOURS_MAX: u16 = 1 << 15;

    /// Into how many parts pages divide the sets of the last-level cache: a
    /// power of two, 1 to [`Self::PAGE_COLOURS_MAX`].
    pub fn page_colours(&self) -> u16 {
        let way_bytes = self.llc.size_bytes / self.llc.ways;
        (way_bytes / Self::PAGE_BYTES).clamp(1, Self::PAGE_COLOURS_MAX.into()) as u16
    }

    /// The banks of the last-level cache in which lines lie, ascending: fewer
    /// than there are when a bank function counts bits inside a line.
    pub fn llc_banks(&self) -> Vec<u16> {
        let line_bits = self.line_bytes.ilog2();
        let memory_bits = self.dram.capacity_bytes().ilog2();
        let mut banks = vec![0];
        for bit in line_bits..memory_bits {
            let flipped = self.llc.bank_of(1 << bit);
            if !banks.contains(&flipped) {
                banks.extend_from_within(..);
                let half = banks.len() / 2;
                banks[half..].iter_mut().for_each(|bank| *bank ^= flipped);
            }
        }
        banks.sort_unstable();
        banks
    }
}

/// How a core issues memory accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreModel {
    /// Cycles that issuing one access occupies the core.
    pub issue_cycles: u32,
    /// Cycles per instruction that is not a memory access, in thousandths.
    pub cycles_per_instruction_milli: u32,
    /// L1 misses a core may have outstanding before it stalls, at least 1.
    pub outstanding_misses: u32,
    /// Stores that miss wait here without stalling the core, at least 1.
    pub store_buffer: u32,
    /// Instructions that an out-of-order core can have begun past the oldest
    /// load that waits; `None` is a core that works in program order.
    pub reorder_window: Option<u32>,
    /// Fetches lines before they are asked for.
    pub prefetcher: Option<Prefetcher>,
}

/// A stream prefetcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefetcher {
    /// Walks that it follows at a time, at least 1.
    pub streams: u32,
    /// Lines that it is ahead of the walk, at least 1.
    pub distance_lines: u32,
    /// Prefetches that it may have outstanding, at least 1.
    pub outstanding: u32,
    /// Where the lines go.
    pub fills: PrefetchLevel,
}

/// A cache that a prefetcher fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefetchLevel {
    /// The first-level cache.
    L1,
    /// The last-level cache.
    Llc,
}

impl CoreModel {
    /// Prefetches that may be outstanding.
    pub fn outstanding_prefetches(&self) -> u32 {
        self.prefetcher
            .map_or(0, |prefetcher| prefetcher.outstanding)
    }

    /// Requests that a core can have under way at a time.
    pub fn outstanding(&self) -> u32 {
        self.outstanding_misses + self.store_buffer + self.outstanding_prefetches()
    }
}

/// A private first-level data cache: write-back, write-allocate, least recently used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct L1 {
    /// Capacity in bytes.
    pub size_bytes: u32,
    /// Associativity.
    pub ways: u32,
    /// Load-to-use latency of a hit in core cycles.
    pub latency_cycles: u32,
    /// Lines that may be missing at a time, at least 1.
    pub mshrs: u32,
}

/// A shared last-level cache: banked, write-back, write-allocate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llc {
    /// Capacity in bytes.
    pub size_bytes: u32,
    /// Associativity.
    pub ways: u32,
    /// Load-to-use latency of an uncontended hit, seen from the core, in core cycles.
    pub latency_cycles: u32,
    /// How lines map to banks: each function is a mask of physical address bits
    /// whose parity is one bit of the bank's number. Empty is one bank.
    pub bank_functions: Vec<u64>,
    /// Core cycles that one access occupies its bank.
    pub bank_service_cycles: u32,
    /// Distinct lines that may be missing at a time.
    pub mshrs: u32,
    /// Most of `mshrs` that one bank may use.
    pub mshrs_per_bank: u32,
    /// Dirty lines that may wait at a time for the memory controller to take them.
    pub write_back_buffer: u32,
    /// What an eviction does to the first-level caches.
    pub inclusion: Inclusion,
    /// Which line a set gives up.
    pub replacement: Replacement,
}

impl Llc {
    /// The bank that holds the physical `address`.
    pub fn bank_of(&self, address: u64) -> u16 {
        let functions = self.bank_functions.iter().enumerate();
        functions.fold(0, |bank, (bit, mask)| {
            bank | (((address & mask).count_ones() as u16 & 1) << bit)
        })
    }
}

/// What an eviction from the last-level cache does to the first-level caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inclusion {
    /// Nothing.
    NonInclusive,
    /// Their copies are dropped too.
    Inclusive,
}

/// Replacement policy of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// Least recently used.
    Lru,
    /// Pseudo-random from the scenario's seed.
    Random,
}

/// Main memory behind one controller; identical channels interleaved by line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dram {
    /// Device family, such as `LPDDR2-900`.
    pub name: String,
    /// Channels, a power of two.
    pub channels: u32,
    /// Ranks per channel.
    pub ranks: u32,
    /// Bank groups per rank; 1 where the family has none.
    pub bank_groups: u32,
    /// Banks per bank group.
    pub banks_per_group: u32,
    /// Bytes of one row of one rank across the channel.
    pub row_bytes: u32,
    /// Rows per bank.
    pub rows: u32,
    /// Bytes that one column command moves on the channel.
    pub burst_bytes: u32,
    /// Order of address fields from low to high after the line offset.
    pub address_map: AddressMap,
    /// Masks of physical address bits. The parity of each flips one bit of the
    /// bank's number within the channel, from its lowest bit on.
    pub bank_xor: Vec<u64>,
    /// What one refresh command refreshes.
    pub refresh: RefreshMode,
    /// Command timings.
    pub timing: DramTiming,
    /// Scheduler and queue settings.
    pub controller: DramController,
}

impl Dram {
    /// Bandwidth of all channels when data moves on every clock, in bytes per second.
    pub fn peak_bytes_per_second(&self) -> u64 {
        let burst_ps = u128::from(self.timing.burst) * u128::from(self.timing.clock_ps);
        let bytes = u128::from(self.channels) * u128::from(self.burst_bytes);
        (bytes * 1_000_000_000_000 / burst_ps) as u64
    }

    /// Bandwidth that is left whatever is accessed, in bytes per second: lines of
    /// `line_bytes` that are all in other rows of one bank, reads or writes,
    /// whichever is slower, with refreshes between them.
    pub fn guaranteed_bytes_per_second(&self, line_bytes: u32) -> u64 {
        let t = &self.timing;
        let more_bursts = (line_bytes.div_ceil(self.burst_bytes) - 1) * t.ccd_l;
        let read = t.ras.max(t.rcd + more_bursts + t.rtp) + t.rp;
        let write = t.rcd + more_bursts + t.cwl + t.burst + t.wr + t.rp;
        let line_ps = u128::from(read.max(write)) * u128::from(t.clock_ps);
        let refresh = match self.refresh {
            RefreshMode::AllBanks => t.rfc,
            RefreshMode::PerBank => t.rfc_bank,
        };
        let (open, every) = match t.refi {
            0 => (1, 1),
            refi => (refi.saturating_sub(refresh + t.rp_all), refi),
        };
        let bytes = u128::from(line_bytes) * 1_000_000_000_000 * u128::from(open);
        (bytes / (line_ps * u128::from(every))) as u64
    }

    /// Banks of one channel.
    pub fn banks_per_channel(&self) -> u32 {
        self.ranks * self.bank_groups * self.banks_per_group
    }

    /// Whether refreshes are for one bank at a time and there are any.
    pub fn refreshes_one_bank(&self) -> bool {
        self.refresh == RefreshMode::PerBank && self.timing.refi != 0
    }

    /// Bits of the physical address that are those of a bank's number within
    /// its channel, for cache lines of `line_bytes`; the lowest bit of the number first.
    pub fn bank_address_bits(&self, line_bytes: u32) -> Vec<u32> {
        let bits = |count: u32| count.max(1).ilog2();
        let (group, bank, rank) = (
            bits(self.bank_groups),
            bits(self.banks_per_group),
            bits(self.ranks),
        );
        let column = bits(self.row_bytes / line_bytes.max(1));
        let first = bits(line_bytes) + bits(self.channels);
        let (group_at, bank_at) = match self.address_map {
            AddressMap::ColumnGroupBankRow => (first + column, first + column + group),
            AddressMap::GroupColumnBankRow => (first, first + group + column),
            AddressMap::BankColumnRow => (first, first + group),
        };
        let rank_at = bank_at + bank;
        (bank_at..bank_at + bank)
            .chain(group_at..group_at + group)
            .chain(rank_at..rank_at + rank)
            .collect()
    }

    /// Bytes of all channels; a checked platform has at most 256 TiB.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_wide() as u64
    }

    /// [`Self::capacity_bytes`] before the check that it is in range.
    pub(crate) fn capacity_wide(&self) -> u128 {
        [
            self.channels,
            self.ranks,
            self.bank_groups,
            self.banks_per_group,
            self.rows,
            self.row_bytes,
        ]
        .into_iter()
        .map(u128::from)
        .product()
    }
}

/// Order of address fields, low to high.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressMap {
    /// Column, bank group, bank, rank, row.
    ColumnGroupBankRow,
    /// Bank group, column, bank, rank, row.
    GroupColumnBankRow,
    /// Bank group, bank, rank, column, row.
    BankColumnRow,
}

/// What one refresh command refreshes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshMode {
    /// Every bank of a rank, each [`DramTiming::refi`].
    AllBanks,
    /// One bank of a rank, the banks in turn, so that each has its turn every [`DramTiming::refi`].
    PerBank,
}

/// DRAM timings in memory clocks, by their JEDEC names without the leading `t`.
///
/// A distance between commands runs from the last clock of one to the last clock of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DramTiming {
    /// Clock period in picoseconds.
    pub clock_ps: u32,
    /// Read latency: column command to first data.
    pub cl: u32,
    /// Write latency: column command to first data.
    pub cwl: u32,
    /// Clocks of data for one burst.
    pub burst: u32,
    /// Activate to column command.
    pub rcd: u32,
    /// Precharge of one bank to its activate or refresh.
    pub rp: u32,
    /// Precharge of all banks to an activate or refresh, at least `rp`.
    pub rp_all: u32,
    /// Precharge to precharge of the same rank.
    pub ppd: u32,
    /// Activate to precharge.
    pub ras: u32,
    /// Activate to activate, different bank group.
    pub rrd_s: u32,
    /// Activate to activate, same bank group.
    pub rrd_l: u32,
    /// Window that holds at most four activates.
    pub faw: u32,
    /// Column to column, different bank group.
    pub ccd_s: u32,
    /// Column to column, same bank group.
    pub ccd_l: u32,
    /// Read to precharge.
    pub rtp: u32,
    /// End of write data to precharge.
    pub wr: u32,
    /// End of write data to read, different bank group.
    pub wtr_s: u32,
    /// End of write data to read, same bank group.
    pub wtr_l: u32,
    /// Extra clocks of bus turnaround from read to write, and between ranks.
    pub turnaround: u32,
    /// Refresh cycle of all banks.
    pub rfc: u32,
    /// Refresh cycle of one bank; 0 where the family has none.
    pub rfc_bank: u32,
    /// Average time between refreshes of a bank; 0 switches refresh off.
    pub refi: u32,
    /// Clocks that an activate takes on the command bus.
    pub activate_clocks: u32,
    /// Clocks that a read or write takes on the command bus.
    pub column_clocks: u32,
    /// Clocks that a precharge or refresh takes on the command bus.
    pub precharge_clocks: u32,
}

/// Settings of the memory controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DramController {
    /// Which request goes first.
    pub scheduler: Scheduler,
    /// Entries of a channel's read queue.
    pub read_queue: u32,
    /// Entries of a channel's write queue.
    pub write_queue: u32,
    /// Waiting writes at which the controller starts to drain them.
    pub write_high: u32,
    /// Waiting writes at which it goes back to reads.
    pub write_low: u32,
    /// Time from the LLC to the controller's queue and back, together, in picoseconds.
    pub link_ps: u32,
}

/// Which of the commands that are legal in a clock goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    /// The command of the oldest request (FR-FCFS).
    FrFcfs,
    /// As [`Self::FrFcfs`], but at most so many younger row hits of a bank go
    /// before an older request for another row of it.
    FrFcfsCap {
        /// Row hits, at least 1.
        hits: u32,
    },
    /// Row hits before all other commands, each by age; a row with a hit stays open.
    RowHitFirst,
    /// Requests of sources that are not on the blacklist first, then as [`Self::RowHitFirst`] (BLISS).
    Blacklist {
        /// Requests of one source in a row that put it on the blacklist, at least 1.
        streak: u32,
        /// Clocks after which the blacklist is cleared, at least 1.
        clear: u32,
    },
}
