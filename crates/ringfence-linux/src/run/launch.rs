//! The processes of a case: one for each task and best-effort entry.

use std::ffi::OsString;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ringfence_scenario::model::Scenario;
use ringfence_target::workload::{Class, Workload};
use ringfence_workloads::program::{Program, Setting};
use ringfence_workloads::runner::{Outcome, Release, Work};

use super::CaseError;
use crate::thread::Stat;

/// What the case does, and when.
pub struct Launch<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Who runs in it.
    pub workload: &'a Workload<'a>,
    /// The command that does the work of one process.
    pub runner: &'a [OsString],
    /// The job log.
    pub log: &'a Path,
    /// The start, in nanoseconds of CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// Whether threads say when they wake and sleep.
    pub marks_sleep: bool,
}

/// A process of a case. It is ended with this.
pub struct Process {
    /// Name of the task or entry.
    pub name: String,
    /// Number of it; see [`Workload::owner`].
    pub owner: usize,
    child: Option<Child>,
}

impl Launch<'_> {
    /// Starts the processes of all tasks and entries.
    ///
    /// # Errors
    /// The first that cannot be started; those before are ended.
    pub fn start(&self) -> Result<Vec<Process>, CaseError> {
        let owners = self.workload.tasks.len() + self.workload.best_effort.len();
        (0..owners).map(|owner| self.start_one(owner)).collect()
    }

    fn start_one(&self, owner: usize) -> Result<Process, CaseError> {
        let name = self.workload.owner_name(owner).to_owned();
        let failed = |reason: String| CaseError::Process {
            name: name.clone(),
            reason,
        };
        let work = serde_json::to_string(&self.work(owner))
            .map_err(|error| failed(format!("its work: {error}")))?;
        let (program, arguments) = self
            .runner
            .split_first()
            .ok_or_else(|| failed("no runner".into()))?;
        let child = Command::new(program)
            .args(arguments)
            .arg(work)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("{}: {error}", program.display())))?;
        Ok(Process {
            name: name.clone(),
            owner,
            child: Some(child),
        })
    }

    fn work(&self, owner: usize) -> Work {
        let workload = self.workload;
        let threads = threads_of(workload, owner);
        let first = &workload.threads[threads.start];
        let (cores, pinned, release) = match &first.class {
            Class::RealTime { task, .. } => {
                let task = workload.tasks[*task].task;
                let release = Release::Periodic {
                    period_ns: task.period_ns,
                    offset_ns: task.offset_ns,
                    overrun: task.overrun,
                };
                (task.cores.clone(), true, release)
            }
            Class::BestEffort { entry, .. } => {
                let work = workload.best_effort[*entry];
                (work.cores.clone(), work.pinned, Release::Endless)
            }
        };
        let memory = self.scenario.platform.memory.as_ref();
        Work {
            name: workload.owner_name(owner).to_owned(),
            task: owner as u32,
            program: Program::Scenario(first.program.clone()),
            setting: Setting {
                threads: threads.len() as u16,
                line_bytes: memory.map_or(64, |memory| memory.line_bytes.into()),
                bank_functions: memory
                    .map_or_else(Vec::new, |memory| memory.llc.bank_functions.clone()),
                seed: self.scenario.seed,
            },
            cores,
            pinned,
            release,
            start_ns: self.start_ns,
            duration_ns: self.scenario.duration_ns,
            log: Some(self.log.to_owned()),
            gang: Some(workload.owner_name(owner).to_owned()),
            launcher: Some(std::process::id()),
            marks_sleep: self.marks_sleep,
        }
    }
}

/// The threads of a task or entry, as indices into [`Workload::threads`].
pub fn threads_of(workload: &Workload<'_>, owner: usize) -> Range<usize> {
    let is_of = |thread: &_| workload.owner(thread) == owner;
    let first = workload.threads.iter().position(is_of).unwrap_or(0);
    let count = workload.threads.iter().filter(|t| is_of(t)).count();
    first..first + count
}

impl Process {
    /// Its number.
    pub fn id(&self) -> i32 {
        let child = self.child.as_ref();
        child.map_or(0, |child| child.id().cast_signed())
    }

    /// Its name and the states of its threads as `/proc` shows them, unless it has ended.
    pub fn state(&self) -> Option<String> {
        let child = self.child.as_ref()?;
        let tasks = fs::read_dir(format!("/proc/{}/task", child.id()));
        let stats = tasks.into_iter().flatten().filter_map(|task| {
            let stat = fs::read(task.ok()?.path().join("stat")).ok()?;
            Some(Stat::parse(&stat)?.state)
        });
        let states: String = stats.collect();
        Some(format!("`{}` (threads in states {states})", self.name))
    }

    /// What it did, once it has ended.
    ///
    /// # Errors
    /// It could not do its work, or not to the end.
    pub fn outcome(&mut self) -> Result<Option<Outcome>, CaseError> {
        let ended = self.child.as_mut().map(Child::try_wait).transpose();
        match ended.map_err(|error| self.failed(error.to_string()))? {
            Some(Some(_)) => self.read().map(Some),
            _ => Ok(None),
        }
    }

    fn read(&mut self) -> Result<Outcome, CaseError> {
        let child = self.child.take().expect("it has just ended");
        let output = child
            .wait_with_output()
            .map_err(|error| self.failed(error.to_string()))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(self.failed(format!("{} ({})", text.trim(), output.status)));
        }
        let outcome: Outcome = serde_json::from_slice(&output.stdout)
            .map_err(|error| self.failed(format!("its outcome: {error}")))?;
        match outcome.stopped {
            false => Ok(outcome),
            true => Err(self.failed("somebody stopped it before its time".into())),
        }
    }

    fn failed(&self, reason: String) -> CaseError {
        CaseError::Process {
            name: self.name.clone(),
            reason,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
