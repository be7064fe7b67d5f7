//! Gangs, their tasks, and best-effort work.

use super::Checker;
use super::names::refuse_duplicates;
use super::program::{Owner, Role};
use crate::file::Located;
use crate::file::numbers::Cores;
use crate::file::rate::{Rate, Tolerance as ToleranceField};
use crate::file::scenario::{BestEffortTable, GangTable, KnownTable, TaskTable};
use crate::file::value::{Count, Time};
use crate::model::{BestEffort, Gang, Known, Overrun, Partition, Program, Task, Tolerance};
use crate::quantity::{BANDWIDTH, TIME};

impl Checker<'_> {
    /// The gangs in the order of the file.
    pub(super) fn gangs(&mut self) -> Vec<Option<Gang>> {
        let tables = &self.file.gang;
        if tables.is_empty() && self.complete {
            self.problems.report(
                self.file.scenario.span,
                "no gang in the file",
                "at least one [[gang]], or a [[vm]]",
            );
        }
        refuse_duplicates(
            "gang",
            tables.iter().map(|table| &table.value.name),
            self.problems,
        );
        tables.iter().map(|table| self.gang(table)).collect()
    }

    fn gang(&mut self, table: &Located<GangTable>) -> Option<Gang> {
        let gang = &table.value;
        let partitions = self.partition_list();
        let place = self.gang_partition(gang, &partitions);
        let partition = place.map(|place| &partitions[place]);
        if gang.task.is_empty() && self.complete {
            self.problems.report(
                table.span,
                format!("the gang `{}` without a task", gang.name.value.0),
                "at least one [[gang.task]]",
            );
        }
        let tolerance = self.tolerance(gang.tolerance.as_ref());
        let class_of_service = self.class_named(gang.class_of_service.as_ref());
        let tasks: Vec<Option<Task>> = gang
            .task
            .iter()
            .map(|task| self.task(task, partition))
            .collect();
        Some(Gang {
            name: gang.name.value.0.clone(),
            partition: place?,
            priority: gang.priority.value.0 as u8,
            tolerance,
            class_of_service,
            tasks: super::all(tasks)?,
        })
    }

    fn gang_partition(&mut self, gang: &GangTable, partitions: &[Partition]) -> Option<usize> {
        let names: Vec<&str> = partitions.iter().map(|p| p.name.as_str()).collect();
        match &gang.partition {
            Some(name) => self.find("partition", &name.value.0, name.span, &names),
            None if names.len() == 1 => Some(0),
            None => {
                self.problems.report(
                    gang.name.span,
                    format!("the gang `{}` without a partition", gang.name.value.0),
                    format!("`partition`: {}", crate::file::quoted_list(&names)),
                );
                None
            }
        }
    }

    fn tolerance(&mut self, field: Option<&Located<ToleranceField>>) -> Tolerance {
        let Some(field) = field else {
            return Tolerance::UNLIMITED;
        };
        let ToleranceField { read, write } = &field.value;
        self.check_rate(read.as_ref());
        if read.as_ref().map(|rate| rate.span) != write.as_ref().map(|rate| rate.span) {
            self.check_rate(write.as_ref());
        }
        let bytes_per_second = |rate: &Option<Located<Rate>>| {
            rate.as_ref().and_then(|rate| rate.value.bytes_per_second)
        };
        Tolerance {
            read_bytes_per_second: bytes_per_second(read),
            write_bytes_per_second: bytes_per_second(write),
        }
    }

    /// A rate must be below what the memory can do and give at least one line a period.
    fn check_rate(&mut self, rate: Option<&Located<Rate>>) {
        let Some((rate, span)) =
            rate.and_then(|rate| Some((rate.value.bytes_per_second?, rate.span)))
        else {
            return;
        };
        if rate == 0 {
            return;
        }
        let found = format!("a tolerance of {}", BANDWIDTH.format(rate));
        let Some(memory) = &self.platform.memory else {
            self.problems.report(
                span,
                format!("{found} on a platform without memory"),
                "\"none\" or \"unlimited\"",
            );
            return;
        };
        let peak = memory.dram.peak_bytes_per_second();
        if rate > peak {
            self.problems.report_with_help(
                span,
                found,
                format!(
                    "at most {} MB/s, the peak bandwidth of {}",
                    peak / 1_000_000,
                    memory.dram.name
                ),
                "\"unlimited\" removes the limit",
            );
            return;
        }
        let period_ns = self.regulation.period_ns;
        let line_ns = u128::from(memory.line_bytes) * 1_000_000_000;
        if u128::from(rate) * u128::from(period_ns) < line_ns {
            let least = line_ns.div_ceil(u128::from(period_ns)) as u64;
            self.problems.report_with_help(
                span,
                format!(
                    "{found}, which is less than one cache line in a period of {}",
                    TIME.format(period_ns)
                ),
                format!("at least {}", BANDWIDTH.format(least)),
                "\"none\" stops best-effort work; a longer [regulation] period allows smaller tolerances",
            );
        }
    }

    pub(super) fn task(
        &mut self,
        task: &Located<TaskTable>,
        partition: Option<&Partition>,
    ) -> Option<Task> {
        let task = &task.value;
        let deadline = task.deadline.as_ref().unwrap_or(&task.period);
        self.refuse_shorter_than_tick("period", &task.period);
        if let Some(deadline) = &task.deadline {
            self.refuse_shorter_than_tick("deadline", deadline);
        }
        self.check_duration(task, deadline);
        let threads = threads(&task.threads);
        let cores = self.task_cores(task, partition);
        let owner = Owner {
            name: &task.name.value.0,
            role: Role::Task,
            threads,
        };
        let program = self.program(&task.program, owner);
        let known = self.known(task.known.as_ref(), program.as_ref());
        Some(Task {
            name: task.name.value.0.clone(),
            period_ns: task.period.value.0,
            deadline_ns: deadline.value.0,
            offset_ns: task.offset.as_ref().map_or(0, |offset| offset.value.0),
            threads,
            cores: cores?,
            program: program?,
            overrun: task
                .overrun
                .as_ref()
                .map_or(Overrun::Queue, |overrun| overrun.value.into()),
            known,
        })
    }

    fn known(&mut self, table: Option<&Located<KnownTable>>, program: Option<&Program>) -> Known {
        let Some(Located { value: table, .. }) = table else {
            return Known::default();
        };
        if let Some(wcet) = &table.wcet {
            let least_ns = match program {
                Some(Program::Compute(compute)) => compute.time_ns,
                _ => 1,
            };
            if wcet.value.0 < least_ns {
                self.problems.report(
                    wcet.span,
                    format!("a wcet of {}", TIME.format(wcet.value.0)),
                    format!(
                        "at least {}, which its program takes",
                        TIME.format(least_ns)
                    ),
                );
            }
        }
        let time_ns = |time: &Option<Located<Time>>| time.as_ref().map_or(0, |time| time.value.0);
        Known {
            wcet_ns: table.wcet.as_ref().map(|wcet| wcet.value.0),
            jitter_ns: time_ns(&table.jitter),
            non_preemptive_ns: time_ns(&table.non_preemptive),
            llc_accesses: table.llc_accesses.as_ref().map(|count| count.value.0),
        }
    }

    /// A period, and the first deadline, must fit the duration.
    fn check_duration(&mut self, task: &TaskTable, deadline: &Located<Time>) {
        let duration_ns = self.file.scenario.value.duration.value.0;
        let expected = format!("at most the duration of {}", TIME.format(duration_ns));
        let help = "make `scenario.duration` longer";
        if task.period.value.0 > duration_ns {
            let found = format!("a period of {}", TIME.format(task.period.value.0));
            self.problems
                .report_with_help(task.period.span, found, expected, help);
            return;
        }
        let offset_ns = task.offset.as_ref().map_or(0, |offset| offset.value.0);
        let first_deadline_ns = offset_ns + deadline.value.0;
        if first_deadline_ns > duration_ns {
            let span = task
                .offset
                .as_ref()
                .map_or(deadline.span, |offset| offset.span);
            let found = format!("a first deadline at {}", TIME.format(first_deadline_ns));
            self.problems.report_with_help(span, found, expected, help);
        }
    }

    fn refuse_shorter_than_tick(&mut self, what: &str, time: &Located<Time>) {
        let tick_ns = self.platform.os.tick_ns;
        if time.value.0 < tick_ns {
            self.problems.report(
                time.span,
                format!("a {what} of {}", TIME.format(time.value.0)),
                format!(
                    "at least the tick of {}, {}",
                    self.platform.name,
                    TIME.format(tick_ns)
                ),
            );
        }
    }

    fn task_cores(&mut self, task: &TaskTable, partition: Option<&Partition>) -> Option<Vec<u16>> {
        let Some(cores) = &task.cores else {
            return Some(partition?.cores.clone());
        };
        self.refuse_missing_cores(&cores.value.0, cores.span);
        self.refuse_outside(partition, cores);
        Some(cores.value.0.clone())
    }

    /// Cores that are not in the partition of their work.
    fn refuse_outside(&mut self, partition: Option<&Partition>, cores: &Located<Cores>) {
        let outside = partition.and_then(|partition| {
            let listed = &cores.value.0;
            let core = listed.iter().find(|core| !partition.cores.contains(core))?;
            Some((core, partition)).filter(|(core, _)| **core < self.platform.cores)
        });
        let Some((core, partition)) = outside else {
            return;
        };
        let (what, whose) = match self.file.vm.is_empty() {
            true => ("partition", "gang's partition"),
            false => ("VM", "VM"),
        };
        self.problems.report(
            cores.span,
            format!(
                "core {core}, which is not in the {what} `{}`",
                partition.name
            ),
            format!("cores of the {whose}: {}", list(&partition.cores)),
        );
    }

    /// Best-effort work in the order of the file.
    pub(super) fn best_effort(&mut self) -> Vec<Option<BestEffort>> {
        self.file
            .best_effort
            .iter()
            .map(|table| self.best_effort_entry(&table.value, None))
            .collect()
    }

    /// One entry; in a VM it has the cores of the VM's partition.
    pub(super) fn best_effort_entry(
        &mut self,
        entry: &BestEffortTable,
        partition: Option<&Partition>,
    ) -> Option<BestEffort> {
        if let Some(cores) = &entry.cores {
            self.refuse_missing_cores(&cores.value.0, cores.span);
            self.refuse_outside(partition, cores);
        }
        let threads = threads(&entry.threads);
        let all_cores = || match partition {
            Some(partition) => partition.cores.clone(),
            None => (0..self.platform.cores).collect(),
        };
        let cores = entry
            .cores
            .as_ref()
            .map_or_else(all_cores, |cores| cores.value.0.clone());
        let owner = Owner {
            name: &entry.name.value.0,
            role: Role::BestEffort,
            threads,
        };
        let program = self.program(&entry.program, owner);
        let class_of_service = self.class_named(entry.class_of_service.as_ref());
        Some(BestEffort {
            name: entry.name.value.0.clone(),
            threads,
            cores,
            pinned: entry.pinned.as_ref().is_some_and(|flag| flag.value.0),
            class_of_service,
            program: program?,
        })
    }
}

pub(super) fn threads(count: &Option<Located<Count<1, 65_535>>>) -> u16 {
    count.as_ref().map_or(1, |count| count.value.0 as u16)
}

/// "0, 1, 2".
fn list(cores: &[u16]) -> String {
    let numbers: Vec<String> = cores.iter().map(u16::to_string).collect();
    numbers.join(", ")
}
