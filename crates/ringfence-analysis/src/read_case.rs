//! Reads a case's events into a [`CaseRun`], and finds contradictions.

mod accuracy;
mod reservations;

use ringfence_record::event::{Case, Counters, Event, MAX_CASE_NS, OffReason, UnthrottleReason};

use crate::case::{
    BudgetInForce, CaseRun, CoreRun, GangActive, Interval, Job, JobEnd, Message, Occupation, Place,
    ReservationChange, Sample, ThreadRun, Throttle, TrajectoryRun,
};
use crate::declarations::{check_declarations, check_index};
use crate::duration::exact;

/// A section that contradicts itself or has no end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "case '{name}', event {event} at {time}: {}",
    self.explanation(),
    name = case.name,
    time = exact(*time_ns)
)]
pub struct CaseError {
    /// What the section declares.
    pub case: Box<Case>,
    /// Number of the event in its section, `CaseBegin` being 0.
    pub event: u64,
    /// The event's time, or the time of the last event before an early end.
    pub time_ns: u64,
    /// What was found and what was expected.
    pub what: String,
    /// Whether it is only that the record goes no further.
    pub is_cut: bool,
}

impl CaseError {
    /// What was found, and what to make of it.
    pub fn explanation(&self) -> String {
        let what = &self.what;
        if self.is_cut {
            return what.clone();
        }
        format!("{what}; the target that wrote this record has a fault, or the record is damaged")
    }
}

/// Reads the events of one case, one at a time.
#[derive(Debug)]
pub struct CaseReader {
    run: CaseRun,
    now_ns: u64,
    event: u64,
    ended: bool,
    fault: Option<CaseError>,
    on_core: Vec<Option<(u16, u64)>>,
    core_of: Vec<Option<u16>>,
    runnable_since: Vec<Option<u64>>,
    throttled_since: Vec<Option<u64>>,
}

impl CaseReader {
    /// Begins with what `CaseBegin` declares.
    pub fn new(case: Case) -> Self {
        let cores = usize::from(case.cores);
        let threads = case.threads.len();
        let declared = check_declarations(&case);
        let mut reader = Self {
            now_ns: 0,
            event: 0,
            ended: false,
            fault: None,
            on_core: vec![None; cores],
            core_of: vec![None; threads],
            runnable_since: vec![None; threads],
            throttled_since: vec![None; cores],
            run: CaseRun {
                end_ns: 0,
                jobs: vec![Vec::new(); case.tasks.len()],
                cores: vec![CoreRun::default(); cores],
                threads: vec![ThreadRun::default(); threads],
                partitions: vec![Vec::new(); case.partitions.len()],
                changes: vec![Vec::new(); case.claims.reservations.len()],
                trajectories: vec![TrajectoryRun::default(); case.accuracy.trajectories.len()],
                measures: vec![Vec::new(); case.accuracy.measures.len()],
                messages: Vec::new(),
                case,
            },
        };
        if let Err(what) = declared {
            reader.fail(what);
        }
        reader
    }

    /// Reads the next event. After a contradiction nothing more is looked at.
    pub fn read(&mut self, event: &Event) {
        if self.fault.is_some() {
            return;
        }
        self.event += 1;
        if let Err(what) = self.apply(event) {
            self.fail(what);
        }
    }

