//! Programs: sizes that fit, tasks that exist.

use super::Checker;
use crate::diagnostic::Span;
use crate::file::Located;
use crate::file::program::{self as file, Program as ProgramField};
use crate::file::value::{Count, Size};
use crate::model::{Bandwidth, Compute, Cpu, LinkedLists, Pattern, Phase, Program};
use crate::quantity::SIZE;

/// Whose program it is.
#[derive(Clone, Copy)]
pub(super) struct Owner<'a> {
    pub(super) name: &'a str,
    pub(super) role: Role,
    pub(super) threads: u16,
}

/// Whether a program ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A task: the program is one job and ends.
    Task,
    /// Best-effort work: the program never ends.
    BestEffort,
}

impl Checker<'_> {
    pub(super) fn program(
        &mut self,
        program: &Located<ProgramField>,
        owner: Owner<'_>,
    ) -> Option<Program> {
        match &program.value {
            ProgramField::Compute(compute) => self
                .compute(compute, program.span, owner)
                .map(Program::Compute),
            ProgramField::Bandwidth(bandwidth) => Some(self.bandwidth(bandwidth, owner.threads)),
            ProgramField::LinkedLists(lists) => Some(self.linked_lists(lists)),
            ProgramField::Cpu(cpu) => self.cpu(cpu, program.span, owner.role),
            ProgramField::Streams(streams) => self.streams(streams, program.span, owner.threads),
            ProgramField::Strided(strided) => Some(self.strided(strided)),
            ProgramField::Phases(phases) => self.phases(phases, program.span, owner),
            ProgramField::NeuralNetwork(network) => self
                .neural_network(network, program.span, owner)
                .map(Program::NeuralNetwork),
            ProgramField::Trace(trace) => self.trace(trace).map(Program::Trace),
        }
    }

    fn compute(
        &mut self,
        compute: &file::Compute,
        span: Span,
        owner: Owner<'_>,
    ) -> Option<Compute> {
        let time_ns = match (&compute.time, owner.role) {
            (Some(time), _) if time.value.0 == 0 => {
                self.problems
                    .report(time.span, "an execution time of nothing", "1 ns or more");
                None
            }
            (Some(time), _) => Some(time.value.0),
            // It runs for as long as it is let.
            (None, Role::BestEffort) => Some(self.file.scenario.value.duration.value.0),
            (None, Role::Task) => {
                self.problems.report(
                    span,
                    "a task's `compute` program without `time`",
                    "`time`: the execution time of one job, such as \"3.5 ms\"",
                );
                None
            }
        };
        Some(Compute {
            slowed_by: self.slowed_by(compute, owner.name),
            time_ns: time_ns?,
        })
    }

    fn slowed_by(&mut self, compute: &file::Compute, owner: &str) -> Vec<(String, u32)> {
        let tasks: Vec<&str> = self
            .file
            .tasks()
            .map(|task| task.value.name.value.0.as_str())
            .collect();
        let mut slowed_by = Vec::new();
        for (task, factor) in compute.slowed_by.iter().flat_map(|field| &field.value.0) {
            self.find("task", &task.value, task.span, &tasks);
            if task.value == owner {
                self.problems.report(
                    task.span,
                    format!("`{owner}` slowed by itself"),
                    "another task",
                );
            }
            slowed_by.push((task.value.clone(), factor.0));
        }
        slowed_by
    }

    fn bandwidth(&mut self, bandwidth: &file::Bandwidth, threads: u16) -> Program {
        self.check_working_set(
            &bandwidth.working_set,
            u64::from(threads),
            "one cache line a thread",
        );
        Program::Bandwidth(Bandwidth {
            access: bandwidth.access.value.into(),
            working_set_bytes: bandwidth.working_set.value.0,
            passes: passes(&bandwidth.passes),
        })
    }

    fn linked_lists(&mut self, program: &file::LinkedLists) -> Program {
        let lists = program.lists.as_ref().map_or(1, |lists| lists.value.0);
        self.check_working_set(&program.working_set, lists, "one cache line a list");
        if let Some(bank) = &program.bank {
            self.check_bank(bank);
        }
        Program::LinkedLists(LinkedLists {
            access: program.access.value.into(),
            working_set_bytes: program.working_set.value.0,
            lists: lists as u8,
            bank: program.bank.as_ref().map(|bank| bank.value.0 as u16),
            passes: passes(&program.passes),
        })
    }

    fn cpu(&mut self, cpu: &file::Cpu, span: Span, role: Role) -> Option<Program> {
        self.check_working_set(&cpu.working_set, 1, "one cache line");
        let l1_bytes = self
            .platform
            .memory
            .as_ref()
            .map(|memory| memory.l1.size_bytes);
        if let Some(l1_bytes) = l1_bytes.map(u64::from)
            && cpu.working_set.value.0 > l1_bytes
        {
            self.problems.report_with_help(
                cpu.working_set.span,
                format!("a working set of {}", SIZE.format(cpu.working_set.value.0)),
                format!(
                    "at most {}, the first-level cache of {}",
                    SIZE.format(l1_bytes),
                    self.platform.name
                ),
                "work that leaves the first-level cache is a `bandwidth` or `phases` program",
            );
        }
        if cpu.accesses.is_none() && role == Role::Task {
            self.problems.report(
                span,
                "a task's `cpu` program without `accesses`",
                "`accesses`: the number of accesses in one job",
            );
            return None;
        }
        Some(Program::Cpu(Cpu {
            working_set_bytes: cpu.working_set.value.0,
            cycles_per_access: cpu.cycles_per_access.value.0 as u32,
            accesses: cpu.accesses.as_ref().map_or(1, |count| count.value.0),
        }))
    }

    fn phases(&mut self, phases: &file::Phases, span: Span, owner: Owner<'_>) -> Option<Program> {
        if phases.phase.is_empty() {
            self.problems
                .report(span, "a `phases` program without a phase", "at least one");
        }
        let list = phases.phase.iter().map(|phase| self.phase(phase)).collect();
        let phases: Vec<Phase> = super::all(list)?;
        let line_bytes = self
            .platform
            .memory
            .as_ref()
            .map_or(1, |memory| memory.line_bytes);
        let lines = |bytes: u64| bytes.div_ceil(line_bytes.into());
        let parts = phases.iter().map(|phase| {
            let lines = lines(phase.read_bytes).max(lines(phase.write_bytes));
            lines.max(phase.compute_cycles)
        });
        self.refuse_idle_threads(owner, span, parts.max().unwrap_or(0).into());
        Some(Program::Phases(phases))
    }

    /// Best-effort threads go on for ever, so each must have something to do.
    pub(super) fn refuse_idle_threads(&mut self, owner: Owner<'_>, span: Span, parts: u128) {
        if owner.role == Role::BestEffort && u128::from(owner.threads) > parts {
            self.problems.report(
                span,
                format!("{} threads of `{}`", owner.threads, owner.name),
                format!("at most {parts}: the program cannot be split into more parts"),
            );
        }
    }

    fn phase(&mut self, phase: &Located<file::Phase>) -> Option<Phase> {
        let Located { value: phase, span } = phase;
        let bytes = |size: &Option<Located<Size>>| size.as_ref().map_or(0, |size| size.value.0);
        let compute_cycles = phase
            .compute_cycles
            .as_ref()
            .map_or(0, |count| count.value.0);
        let (read_bytes, write_bytes) = (bytes(&phase.read), bytes(&phase.write));
        if read_bytes == 0 && write_bytes == 0 && compute_cycles == 0 {
            self.problems.report(
                *span,
                "a phase that does nothing",
                "`compute_cycles`, `read` or `write` above zero",
            );
        }
        match &phase.working_set {
            Some(size) => self.check_working_set(size, 1, "one cache line"),
            None if read_bytes + write_bytes > 0 => {
                self.problems.report(
                    *span,
                    "a phase that reads or writes without `working_set`",
                    "`working_set`: the bytes of the region that is walked",
                );
                return None;
            }
            None => {}
        }
        Some(Phase {
            compute_cycles,
            read_bytes,
            write_bytes,
            working_set_bytes: bytes(&phase.working_set),
            pattern: phase
                .pattern
                .as_ref()
                .map_or(Pattern::Sequential, |pattern| pattern.value.into()),
        })
    }

    /// There are lines that lie in a bank.
    fn check_bank(&mut self, bank: &Located<Count<0, 63>>) {
        let Some(memory) = &self.platform.memory else {
            return;
        };
        let banks = memory.llc_banks();
        if !banks.contains(&(bank.value.0 as u16)) {
            let banks: Vec<_> = banks.iter().map(u16::to_string).collect();
            self.problems.report(
                bank.span,
                format!("bank {}, in which no line lies", bank.value.0),
                format!(
                    "a bank of the last-level cache of {}: {}",
                    self.platform.name,
                    banks.join(", ")
                ),
            );
        }
    }

    /// A working set holds at least `lines` cache lines.
    pub(super) fn check_working_set(&mut self, size: &Located<Size>, lines: u64, least: &str) {
        let Some(memory) = &self.platform.memory else {
            return;
        };
        let least_bytes = lines * u64::from(memory.line_bytes);
        if size.value.0 < least_bytes {
            self.problems.report(
                size.span,
                format!("a working set of {}", SIZE.format(size.value.0)),
                format!("at least {}: {least}", SIZE.format(least_bytes)),
            );
        }
    }
}

pub(super) fn passes(count: &Option<Located<Count<1, 4_294_967_295>>>) -> u32 {
    count.as_ref().map_or(1, |count| count.value.0 as u32)
}
