//! From a scenario to what the response-time analysis works on.

use std::collections::BTreeMap;

use ringfence_scenario::Factors;
use ringfence_scenario::model::{
    Case, Gang, Overrun, Program, Scenario, Scheduling, ShareLimit, Task, Tolerance,
};

use super::caches::{Caches, Leftovers};
use super::interference::{AccessCosts, Allowed, BestEffort, LlcAccesses};
use super::system::{self, Costs, Partition, Share};

/// What a run claims about the machine under it, see [`ringfence_record::event::Claims`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineClaims {
    /// How long a core needs to leave its thread after another core wants it to.
    pub hand_over_ns: u64,
    /// Bytes that a core moves between reaching its limit and standing still.
    pub quantum_bytes: u64,
}

/// What was seen of a task in a run on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Measured {
    /// Its longest response.
    pub execution_ns: u64,
    /// Accesses of one job to the LLC from the core with most, on average over the
    /// run and rounded up.
    pub llc_accesses: u64,
    /// What the case's best-effort work added to the longest response, regulated as
    /// in the case; `None` if that was not measured, and is bounded.
    pub interference_ns: Option<u64>,
}

/// Why a scenario cannot be analysed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// The case runs gangs side by side.
    #[error(
        "case `{case}` schedules by fixed priority, which runs gangs side by side; \
         the analysis needs a case with scheduling = \"gang\""
    )]
    NotOneGangAtATime {
        /// Name of the case.
        case: String,
    },
    /// The execution time of a program that is no compute program is not known.
    #[error(
        "task `{task}` has no known execution time: give it `known = {{ wcet = \"...\" }}`, \
         or take it from simulation with --measure"
    )]
    NoExecutionTime {
        /// Name of the task.
        task: String,
    },
}

/// A case to analyse.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The case of it.
    pub case: &'a Case,
    /// What the machine claims.
    pub claims: MachineClaims,
    /// Execution times that were measured, by task. They count where the scenario states none.
    pub measured: &'a BTreeMap<String, Measured>,
    /// Slowdowns beside those that compute programs state.
    pub factors: &'a Factors,
}

/// Another tolerance for gangs of a partition: lines that each best-effort core may
/// read, and as many that it may write, in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriedTolerance {
    /// Index of the partition.
    pub partition: usize,
    /// Priority of the gangs; `None` is all gangs of the partition.
    pub priority: Option<u8>,
    /// Lines each way.
    pub lines_each_way: u64,
}

impl<'a> Problem<'a> {
    /// The partitions that have tasks, in the order of the scenario.
    ///
    /// # Errors
    /// What the analysis cannot handle.
    pub fn partitions(
        &self,
        tried: Option<TriedTolerance>,
    ) -> Result<Vec<Partition>, ProblemError> {
        if self.case.scheduling != Scheduling::Gang {
            return Err(ProblemError::NotOneGangAtATime {
                case: self.case.name.clone(),
            });
        }
        let mut partitions = Vec::new();
        for index in self.used_partitions() {
            let tasks: Vec<system::Task> = self
                .gangs()
                .filter(|gang| gang.partition == index)
                .flat_map(|gang| gang.tasks.iter().map(move |task| (gang, task)))
                .map(|(gang, task)| self.task(gang, task, tried))
                .collect::<Result<_, _>>()?;
            let mut partition = Partition {
                name: self.scenario.partitions[index].name.clone(),
                tasks,
                costs: self.costs(),
                share: share(self.scenario.share),
                refill_period_ns: self
                    .is_regulated()
                    .then_some(self.scenario.regulation.period_ns),
                entangled: Vec::new(),
            };
            partition.entangle(|task| task.barriers > 0);
            partitions.push(partition);
        }
        Ok(partitions)
    }

