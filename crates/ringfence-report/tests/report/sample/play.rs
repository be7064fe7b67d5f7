//! Plays a case of the sample, slot by slot.

use ringfence_record::event::{
    BudgetClaim, Case, Claims, Counters, Event, Gang, OffReason, Partition, Task, Thread,
    UnthrottleReason,
};

use super::{
    AGGRESSOR_BYTES, BUDGET_BYTES, CORES, DURATION_NS, PERIOD_NS, SLOT_NS, Setting, TASKS,
    TaskSpec, wander,
};

/// A task of the running case.
struct Live {
    spec: &'static TaskSpec,
    first_thread: u16,
    released: u32,
    finished: u32,
    started: bool,
    remaining_ns: u64,
}

pub(super) struct Made {
    setting: Setting,
    tasks: Vec<Live>,
    events: Vec<Event>,
    on_core: [Option<u16>; CORES as usize],
    counters: [Counters; CORES as usize],
    used: [u64; CORES as usize],
    throttled: [bool; CORES as usize],
    active: Option<u8>,
    random: u64,
}

impl Made {
    pub(super) fn new(setting: Setting) -> Self {
        let mut first_thread = 0;
        let tasks = setting
            .tasks
            .iter()
            .map(|&index| {
                let spec = &TASKS[index];
                let live = Live {
                    spec,
                    first_thread,
                    released: 0,
                    finished: 0,
                    started: false,
                    remaining_ns: 0,
                };
                first_thread += spec.cores.len() as u16;
                live
            })
            .collect();
        Made {
            setting,
            tasks,
            events: Vec::new(),
            on_core: Default::default(),
            counters: Default::default(),
            used: Default::default(),
            throttled: Default::default(),
            active: None,
            random: 1,
        }
    }

    pub(super) fn play(mut self) -> Vec<Event> {
        self.events.push(Event::CaseBegin(Box::new(self.case())));
        for time_ns in (0..DURATION_NS).step_by(SLOT_NS as usize) {
            self.begin_slot(time_ns);
            self.schedule(time_ns);
            self.execute(time_ns);
        }
        for core in 0..CORES {
            self.put(DURATION_NS, core, None, OffReason::Ended);
            self.sample(DURATION_NS, core);
        }
        if self.setting.best_effort {
            (0..CORES).for_each(|core| self.executed(core));
        }
        if let Some(off_um) = self.setting.off_um {
            self.events.extend(wander::events(DURATION_NS, off_um));
        }
        self.events.push(Event::CaseEnd {
            time_ns: DURATION_NS,
        });
        self.events
    }

    fn case(&self) -> Case {
        let mut threads = Vec::new();
        for (index, task) in self.tasks.iter().enumerate() {
            for thread in 0..task.spec.cores.len() {
                threads.push(Thread {
                    name: format!("{}/{thread}", task.spec.name),
                    task: Some(index as u16),
                });
            }
        }
        if self.setting.best_effort {
            threads.extend((0..CORES).map(|core| Thread {
                name: format!("{}/{core}", if core < 3 { "memory-hog" } else { "cpu-hog" }),
                task: None,
            }));
        }
        let tolerance = self.setting.ring_fenced.then_some(BUDGET_BYTES * 1_000);
        Case {
            name: self.setting.name.into(),
            duration_ns: DURATION_NS,
            cores: CORES,
            claims: Claims {
                one_gang_at_a_time: self.setting.ring_fenced,
                hand_over_ns: 20_000,
                budgets: self.setting.ring_fenced.then_some(BudgetClaim {
                    period_ns: PERIOD_NS,
                    quantum_bytes: AGGRESSOR_BYTES,
                }),
                ..Claims::default()
            },
            partitions: vec![Partition {
                name: "all".into(),
                cores: (0..CORES).collect(),
            }],
            gangs: self
                .tasks
                .iter()
                .map(|task| Gang {
                    name: task.spec.name.into(),
                    partition: 0,
                    priority: task.spec.priority,
                    tolerance_read_bytes_per_second: tolerance,
                    tolerance_write_bytes_per_second: tolerance,
                })
                .collect(),
            tasks: self
                .tasks
                .iter()
                .enumerate()
                .map(|(index, task)| Task {
                    name: task.spec.name.into(),
                    gang: index as u16,
                    period_ns: task.spec.period_ns,
                    deadline_ns: task.spec.deadline_ns,
                    offset_ns: 0,
                    sporadic: false,
                })
                .collect(),
            threads,
            classes_of_service: vec![],
            accuracy: match self.setting.off_um {
                Some(_) => wander::accuracy(),
                None => Default::default(),
            },
        }
    }

