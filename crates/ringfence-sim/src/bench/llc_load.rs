//! A closed-loop load on a modelled last-level cache, with a memory of fixed latency behind it.

use std::collections::VecDeque;

use ringfence_scenario::platform::{MemorySystem, Platform};

use super::latency::Latencies;
use crate::machine::Picoseconds;
use crate::machine::agenda::{Agenda, NEVER};
use crate::machine::cache::WayMask;
use crate::machine::error::MachineError;
use crate::machine::llc::{Llc, Request, RequestKind, Served, Surroundings};
use crate::random::SplitMix64;
use crate::time::cycle_ps;

/// Reads that may be on their way together.
const MAX_READS: u64 = 1 << 16;
/// Longest latency of the memory behind the cache, in cycles.
pub const MAX_MEMORY_CYCLES: u64 = 1 << 20;
/// The bank of [`LlcPattern::OneBank`]: that of line 0.
const ONE_BANK: usize = 0;

/// Order of the requestors' lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlcPattern {
    /// Line after line.
    Sequential,
    /// Uniform over the requestor's part of the working set.
    Random,
    /// Line after line of those that lie in bank 0.
    OneBank,
}

/// What the requestors do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlcLoad {
    /// Order of the lines.
    pub pattern: LlcPattern,
    /// Requestors, 1 to 64, each with a part of the working set of its own.
    pub requestors: u32,
    /// Reads that each keeps in flight, at least 1.
    pub outstanding: u32,
    /// Writes in a hundred requests, 0 to 50: dirty lines that an L1 gives up.
    pub write_percent: u32,
    /// Bytes that all requestors walk together, at least a line of each.
    pub working_set_bytes: u64,
    /// Cycles of the core until memory has the data of a read, or has taken a write.
    pub memory_cycles: u64,
    /// Seed of random lines and of random replacement.
    pub seed: u64,
}

impl LlcLoad {
    /// Reads in flight of all requestors.
    pub(super) fn reads_in_flight(&self) -> u64 {
        u64::from(self.requestors) * u64::from(self.outstanding)
    }

    fn check(&self, memory: &MemorySystem) -> Result<(), MachineError> {
        for (what, value, range, expected) in [
            (
                "number of requestors",
                u64::from(self.requestors),
                1..=64,
                "1 to 64",
            ),
            (
                "reads in flight of all requestors",
                self.reads_in_flight(),
                1..=MAX_READS,
                "1 to 65536",
            ),
            (
                "write share in percent",
                self.write_percent.into(),
                0..=50,
                "0 to 50",
            ),
            (
                "working set in bytes",
                self.working_set_bytes,
                0..=memory.dram.capacity_bytes(),
                "at most the platform's memory",
            ),
            (
                "memory latency in cycles",
                self.memory_cycles,
                1..=MAX_MEMORY_CYCLES,
                "1 to 1048576",
            ),
        ] {
            if !range.contains(&value) {
                return Err(MachineError::OutOfRange {
                    what,
                    value,
                    expected,
                });
            }
        }
        let a_line_each = u64::from(self.requestors) * u64::from(memory.line_bytes);
        if self.working_set_bytes < a_line_each {
            return Err(MachineError::TooSmall {
                what: "working set in bytes",
                value: self.working_set_bytes,
                least: a_line_each,
                why: "each requestor has lines of its own",
            });
        }
        Ok(())
    }
}

/// What the cache has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LlcCounts {
    /// Reads that had their data.
    pub reads: u64,
    /// Reads that found their line.
    pub hits: u64,
    /// Reads that found their line on its way.
    pub merged: u64,
    /// Reads that fetched their line.
    pub misses: u64,
    /// Lines that the requestors wrote back.
    pub write_backs: u64,
    /// Dirty lines that left for memory.
    pub evictions: u64,
}