    /// Indices of the partitions that have a gang in the case, ascending.
    pub fn used_partitions(&self) -> Vec<usize> {
        let mut used: Vec<usize> = self.gangs().map(|gang| gang.partition).collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// The gangs that take part.
    pub fn gangs(&self) -> impl Iterator<Item = &'a Gang> + use<'a> {
        let scenario = self.scenario;
        self.case.gangs.iter().map(|&gang| &scenario.gangs[gang])
    }

    /// What the report should say beside the figures.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let has_memory = self.scenario.platform.memory.is_some();
        if has_memory && self.used_partitions().len() > 1 {
            notes.push(
                "gangs of different partitions run at the same time; what they cost each other \
                 in caches and DRAM is not in the bounds, unless `known.wcet` covers it"
                    .into(),
            );
        }
        if has_memory && self.has_unknown_mates() {
            notes.push(
                "what tasks of one gang cost each other is not in the bounds for pairs that \
                 --factors does not give"
                    .into(),
            );
        }
        let tasks = || self.gangs().flat_map(|gang| &gang.tasks);
        if has_memory && tasks().any(|task| self.is_measured(task)) {
            notes.push(
                "execution times are the longest that was seen in simulation, and not proven to \
                 be the worst case"
                    .into(),
            );
        }
        if self
            .measured
            .values()
            .any(|seen| seen.interference_ns.is_some())
        {
            notes.push(
                "what best-effort work costs is the most that was seen in simulation; the \
                 largest tolerances are bounded without it"
                    .into(),
            );
        }
        if has_memory
            && !self.case.best_effort.is_empty()
            && tasks().any(|task| self.llc_accesses(task).is_none())
        {
            notes.push(
                "without `known.llc_accesses` the bounds leave out what best-effort hits in the \
                 last-level cache cost"
                    .into(),
            );
        }
        notes
    }

    /// Whether two tasks of one priority have no factor for each other.
    fn has_unknown_mates(&self) -> bool {
        let tasks = || {
            self.gangs()
                .flat_map(|gang| gang.tasks.iter().map(move |task| (gang, task)))
        };
        tasks().any(|(gang, task)| {
            tasks().any(|(other_gang, other)| {
                task.name != other.name
                    && (gang.partition, gang.priority)
                        == (other_gang.partition, other_gang.priority)
                    && self.factor_milli(task, &other.name).is_none()
            })
        })
    }

    /// Whether best-effort work is held to tolerances.
    pub fn is_regulated(&self) -> bool {
        self.case.regulation && !self.case.best_effort.is_empty()
    }

    fn is_measured(&self, task: &Task) -> bool {
        task.known.wcet_ns.is_none() && self.measured.contains_key(&task.name)
    }

    fn llc_accesses(&self, task: &Task) -> Option<LlcAccesses> {
        let measured = self.measured.get(&task.name);
        let measured = measured.map(|measured| measured.llc_accesses);
        Some(LlcAccesses {
            of_core: task.known.llc_accesses.or(measured)?,
            cores: cores(task).len() as u64,
        })
    }

    fn costs(&self) -> Costs {
        let os = &self.scenario.platform.os;
        let known = os.reschedule_latency_ns + os.interrupt_ns + os.context_switch_ns;
        Costs {
            context_switch_ns: os.context_switch_ns,
            interrupt_ns: os.interrupt_ns,
            latency_ns: os.reschedule_latency_ns,
            access_ns: self.claims.hand_over_ns.saturating_sub(known),
        }
    }