    /// A multiplicative generator is random enough for wobbly bars.
    fn wobble(&mut self, below: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(11);
        (self.random >> 33) % below
    }

    fn begin_slot(&mut self, time_ns: u64) {
        for index in 0..self.tasks.len() {
            let spec = self.tasks[index].spec;
            if !time_ns.is_multiple_of(spec.period_ns) {
                continue;
            }
            let idle = self.tasks[index].released == self.tasks[index].finished;
            let task = index as u16;
            let job = self.tasks[index].released;
            self.tasks[index].released += 1;
            self.events.push(Event::JobReleased { time_ns, task, job });
            if idle {
                self.tasks[index].remaining_ns = spec.work_ns + self.wobble(spec.work_ns / 12);
                self.wake(time_ns, index);
            }
        }
        if time_ns.is_multiple_of(PERIOD_NS) {
            for core in 0..CORES {
                self.sample(time_ns, core);
                self.used[core as usize] = 0;
                self.unthrottle(time_ns, core, UnthrottleReason::Refill);
            }
        }
    }

    fn wake(&mut self, time_ns: u64, index: usize) {
        let task = &self.tasks[index];
        for thread in task.first_thread..task.first_thread + task.spec.cores.len() as u16 {
            self.events.push(Event::ThreadWoke { time_ns, thread });
        }
    }

    fn sample(&mut self, time_ns: u64, core: u16) {
        let counters = self.counters[core as usize];
        self.events.push(Event::Counters {
            time_ns,
            core,
            counters,
        });
    }

    /// A memory hog accesses memory, a CPU hog mostly its caches.
    fn executed(&mut self, core: u16) {
        let lines = self.counters[core as usize].best_effort_read_bytes / 64;
        self.events.push(Event::ThreadExecuted {
            time_ns: DURATION_NS,
            thread: self.real_time_threads() + core,
            accesses: if core < 3 { lines } else { 100 * lines },
        });
    }

    fn unthrottle(&mut self, time_ns: u64, core: u16, reason: UnthrottleReason) {
        if std::mem::take(&mut self.throttled[core as usize]) {
            self.events.push(Event::Unthrottled {
                time_ns,
                core,
                reason,
            });
        }
    }

    fn schedule(&mut self, time_ns: u64) {
        let busy = |task: &&Live| task.released > task.finished;
        let highest = self
            .tasks
            .iter()
            .filter(busy)
            .map(|task| task.spec.priority)
            .max();
        if self.setting.ring_fenced && highest != self.active {
            self.change_gang(time_ns, highest);
        }
        for core in 0..CORES {
            let real_time = self
                .tasks
                .iter()
                .filter(busy)
                .filter(|task| !self.setting.ring_fenced || Some(task.spec.priority) == highest)
                .find_map(|task| {
                    let place = task.spec.cores.iter().position(|&c| c == core)?;
                    Some(task.first_thread + place as u16)
                });
            let best_effort = (self.setting.best_effort && !self.throttled[core as usize])
                .then(|| self.real_time_threads() + core);
            let next = real_time.or(best_effort);
            let reason = match self.on_core[core as usize] {
                Some(thread) if self.is_best_effort(thread) && self.throttled[core as usize] => {
                    OffReason::Throttled
                }
                Some(thread) if self.is_done(thread) => OffReason::Sleeping,
                _ => OffReason::Preempted,
            };
            self.put(time_ns, core, next, reason);
        }
    }

    fn change_gang(&mut self, time_ns: u64, priority: Option<u8>) {
        self.active = priority;
        self.events.push(Event::GangActive {
            time_ns,
            partition: 0,
            priority,
        });
        let budget = priority.map(|_| BUDGET_BYTES);
        for core in 0..CORES {
            self.events.push(Event::BudgetSet {
                time_ns,
                core,
                read_bytes: budget,
                write_bytes: budget,
            });
            if priority.is_none() {
                self.unthrottle(time_ns, core, UnthrottleReason::NoGang);
            }
        }
    }