/// Requestors that each keep a fixed number of reads in flight.
///
/// A requestor stands for a core's misses: a read takes an entry until its data
/// are here and the dirty line that goes with it, if any, has been taken; in that
/// moment the next read begins. Requests and replies take as long as from and to
/// a core of the platform.
#[derive(Debug, Clone)]
pub(super) struct LlcLoop {
    llc: Llc,
    /// Data, write-backs that memory takes, banks, replies.
    agenda: Agenda,
    now: Picoseconds,
    to_llc_ps: Picoseconds,
    from_llc_ps: Picoseconds,
    memory_ps: Picoseconds,
    cycle_ps: Picoseconds,
    /// What is on its way, in order of time: each takes always the same time.
    data: VecDeque<(Picoseconds, u16)>,
    writes: VecDeque<(Picoseconds, u16)>,
    replies: VecDeque<(Picoseconds, Request)>,
    requestors: Vec<Requestor>,
    pattern: LlcPattern,
    write_percent: u32,
    /// Reads between that of a line and its write-back.
    l1_lines: usize,
    counts: LlcCounts,
}

const DATA: usize = 0;
const WRITES: usize = 1;
const FIRST_BANK: usize = 2;

#[derive(Debug, Clone)]
struct Requestor {
    first_line: u64,
    lines: u64,
    /// Of the next sequential read, within its part.
    next_line: u64,
    random: SplitMix64,
    entries: Vec<Entry>,
    /// Lines that its L1 would have, where it writes, in order of their reads.
    in_l1: VecDeque<u64>,
    /// What its reads add up to; a write is due at the percentage of reads.
    owed: u32,
    latencies: Latencies,
}

/// A read in flight.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    issued_at: Picoseconds,
    found: Found,
    reads: bool,
    writes_back: bool,
}

/// Where a read found its line.
#[derive(Debug, Clone, Copy, Default)]
enum Found {
    #[default]
    Here,
    OnItsWay,
    Nowhere,
}

impl LlcLoop {
    /// The load on the empty cache of `platform`.
    pub(super) fn new(platform: &Platform, load: &LlcLoad) -> Result<Self, MachineError> {
        let memory = platform
            .memory
            .as_ref()
            .ok_or_else(|| MachineError::NoMemory {
                platform: platform.name.clone(),
            })?;
        load.check(memory)?;
        let cycle_ps = cycle_ps(platform.frequency_hz);
        let line_bytes = u64::from(memory.line_bytes);
        let llc = Llc::new(
            &memory.llc,
            Surroundings {
                cores: load.requestors as usize,
                entries_per_core: load.outstanding as usize,
                line_bytes: memory.line_bytes,
                memory_lines: memory.dram.capacity_bytes() / line_bytes,
                cycle_ps,
                seed: load.seed,
            },
        )?;
        let lines = load.working_set_bytes / line_bytes / u64::from(load.requestors);
        let requestor = |number: u64| Requestor {
            first_line: number * lines,
            lines,
            next_line: 0,
            random: SplitMix64::new(load.seed.wrapping_add(number)),
            entries: vec![Entry::default(); load.outstanding as usize],
            in_l1: VecDeque::new(),
            owed: 0,
            latencies: Latencies::default(),
        };
        let to_llc = u64::from(memory.l1.latency_cycles);
        let mut this = Self {
            agenda: Agenda::new(FIRST_BANK + llc.banks() + 1),
            now: 0,
            to_llc_ps: to_llc * cycle_ps,
            from_llc_ps: u64::from(memory.llc.latency_cycles).saturating_sub(to_llc) * cycle_ps,
            memory_ps: load.memory_cycles * cycle_ps,
            cycle_ps,
            data: VecDeque::new(),
            writes: VecDeque::new(),
            replies: VecDeque::new(),
            requestors: (0..load.requestors.into()).map(requestor).collect(),
            pattern: load.pattern,
            write_percent: load.write_percent,
            l1_lines: (memory.l1.size_bytes / memory.line_bytes) as usize,
            counts: LlcCounts::default(),
            llc,
        };
        this.refuse_a_bank_without_lines()?;
        for entry in 0..load.outstanding as usize {
            for requestor in 0..load.requestors as usize {
                this.issue(requestor, entry);
            }
        }
        Ok(this)
    }