    fn task(
        &self,
        gang: &Gang,
        task: &Task,
        tried: Option<TriedTolerance>,
    ) -> Result<system::Task, ProblemError> {
        let platform = &self.scenario.platform;
        let access = AccessCosts::of(platform);
        let execution_ns = self.execution_ns(task)?;
        let slowed_ns = self.slowed_ns(gang, task, execution_ns);
        let best_effort = self.best_effort(gang, tried);
        let llc_accesses = self.llc_accesses(task);
        let seen = self.measured.get(&task.name);
        // What was seen holds for what was tolerated; anything else is bounded.
        let seen_ns = seen.and_then(|seen| seen.interference_ns);
        let seen_ns = seen_ns.filter(|_| tried.is_none());
        let (added_ns, resuming_ns) = match seen_ns {
            Some(_) => (seen_ns, Some(0)),
            None => (
                best_effort.slows_down(&access, slowed_ns, llc_accesses),
                best_effort.slows_down_resuming(&access, llc_accesses),
            ),
        };
        let caches = Caches::of(platform, &task.program, task.threads, cores(task).len());
        let left_at_begin = self.left_by_others(task, seen_ns.is_none());
        let left_at_resume = self.left_by_others(task, true);
        let barriers_cost = seen_ns.is_none() && best_effort.runs();
        let interference_ns = added_ns.map(|ns| ns.saturating_add(slowed_ns - execution_ns));
        Ok(system::Task {
            name: task.name.clone(),
            gang: gang.name.clone(),
            priority: gang.priority,
            period_ns: task.period_ns,
            deadline_ns: match task.overrun {
                Overrun::Queue => task.deadline_ns,
                // A job that is not finished in time makes its successor drop out.
                Overrun::Skip => task.deadline_ns.min(task.period_ns),
            },
            offset_ns: task.offset_ns,
            jitter_ns: task.known.jitter_ns,
            cores: cores(task),
            execution_ns,
            interference_ns: interference_ns.filter(|_| resuming_ns.is_some()),
            begin_ns: caches.map_or(0, |caches| caches.begin_ns(left_at_begin)),
            resume_ns: caches
                .map_or(0, |caches| caches.resume_ns(left_at_resume))
                .saturating_add(resuming_ns.unwrap_or(0)),
            barriers: barriers(task),
            barrier_reload_ns: caches
                .filter(|_| barriers_cost)
                .map_or(0, |caches| caches.barrier_ns(self.left_by_best_effort())),
            non_preemptive_ns: task.known.non_preemptive_ns,
            queues: task.overrun == Overrun::Queue,
        })
    }

    /// Of one job alone.
    fn execution_ns(&self, task: &Task) -> Result<u64, ProblemError> {
        if let Some(wcet_ns) = task.known.wcet_ns {
            return Ok(wcet_ns);
        }
        if let Program::Compute(compute) = &task.program {
            // Threads on one core take turns, with a switch between two.
            let on_one = u64::from(task.threads).div_ceil(cores(task).len() as u64);
            let switches_ns = self.costs().choice_ns().saturating_mul(on_one - 1);
            return Ok(compute
                .time_ns
                .saturating_mul(on_one)
                .saturating_add(switches_ns));
        }
        self.measured
            .get(&task.name)
            .map(|measured| measured.execution_ns)
            .ok_or_else(|| ProblemError::NoExecutionTime {
                task: task.name.clone(),
            })
    }

    /// `execution_ns` under all factors of work that may run at the same time.
    fn slowed_ns(&self, gang: &Gang, task: &Task, execution_ns: u64) -> u64 {
        let tasks = self
            .gangs()
            .filter(|other| {
                let same_place = other.partition == gang.partition;
                !same_place || other.priority == gang.priority
            })
            .flat_map(|gang| gang.tasks.iter().map(|task| &task.name));
        let entries = self.case.best_effort.iter();
        let best_effort = entries.map(|&entry| &self.scenario.best_effort[entry].name);
        tasks
            .chain(best_effort)
            .filter_map(|other| self.factor_milli(task, other))
            .fold(execution_ns, slowed)
    }

    /// How many times longer `task` takes beside `other`, in thousandths, as far as
    /// the scenario or the table of factors says.
    pub fn factor_milli(&self, task: &Task, other: &str) -> Option<u32> {
        let stated = match &task.program {
            Program::Compute(compute) if self.case.interference => {
                let mut slowed_by = compute.slowed_by.iter();
                slowed_by.find_map(|(name, factor)| (name == other).then_some(*factor))
            }
            _ => None,
        };
        stated.or_else(|| self.factors.get(&task.name, other))
    }

    /// Best-effort work beside `gang`.
    fn best_effort(&self, gang: &Gang, tried: Option<TriedTolerance>) -> BestEffort {
        let line_bytes = self.line_bytes();
        let tried = tried.filter(|tried| {
            tried.partition == gang.partition
                && tried
                    .priority
                    .is_none_or(|priority| priority == gang.priority)
        });
        BestEffort {
            cores: self.best_effort_cores(),
            allowed: match tried {
                _ if !self.case.regulation => Allowed::Everything,
                Some(tried) => allowed(Some(tried.lines_each_way), Some(tried.lines_each_way)),
                None => self.allowed(gang),
            },
            quantum_lines: self.claims.quantum_bytes.div_ceil(line_bytes),
            period_ns: self.scenario.regulation.period_ns,
        }
    }

