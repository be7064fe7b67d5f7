//! What concerns all tasks and best-effort work together.

use super::Checker;
use super::gang::threads;
use super::names::refuse_duplicates;
use super::network::resolve;
use crate::file::Located;
use crate::file::program::Program;
use crate::file::value::{Name, Size};
use crate::quantity::SIZE;

/// Threads of all work together: records number them in 16 bits.
const THREADS_MAX: u64 = 65_535;

/// A task or best-effort work.
struct Work<'a> {
    name: &'a Located<Name>,
    threads: u64,
    program: &'a Located<Program>,
    /// Name of its class of service.
    class: Option<&'a str>,
}

impl Checker<'_> {
    /// Checks names, threads, programs and memory of all work.
    pub(super) fn work_as_a_whole(&mut self) {
        let file = self.file;
        let tasks = file.gang.iter().flat_map(|gang| {
            let class = class_name(&gang.value.class_of_service);
            gang.value.task.iter().map(move |task| Work {
                name: &task.value.name,
                threads: u64::from(threads(&task.value.threads)),
                program: &task.value.program,
                class,
            })
        });
        let of_vms = file.vm.iter().flat_map(|vm| &vm.value.task);
        let of_vms = of_vms.map(|task| Work {
            name: &task.value.name,
            threads: u64::from(threads(&task.value.threads)),
            program: &task.value.program,
            class: None,
        });
        let best_effort = file.all_best_effort().map(|entry| Work {
            name: &entry.value.name,
            threads: u64::from(threads(&entry.value.threads)),
            program: &entry.value.program,
            class: class_name(&entry.value.class_of_service),
        });
        let work: Vec<Work<'_>> = tasks.chain(of_vms).chain(best_effort).collect();
        refuse_duplicates(
            "task and best-effort work",
            work.iter().map(|work| work.name),
            self.problems,
        );
        self.refuse_too_many_threads(&work);
        self.refuse_mixed_programs(&work);
        self.refuse_too_much_memory(&work);
        self.refuse_too_much_memory_in_colours(&work);
        self.refuse_too_much_memory_of_vms();
    }

    fn refuse_too_many_threads(&mut self, work: &[Work<'_>]) {
        if let Some(work) = first_above(work, THREADS_MAX, |work| work.threads) {
            self.problems.report(
                work.name.span,
                format!(
                    "more than {THREADS_MAX} threads up to `{}`",
                    work.name.value.0
                ),
                format!("at most {THREADS_MAX} threads in all"),
            );
        }
    }

    /// `compute` needs no memory and everything else does; a run is one or the other.
    fn refuse_mixed_programs(&mut self, work: &[Work<'_>]) {
        let (compute, memory): (Vec<&Work<'_>>, Vec<&Work<'_>>) = work
            .iter()
            .partition(|work| matches!(work.program.value, Program::Compute(_)));
        if self.platform.memory.is_none() {
            for work in memory {
                self.problems.report_with_help(
                    work.program.span,
                    "a program that uses memory on a platform without memory",
                    "a `compute` program",
                    "or choose a platform with memory, such as `raspberry-pi-3`",
                );
            }
        } else if !memory.is_empty() {
            for work in compute {
                self.problems.report(
                    work.program.span,
                    "a `compute` program beside programs that use memory",
                    "either only `compute` programs or none",
                );
            }
        }
    }

    fn refuse_too_much_memory(&mut self, work: &[Work<'_>]) {
        let Some(memory) = &self.platform.memory else {
            return;
        };
        let most_bytes = memory.dram.capacity_bytes();
        if let Some(work) = first_above(work, most_bytes, memory_bytes) {
            self.problems.report(
                work.program.span,
                format!(
                    "more than {} of working sets up to `{}`",
                    SIZE.format(most_bytes),
                    work.name.value.0
                ),
                format!("at most the memory of {}", self.platform.name),
            );
        }
    }

    /// The pages of a class of service have its colours, where a case says so.
    fn refuse_too_much_memory_in_colours(&mut self, work: &[Work<'_>]) {
        let allocates = self.file.case.iter().any(|case| {
            let flag = &case.value.cache_allocation;
            flag.as_ref().is_some_and(|flag| flag.value.0)
        });
        let Some(memory) = self.platform.memory.as_ref().filter(|_| allocates) else {
            return;
        };
        let all_colours = u64::from(memory.page_colours());
        let colour_bytes = memory.dram.capacity_bytes() / all_colours;
        for class in &self.file.class_of_service {
            let Some(colours) = &class.value.colours else {
                continue;
            };
            let name = class.value.name.value.0.as_str();
            let colours = colours.value.0.len() as u64;
            let most_bytes = colours.saturating_mul(colour_bytes);
            let of_class = |work: &Work<'_>| match work.class {
                Some(class) if class == name => memory_bytes(work),
                _ => 0,
            };
            if let Some(work) = first_above(work, most_bytes, of_class) {
                self.problems.report_with_help(
                    work.program.span,
                    format!(
                        "more than {} of working sets of class of service `{name}` up to `{}`",
                        SIZE.format(most_bytes),
                        work.name.value.0
                    ),
                    format!("at most the memory of its {colours} of {all_colours} colours"),
                    "give the class more colours or its work smaller working sets",
                );
            }
        }
    }
}

/// The name in a field `class_of_service`.
fn class_name(field: &Option<Located<Name>>) -> Option<&str> {
    field.as_ref().map(|name| name.value.0.as_str())
}

/// The first work with which the sum of `amount` exceeds `most`.
fn first_above<'w, 'a>(
    work: &'w [Work<'a>],
    most: u64,
    amount: impl Fn(&Work<'a>) -> u64,
) -> Option<&'w Work<'a>> {
    let mut total = 0_u64;
    work.iter().find(|work| {
        total = total.saturating_add(amount(work));
        total > most
    })
}

fn memory_bytes(work: &Work<'_>) -> u64 {
    working_sets_bytes(work.program, work.threads)
}

/// Memory that the working sets of all threads of a program need; a trace's is not known here.
pub(super) fn working_sets_bytes(program: &Located<Program>, threads: u64) -> u64 {
    let all_threads = |size: &Located<Size>| size.value.0.saturating_mul(threads);
    match &program.value {
        Program::Compute(_) | Program::Trace(_) => 0,
        Program::Bandwidth(program) => program.working_set.value.0,
        Program::LinkedLists(program) => all_threads(&program.working_set),
        Program::Cpu(program) => all_threads(&program.working_set),
        Program::Streams(program) => {
            let arrays = program.reads.value.0 + program.writes.value.0;
            program.array.value.0.saturating_mul(arrays)
        }
        Program::Strided(program) => program.working_set.value.0,
        Program::Phases(program) => {
            let sizes = program
                .phase
                .iter()
                .filter_map(|phase| phase.value.working_set.as_ref());
            sizes.map(|size| size.value.0).max().unwrap_or(0)
        }
        Program::NeuralNetwork(network) => {
            resolve(network, program.span).map_or(0, |network| network.memory_bytes(threads))
        }
    }
}