    fn refuse_a_bank_without_lines(&self) -> Result<(), MachineError> {
        let in_bank = |part: &Requestor| {
            let mut lines = part.first_line..part.first_line + part.lines;
            lines.any(|line| self.llc.bank_of(line) == ONE_BANK)
        };
        if self.pattern == LlcPattern::OneBank && !self.requestors.iter().all(in_bank) {
            return Err(MachineError::OutOfRange {
                what: "lines of a requestor in bank 0",
                value: 0,
                expected: "at least 1; enlarge the working set",
            });
        }
        Ok(())
    }

    /// Banks in which the load's lines lie.
    pub(super) fn banks_in_use(&self) -> usize {
        if self.pattern == LlcPattern::OneBank {
            return 1;
        }
        let last = self.requestors.last().expect("at least one");
        let mut found = vec![false; self.llc.banks()];
        for line in 0..last.first_line + last.lines {
            found[self.llc.bank_of(line)] = true;
        }
        found.iter().filter(|&&found| found).count()
    }

    /// Latencies of each requestor's reads so far, in cycles.
    pub(super) fn latencies(&self) -> impl Iterator<Item = &Latencies> {
        self.requestors.iter().map(|requestor| &requestor.latencies)
    }

    pub(super) fn forget_latencies(&mut self) {
        for requestor in &mut self.requestors {
            requestor.latencies = Latencies::default();
        }
    }

    pub(super) fn counts(&self) -> LlcCounts {
        self.counts
    }

    /// Runs until `reads` more reads are done; returns the time that this took.
    pub(super) fn run(&mut self, reads: u64) -> Picoseconds {
        let start = self.now;
        let until = self.counts.reads + reads;
        while self.counts.reads < until {
            let (time, component) = self.agenda.first();
            self.now = time;
            let banks = self.llc.banks();
            match component {
                DATA => self.data_came(),
                WRITES => self.write_taken(),
                bank if bank < FIRST_BANK + banks => self.serve(bank - FIRST_BANK),
                _ => self.replied(),
            }
        }
        self.now - start
    }

    fn issue(&mut self, number: usize, entry: usize) {
        let line = self.draw_line(number);
        let requestor = &mut self.requestors[number];
        requestor.entries[entry] = Entry {
            issued_at: self.now,
            found: Found::Here,
            reads: true,
            writes_back: false,
        };
        let given_up = requestor.given_up(line, self.write_percent, self.l1_lines);
        requestor.entries[entry].writes_back = given_up.is_some();
        self.push(number, entry, RequestKind::Fill, line);
        if let Some(line) = given_up {
            self.push(number, entry, RequestKind::WriteBack, line);
        }
    }

    fn push(&mut self, core: usize, entry: usize, kind: RequestKind, line: u64) {
        let request = Request { core, entry, kind };
        let ready = self.now + self.to_llc_ps;
        let bank = self.llc.push(request, line, WayMask::ALL, ready);
        self.schedule_bank(bank);
    }

    fn draw_line(&mut self, number: usize) -> u64 {
        let requestor = &mut self.requestors[number];
        if self.pattern == LlcPattern::Random {
            return requestor.first_line + requestor.random.below(requestor.lines);
        }
        loop {
            let line = requestor.first_line + requestor.next_line;
            requestor.next_line = (requestor.next_line + 1) % requestor.lines;
            if self.pattern == LlcPattern::Sequential || self.llc.bank_of(line) == ONE_BANK {
                return line;
            }
        }
    }