    /// What the other tasks of the case leave in the caches, with best-effort work or without.
    fn left_by_others(&self, task: &Task, with_best_effort: bool) -> Leftovers {
        let start = match with_best_effort {
            true => self.left_by_best_effort(),
            false => Leftovers::default(),
        };
        self.gangs()
            .flat_map(|gang| &gang.tasks)
            .filter(|other| other.name != task.name)
            .fold(start, |left, other| left.and(&other.program, other.threads))
    }

    fn left_by_best_effort(&self) -> Leftovers {
        let entries = self.case.best_effort.iter();
        entries
            .map(|&entry| &self.scenario.best_effort[entry])
            .fold(Leftovers::default(), |left, entry| {
                left.and(&entry.program, entry.threads)
            })
    }

    /// Cores that best-effort work can have while a gang runs: the gang has at least one.
    fn best_effort_cores(&self) -> u64 {
        let entries = self.case.best_effort.iter();
        let mut cores: Vec<u16> = entries
            .flat_map(|&entry| self.scenario.best_effort[entry].cores.iter().copied())
            .collect();
        cores.sort_unstable();
        cores.dedup();
        let others = usize::from(self.scenario.platform.cores).saturating_sub(1);
        cores.len().min(others) as u64
    }

    /// What the strictest gang of the priority tolerates.
    fn allowed(&self, gang: &Gang) -> Allowed {
        let strictest = |of: fn(&Tolerance) -> Option<u64>| {
            let rate = self
                .gangs()
                .filter(|other| other.partition == gang.partition)
                .filter(|other| other.priority == gang.priority)
                .filter_map(|other| of(&other.tolerance))
                .min();
            rate.map(|rate| self.lines_per_period(rate))
        };
        allowed(
            strictest(|tolerance| tolerance.read_bytes_per_second),
            strictest(|tolerance| tolerance.write_bytes_per_second),
        )
    }

    /// Lines of a rate in a regulation period, rounded down as the regulator does.
    pub fn lines_per_period(&self, bytes_per_second: u64) -> u64 {
        let bytes = u128::from(bytes_per_second) * u128::from(self.scenario.regulation.period_ns)
            / 1_000_000_000;
        u64::try_from(bytes / u128::from(self.line_bytes())).unwrap_or(u64::MAX)
    }

    /// Bytes of a line; at least 1.
    pub fn line_bytes(&self) -> u64 {
        let memory = self.scenario.platform.memory.as_ref();
        memory.map_or(64, |memory| memory.line_bytes.into())
    }
}

/// `ns` made longer by a factor, rounded up.
pub fn slowed(ns: u64, factor_milli: u32) -> u64 {
    let slowed = (u128::from(ns) * u128::from(factor_milli)).div_ceil(1000);
    u64::try_from(slowed).unwrap_or(u64::MAX)
}

/// A core without budget in either direction stands still.
fn allowed(read_lines: Option<u64>, written_lines: Option<u64>) -> Allowed {
    match (read_lines, written_lines) {
        (Some(0), _) | (_, Some(0)) => Allowed::Nothing,
        (Some(read), Some(written)) => Allowed::Lines(read.saturating_add(written)),
        _ => Allowed::Everything,
    }
}

fn share(share: ShareLimit) -> Option<Share> {
    match share {
        ShareLimit::Off => None,
        ShareLimit::Limited {
            limit_ns,
            window_ns,
        } => Some(Share {
            limit_ns,
            window_ns,
        }),
    }
}

/// Cores with a thread of the task.
fn cores(task: &Task) -> Vec<u16> {
    let used = usize::from(task.threads).min(task.cores.len());
    task.cores[..used].to_vec()
}

fn barriers(task: &Task) -> u64 {
    match &task.program {
        Program::Phases(phases) if task.threads > 1 => phases.len() as u64 - 1,
        Program::NeuralNetwork(network) if task.threads > 1 => network.phases() as u64 - 1,
        _ => 0,
    }
}
