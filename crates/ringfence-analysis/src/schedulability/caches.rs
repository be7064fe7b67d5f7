//! What it costs a task that others have left their lines in caches and memory.
//!
//! **When a job begins**, its own lines are gone: its execution time alone counts
//! that, if it counts a job with cold caches. Alone, however, cold caches are
//! clean. After others every line that it brings in can push out a dirty one,
//! which is a write in DRAM, and its first accesses wait for what is on its way there.
//!
//! **After a preemption** its working set comes back, line by line, as far as it
//! can have been in the LLC: the useful cache blocks of Lee et al., "Analysis of
//! cache-related preemption delay in fixed-priority preemptive scheduling", IEEE
//! Transactions on Computers 47(6), 1998, of which no more is known than how many
//! there can be.
//!
//! **After a barrier** at which best-effort work ran on a core, its L1 comes back from the LLC.

use ringfence_scenario::model::{Access, Program};
use ringfence_scenario::platform::{MemorySystem, Platform};

use super::interference::{AccessCosts, cycles_ps};

const PS_PER_NS: u64 = 1000;

/// What others leave behind in caches and memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Whether there is anyone else.
    pub anyone: bool,
    /// Bytes that they write, each once.
    pub dirty_bytes: u64,
}

impl Leftovers {
    /// With those of a program that `threads` execute.
    pub fn and(self, program: &Program, threads: u16) -> Self {
        Self {
            anyone: true,
            dirty_bytes: self
                .dirty_bytes
                .saturating_add(written_bytes(program, threads)),
        }
    }
}

/// The caches and the memory of a platform, and a task that uses them.
#[derive(Debug, Clone, Copy)]
pub struct Caches<'a> {
    memory: &'a MemorySystem,
    costs: AccessCosts,
    /// Requests that all cores can have under way together.
    requests: u64,
    /// Load-to-use latency of a hit in the LLC.
    hit_ps: u64,
    program: &'a Program,
    threads: u16,
    cores: u64,
}

impl<'a> Caches<'a> {
    /// Those of `platform`, for `threads` on `cores` that execute `program`; `None` without memory.
    pub fn of(
        platform: &'a Platform,
        program: &'a Program,
        threads: u16,
        cores: usize,
    ) -> Option<Self> {
        let memory = platform.memory.as_ref()?;
        Some(Self {
            memory,
            costs: AccessCosts::of(platform),
            requests: u64::from(platform.cores) * u64::from(memory.core.outstanding()),
            hit_ps: cycles_ps(platform, memory.llc.latency_cycles),
            program,
            threads,
            cores: cores as u64,
        })
    }

    /// The most that `left` adds to a job that begins.
    pub fn begin_ns(&self, left: Leftovers) -> u64 {
        let pushed_out = self.dirty_lines(left).min(self.useful_lines());
        pushed_out
            .saturating_mul(self.costs.foreign_line_ns)
            .saturating_add(self.l1_write_backs_ns(left))
            .saturating_add(self.on_the_way_ns(left))
    }

    /// The most that one preemption adds to a job, by those who leave `left`.
    pub fn resume_ns(&self, left: Leftovers) -> u64 {
        self.useful_lines()
            .saturating_mul(self.costs.miss_ns)
            .saturating_add(self.l1_write_backs_ns(left))
            .saturating_add(self.on_the_way_ns(left))
    }

    /// The most that one barrier adds to a job, when best-effort work that leaves
    /// `left` runs while threads wait.
    pub fn barrier_ns(&self, left: Leftovers) -> u64 {
        let others_ns = (self.cores - 1).saturating_mul(self.costs.bank_ns);
        let hit_ns = self.hit_ps.div_ceil(PS_PER_NS).saturating_add(others_ns);
        self.l1_lines()
            .saturating_mul(hit_ns)
            .saturating_add(self.l1_write_backs_ns(left))
    }

    /// Lines of the program that can be in the LLC.
    fn useful_lines(&self) -> u64 {
        let llc_lines = u64::from(self.memory.llc.size_bytes / self.memory.line_bytes);
        working_set_bytes(self.program, self.threads)
            .map_or(llc_lines, |bytes| self.lines(bytes).min(llc_lines))
    }

    /// Dirty lines in the L1s of the cores go to the LLC, and may push out a dirty line there.
    fn l1_write_backs_ns(&self, left: Leftovers) -> u64 {
        let lines = self.cores.saturating_mul(self.l1_lines());
        let each_ns = self.costs.foreign_line_ns + self.costs.bank_ns;
        self.dirty_lines(left).min(lines).saturating_mul(each_ns)
    }

    /// Lines that others have asked for, or given back, and that memory has not served yet.
    fn on_the_way_ns(&self, left: Leftovers) -> u64 {
        if !left.anyone {
            return 0;
        }
        let dram = &self.memory.dram;
        let queued = u64::from(dram.channels) * u64::from(dram.controller.write_queue);
        let writes = queued + u64::from(self.memory.llc.write_back_buffer);
        let lines = writes
            .min(self.dirty_lines(left))
            .saturating_add(self.requests);
        lines.saturating_mul(self.costs.foreign_line_ns)
    }

    fn dirty_lines(&self, left: Leftovers) -> u64 {
        self.lines(left.dirty_bytes)
    }

    fn l1_lines(&self) -> u64 {
        (self.memory.l1.size_bytes / self.memory.line_bytes).into()
    }

    fn lines(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.memory.line_bytes.into())
    }
}

/// Bytes that the threads use again; `None` when a trace hides it.
fn working_set_bytes(program: &Program, threads: u16) -> Option<u64> {
    let threads = u64::from(threads);
    match program {
        Program::Compute(_) => Some(0),
        Program::Bandwidth(bandwidth) => Some(bandwidth.working_set_bytes),
        Program::LinkedLists(lists) => Some(lists.working_set_bytes.saturating_mul(threads)),
        Program::Cpu(cpu) => Some(cpu.working_set_bytes.saturating_mul(threads)),
        Program::Streams(streams) => {
            let arrays = u64::from(streams.reads) + u64::from(streams.writes);
            Some(streams.array_bytes.saturating_mul(arrays))
        }
        Program::Strided(strided) => Some(strided.working_set_bytes),
        Program::Phases(phases) => Some(
            phases
                .iter()
                .map(|phase| phase.working_set_bytes)
                .fold(0, u64::saturating_add),
        ),
        Program::NeuralNetwork(network) => Some(network.memory_bytes(threads)),
        Program::Trace(_) => None,
    }
}

/// Bytes that the threads can have written.
fn written_bytes(program: &Program, threads: u16) -> u64 {
    let writes = match program {
        Program::Compute(_) | Program::Cpu(_) => false,
        Program::Bandwidth(bandwidth) => bandwidth.access == Access::Write,
        Program::LinkedLists(lists) => lists.access == Access::Write,
        Program::Streams(streams) => {
            return streams.array_bytes.saturating_mul(streams.writes.into());
        }
        Program::Strided(_) => true,
        Program::Phases(phases) => phases.iter().any(|phase| phase.write_bytes > 0),
        Program::NeuralNetwork(network) => return network.written_bytes(threads.into()),
        Program::Trace(_) => true,
    };
    match writes {
        true => working_set_bytes(program, threads).unwrap_or(u64::MAX),
        false => 0,
    }
}