    fn serve(&mut self, bank: usize) {
        match self.llc.serve(bank, self.now, |_| false) {
            Served::Hit(request) => self.found(request),
            Served::Merged(request) => self.entry(request).found = Found::OnItsWay,
            Served::Placed {
                request,
                read,
                evicted,
                ..
            } => {
                match read {
                    Some((register, _)) => {
                        self.entry(request).found = Found::Nowhere;
                        self.data.push_back((self.now + self.memory_ps, register));
                        self.schedule_data();
                    }
                    None => self.written_back(request),
                }
                if let Some(place) = evicted {
                    self.counts.evictions += 1;
                    self.writes.push_back((self.now + self.memory_ps, place));
                    self.schedule_writes();
                }
            }
            Served::Stalled | Served::SetBusy => {}
        }
        self.schedule_bank(bank);
        self.wake_bank();
    }

    fn found(&mut self, request: Request) {
        match request.kind {
            RequestKind::Fill => self.reply(request),
            RequestKind::WriteBack => self.written_back(request),
        }
    }

    fn reply(&mut self, request: Request) {
        self.replies
            .push_back((self.now + self.from_llc_ps, request));
        self.schedule_replies();
    }

    fn data_came(&mut self) {
        if let Some((_, register)) = self.data.pop_front() {
            while let Some(request) = self.llc.take_waiter(register) {
                self.reply(request);
            }
            let bank = self.llc.filled(register, self.now);
            self.schedule_bank(bank);
            self.wake_bank();
        }
        self.schedule_data();
    }

    fn write_taken(&mut self) {
        if let Some((_, place)) = self.writes.pop_front() {
            self.llc.written_back(place);
            self.wake_bank();
        }
        self.schedule_writes();
    }

    fn replied(&mut self) {
        if let Some((_, request)) = self.replies.pop_front() {
            let entry = self.entry(request);
            entry.reads = false;
            let Entry {
                issued_at, found, ..
            } = *entry;
            self.counts.reads += 1;
            match found {
                Found::Here => self.counts.hits += 1,
                Found::OnItsWay => self.counts.merged += 1,
                Found::Nowhere => self.counts.misses += 1,
            }
            let cycles = (self.now - issued_at) / self.cycle_ps;
            self.requestors[request.core].latencies.add(cycles);
            self.issue_if_over(request);
        }
        self.schedule_replies();
    }

    fn written_back(&mut self, request: Request) {
        self.counts.write_backs += 1;
        self.entry(request).writes_back = false;
        self.issue_if_over(request);
    }

    fn issue_if_over(&mut self, request: Request) {
        let entry = self.entry(request);
        if !entry.reads && !entry.writes_back {
            self.issue(request.core, request.entry);
        }
    }

    fn entry(&mut self, request: Request) -> &mut Entry {
        &mut self.requestors[request.core].entries[request.entry]
    }

    fn wake_bank(&mut self) {
        if let Some(bank) = self.llc.wake_bank() {
            self.schedule_bank(bank);
        }
    }

    fn schedule_bank(&mut self, bank: usize) {
        let at = self.llc.next_event(bank);
        let at = if at == NEVER { NEVER } else { at.max(self.now) };
        self.agenda.set(FIRST_BANK + bank, at);
    }

    fn schedule_data(&mut self) {
        self.agenda.set(DATA, first(&self.data));
    }

    fn schedule_writes(&mut self) {
        self.agenda.set(WRITES, first(&self.writes));
    }

    fn schedule_replies(&mut self) {
        let replies = FIRST_BANK + self.llc.banks();
        self.agenda.set(replies, first(&self.replies));
    }
}

impl Requestor {
    /// Keeps `line` in mind; the line that is written back with its read, if one is due.
    fn given_up(&mut self, line: u64, write_percent: u32, l1_lines: usize) -> Option<u64> {
        if write_percent == 0 {
            return None;
        }
        self.in_l1.push_back(line);
        if self.in_l1.len() <= l1_lines {
            return None;
        }
        let oldest = self.in_l1.pop_front();
        self.owed += write_percent;
        let reads_of_a_write = 100 - write_percent;
        if self.owed < reads_of_a_write {
            return None;
        }
        self.owed -= reads_of_a_write;
        oldest
    }
}

fn first<T>(queue: &VecDeque<(Picoseconds, T)>) -> Picoseconds {
    queue.front().map_or(NEVER, |&(at, _)| at)
}