    /// The case, when its `CaseEnd` has been read.
    ///
    /// # Errors
    /// The first contradiction, or that `CaseEnd` is missing.
    pub fn finish(mut self) -> Result<CaseRun, CaseError> {
        if self.fault.is_none() && !self.ended {
            self.fail("the record goes no further, but the case has no CaseEnd".into());
            if let Some(fault) = &mut self.fault {
                fault.is_cut = true;
            }
        }
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(self.run),
        }
    }

    fn fail(&mut self, what: String) {
        self.fault = Some(CaseError {
            case: Box::new(self.run.case.clone()),
            event: self.event,
            time_ns: self.now_ns,
            what,
            is_cut: false,
        });
    }

    fn apply(&mut self, event: &Event) -> Result<(), String> {
        if self.ended {
            return Err("an event follows CaseEnd".into());
        }
        let Some(time_ns) = event.time_ns() else {
            return Err("a second CaseBegin".into());
        };
        self.advance(time_ns)?;
        match *event {
            Event::CaseBegin(_) => {}
            Event::JobReleased { task, job, .. } => self.release(task, job)?,
            Event::JobStarted { task, job, .. } => self.start(task, job)?,
            Event::JobFinished { task, job, .. } => {
                self.end_job(task, job, true, JobEnd::Finished(time_ns))?;
            }
            Event::JobDropped { task, job, .. } => {
                self.end_job(task, job, false, JobEnd::Dropped(time_ns))?;
            }
            Event::ThreadWoke { thread, .. } => {
                self.check_thread(thread)?;
                self.runnable_since[usize::from(thread)].get_or_insert(time_ns);
            }
            Event::ThreadOn { core, thread, .. } => self.thread_on(core, thread)?,
            Event::ThreadOff {
                core,
                thread,
                reason,
                ..
            } => self.thread_off(core, thread, reason)?,
            Event::GangActive {
                partition,
                priority,
                ..
            } => self.gang_active(partition, priority)?,
            Event::BudgetSet {
                core,
                read_bytes,
                write_bytes,
                ..
            } => self.budget_set(core, read_bytes, write_bytes)?,
            Event::Throttled { core, .. } => self.throttled(core)?,
            Event::Unthrottled { core, reason, .. } => self.unthrottled(core, reason)?,
            Event::Counters { core, counters, .. } => self.sample(core, counters)?,
            Event::ThreadExecuted {
                thread, accesses, ..
            } => self.executed(thread, accesses)?,
            Event::Lent {
                core,
                period_begin_ns,
                bytes,
                ..
            } => self.loan(core, period_begin_ns, bytes, 0)?,
            Event::Borrowed {
                core,
                period_begin_ns,
                bytes,
                ..
            } => self.loan(core, period_begin_ns, 0, bytes)?,
            Event::ReservationChanged {
                asked_ns,
                reservation,
                period_ns,
                ref shares_bytes,
                ..
            } => self.change(
                reservation,
                ReservationChange {
                    from_ns: time_ns,
                    asked_ns,
                    period_ns,
                    shares_bytes: shares_bytes.clone(),
                },
            )?,
            Event::Position {
                trajectory,
                at_ns,
                position_um,
                ..
            } => self.position(trajectory, Place { at_ns, position_um })?,
            Event::TruePosition {
                trajectory,
                at_ns,
                position_um,
                ..
            } => self.true_position(trajectory, Place { at_ns, position_um })?,
            Event::Measured { measure, value, .. } => self.measured(measure, value)?,
            Event::Message { ref text, .. } => self.run.messages.push(Message {
                time_ns,
                text: text.clone(),
            }),
            Event::CaseEnd { .. } => self.end(),
        }
        Ok(())
    }

    fn advance(&mut self, time_ns: u64) -> Result<(), String> {
        if time_ns < self.now_ns {
            return Err(format!(
                "time goes back to {}, but events come in the order of time",
                exact(time_ns)
            ));
        }
        if time_ns > MAX_CASE_NS {
            return Err(format!(
                "it is at {}, but a case lasts at most {}",
                exact(time_ns),
                exact(MAX_CASE_NS)
            ));
        }
        self.now_ns = time_ns;
        Ok(())
    }

    fn check_core(&self, core: u16) -> Result<(), String> {
        if core >= self.run.case.cores {
            return Err(format!(
                "it names core {core}, but the case has cores 0 to {}",
                i32::from(self.run.case.cores) - 1
            ));
        }
        Ok(())
    }

    fn check_thread(&self, thread: u16) -> Result<(), String> {
        check_index("thread", thread, self.run.threads.len())
    }

    fn release(&mut self, task: u16, number: u32) -> Result<(), String> {
        check_index("task", task, self.run.jobs.len())?;
        let jobs = &mut self.run.jobs[usize::from(task)];
        if number as usize != jobs.len() {
            return Err(format!(
                "job {number} of task {task} was released, but the next one is job {}",
                jobs.len()
            ));
        }
        jobs.push(Job {
            released_ns: self.now_ns,
            started_ns: None,
            end: JobEnd::Unfinished,
        });
        Ok(())
    }

    /// A released job that has not ended.
    fn open_job(&mut self, task: u16, number: u32) -> Result<&mut Job, String> {
        check_index("task", task, self.run.jobs.len())?;
        let job = self.run.jobs[usize::from(task)].get_mut(number as usize);
        let job = job.ok_or_else(|| format!("job {number} of task {task} was never released"))?;
        if job.end != JobEnd::Unfinished {
            return Err(format!("job {number} of task {task} has ended before"));
        }
        Ok(job)
    }

    fn start(&mut self, task: u16, number: u32) -> Result<(), String> {
        let now_ns = self.now_ns;
        let job = self.open_job(task, number)?;
        if job.started_ns.replace(now_ns).is_some() {
            return Err(format!("job {number} of task {task} started twice"));
        }
        Ok(())
    }

    fn end_job(
        &mut self,
        task: u16,
        number: u32,
        started: bool,
        end: JobEnd,
    ) -> Result<(), String> {
        let job = self.open_job(task, number)?;
        if job.started_ns.is_some() != started {
            return Err(if started {
                format!("job {number} of task {task} finished, but it never started")
            } else {
                format!("job {number} of task {task} was dropped, but it had started")
            });
        }
        job.end = end;
        Ok(())
    }

    fn thread_on(&mut self, core: u16, thread: u16) -> Result<(), String> {
        self.check_core(core)?;
        self.check_thread(thread)?;
        if let Some((other, _)) = self.on_core[usize::from(core)] {
            return Err(format!(
                "thread {thread} starts on core {core}, where thread {other} still runs"
            ));
        }
        if let Some(other) = self.core_of[usize::from(thread)] {
            return Err(format!(
                "thread {thread} starts on core {core}, but it still runs on core {other}"
            ));
        }
        self.on_core[usize::from(core)] = Some((thread, self.now_ns));
        self.core_of[usize::from(thread)] = Some(core);
        self.runnable_since[usize::from(thread)].get_or_insert(self.now_ns);
        Ok(())
    }

    fn thread_off(&mut self, core: u16, thread: u16, reason: OffReason) -> Result<(), String> {
        self.check_core(core)?;
        self.check_thread(thread)?;
        match self.on_core[usize::from(core)] {
            Some((running, from_ns)) if running == thread => {
                self.close_occupation(core, thread, from_ns, Some(reason));
            }
            Some((running, _)) => {
                return Err(format!(
                    "thread {thread} leaves core {core}, but thread {running} runs there"
                ));
            }
            None => {
                return Err(format!(
                    "thread {thread} leaves core {core}, but no thread runs there"
                ));
            }
        }
        if matches!(reason, OffReason::Sleeping | OffReason::Ended) {
            self.close_runnable(thread);
        }
        Ok(())
    }

    fn close_occupation(&mut self, core: u16, thread: u16, from_ns: u64, off: Option<OffReason>) {
        let occupation = Occupation {
            core,
            thread,
            from_ns,
            to_ns: self.now_ns,
            off,
        };
        self.run.cores[usize::from(core)]
            .occupations
            .push(occupation);
        self.run.threads[usize::from(thread)]
            .occupations
            .push(occupation);
        self.on_core[usize::from(core)] = None;
        self.core_of[usize::from(thread)] = None;
    }

    fn close_runnable(&mut self, thread: u16) {
        if let Some(from_ns) = self.runnable_since[usize::from(thread)].take() {
            self.run.threads[usize::from(thread)]
                .runnable
                .push(Interval {
                    from_ns,
                    to_ns: self.now_ns,
                });
        }
    }

    fn gang_active(&mut self, partition: u16, priority: Option<u8>) -> Result<(), String> {
        check_index("partition", partition, self.run.partitions.len())?;
        let said = &mut self.run.partitions[usize::from(partition)];
        if let Some(last) = said.last_mut() {
            last.to_ns = self.now_ns;
        }
        said.push(GangActive {
            from_ns: self.now_ns,
            to_ns: self.now_ns,
            priority,
        });
        Ok(())
    }

    fn budget_set(
        &mut self,
        core: u16,
        read_bytes: Option<u64>,
        write_bytes: Option<u64>,
    ) -> Result<(), String> {
        self.check_core(core)?;
        let budgets = &mut self.run.cores[usize::from(core)].budgets;
        if let Some(last) = budgets.last_mut() {
            last.to_ns = self.now_ns;
        }
        budgets.push(BudgetInForce {
            from_ns: self.now_ns,
            to_ns: self.now_ns,
            read_bytes,
            write_bytes,
        });
        Ok(())
    }

    fn throttled(&mut self, core: u16) -> Result<(), String> {
        self.check_core(core)?;
        match self.throttled_since[usize::from(core)].replace(self.now_ns) {
            Some(_) => Err(format!("core {core} is throttled twice")),
            None => Ok(()),
        }
    }

    fn unthrottled(&mut self, core: u16, reason: UnthrottleReason) -> Result<(), String> {
        self.check_core(core)?;
        if self.throttled_since[usize::from(core)].is_none() {
            return Err(format!(
                "core {core} is un-throttled, but was not throttled"
            ));
        }
        self.close_throttle(core, Some(reason));
        Ok(())
    }

    fn close_throttle(&mut self, core: u16, reason: Option<UnthrottleReason>) {
        if let Some(from_ns) = self.throttled_since[usize::from(core)].take() {
            self.run.cores[usize::from(core)].throttles.push(Throttle {
                from_ns,
                to_ns: self.now_ns,
                reason,
            });
        }
    }

    fn sample(&mut self, core: u16, counters: Counters) -> Result<(), String> {
        self.check_core(core)?;
        let samples = &mut self.run.cores[usize::from(core)].samples;
        let before = samples.last().map(|sample| sample.counters);
        if !grown(&before.unwrap_or_default(), &counters) {
            return Err(format!("a counter of core {core} is smaller than before"));
        }
        if counters.best_effort_read_bytes > counters.read_bytes
            || counters.best_effort_write_bytes > counters.write_bytes
        {
            return Err(format!(
                "best-effort work moved more bytes on core {core} than the core did"
            ));
        }
        samples.push(Sample {
            time_ns: self.now_ns,
            counters,
        });
        Ok(())
    }

    fn executed(&mut self, thread: u16, accesses: u64) -> Result<(), String> {
        self.check_thread(thread)?;
        let before = self.run.threads[usize::from(thread)]
            .accesses
            .replace(accesses);
        if before.is_some_and(|before| accesses < before) {
            return Err(format!(
                "thread {thread} has executed fewer accesses than before"
            ));
        }
        Ok(())
    }

    /// Closes what is open when the run ends.
    fn end(&mut self) {
        for core in 0..self.run.case.cores {
            if let Some((thread, from_ns)) = self.on_core[usize::from(core)] {
                self.close_occupation(core, thread, from_ns, None);
            }
            self.close_throttle(core, None);
            if let Some(budget) = self.run.cores[usize::from(core)].budgets.last_mut() {
                budget.to_ns = self.now_ns;
            }
        }
        for thread in (0..).take(self.run.threads.len()) {
            self.close_runnable(thread);
        }
        for said in &mut self.run.partitions {
            if let Some(last) = said.last_mut() {
                last.to_ns = self.now_ns;
            }
        }
        self.run.end_ns = self.now_ns;
        self.ended = true;
    }
}

fn grown(before: &Counters, now: &Counters) -> bool {
    before.read_bytes <= now.read_bytes
        && before.write_bytes <= now.write_bytes
        && before.best_effort_read_bytes <= now.best_effort_read_bytes
        && before.best_effort_write_bytes <= now.best_effort_write_bytes
        && before.llc_accesses <= now.llc_accesses
        && before.llc_misses <= now.llc_misses
}