    fn real_time_threads(&self) -> u16 {
        self.tasks
            .iter()
            .map(|task| task.spec.cores.len() as u16)
            .sum()
    }

    fn is_best_effort(&self, thread: u16) -> bool {
        thread >= self.real_time_threads()
    }

    /// Whether a thread belongs to a task without a job to do.
    fn is_done(&self, thread: u16) -> bool {
        self.tasks.iter().any(|task| {
            let threads = task.first_thread..task.first_thread + task.spec.cores.len() as u16;
            threads.contains(&thread) && task.released == task.finished
        })
    }

    fn put(&mut self, time_ns: u64, core: u16, next: Option<u16>, reason: OffReason) {
        let before = std::mem::replace(&mut self.on_core[core as usize], next);
        if before == next {
            return;
        }
        if let Some(thread) = before {
            self.events.push(Event::ThreadOff {
                time_ns,
                core,
                thread,
                reason,
            });
        }
        if let Some(thread) = next {
            self.events.push(Event::ThreadOn {
                time_ns,
                core,
                thread,
            });
            let start = self.tasks.iter_mut().enumerate().find(|(_, task)| {
                !task.started && thread == task.first_thread && task.released > task.finished
            });
            if let Some((index, task)) = start {
                task.started = true;
                let (task, job) = (index as u16, task.finished);
                self.events.push(Event::JobStarted { time_ns, task, job });
            }
        }
    }

    fn execute(&mut self, time_ns: u64) {
        let end_ns = time_ns + SLOT_NS;
        let mut hogs = 0;
        for core in 0..CORES {
            let Some(thread) = self.on_core[core as usize] else {
                continue;
            };
            if !self.is_best_effort(thread) {
                self.counters[core as usize].read_bytes += 20_000;
                continue;
            }
            let bytes = if core < 3 { AGGRESSOR_BYTES } else { 2_000 };
            hogs += u64::from(core < 3);
            let counters = &mut self.counters[core as usize];
            counters.read_bytes += bytes;
            counters.best_effort_read_bytes += bytes;
            counters.write_bytes += bytes / 2;
            counters.best_effort_write_bytes += bytes / 2;
            self.used[core as usize] += bytes;
            if self.active.is_some() && self.used[core as usize] >= BUDGET_BYTES {
                self.throttled[core as usize] = true;
                self.events.push(Event::Throttled {
                    time_ns: end_ns,
                    core,
                });
            }
        }
        let contenders = hogs * 2 + self.running_tasks().saturating_sub(1);
        for index in 0..self.tasks.len() {
            let running = self.on_core.contains(&Some(self.tasks[index].first_thread));
            if running {
                let slow = 100 + contenders * 55 + self.wobble(40);
                let done = SLOT_NS * 100 / if contenders == 0 { 100 } else { slow };
                self.progress(end_ns, index, done);
            }
        }
    }

    fn running_tasks(&self) -> u64 {
        let on = |task: &&Live| self.on_core.contains(&Some(task.first_thread));
        self.tasks.iter().filter(on).count() as u64
    }

    fn progress(&mut self, time_ns: u64, index: usize, done_ns: u64) {
        let work_ns = self.tasks[index].spec.work_ns;
        let extra = self.wobble(work_ns / 12);
        let task = &mut self.tasks[index];
        task.remaining_ns = task.remaining_ns.saturating_sub(done_ns);
        if task.remaining_ns > 0 {
            return;
        }
        let job = task.finished;
        task.finished += 1;
        task.started = false;
        task.remaining_ns = work_ns + extra;
        let queued = task.released > task.finished;
        self.events.push(Event::JobFinished {
            time_ns,
            task: index as u16,
            job,
        });
        if queued {
            // The next job follows without leaving the core.
            let task = &mut self.tasks[index];
            task.started = true;
            let job = task.finished;
            self.events.push(Event::JobStarted {
                time_ns,
                task: index as u16,
                job,
            });
        }
    }
}
