//! Recorded traces, replayed from a compact form in memory.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use ringfence_scenario::model;
use ringfence_trace::{Kind, Reader};

use super::task::{Clock, Sources, Task};
use super::{Access, Op, Order, Source};
use crate::machine::error::MachineError;

/// Consecutive accesses to one line.
#[derive(Debug, Clone, Copy)]
struct Run {
    line: u32,
    access: Access,
    /// Computation before the first access and issue of the accesses after it.
    compute_ps: u64,
}

/// All jobs of a trace.
#[derive(Debug)]
struct Recording {
    runs: Vec<Run>,
    /// Index of the first run of each job, and the number of runs.
    jobs: Vec<usize>,
    lines: u64,
}

/// One thread's replay.
///
/// A trace does not say which loads depend on which, so a load that misses the
/// L1 lets nothing but computation pass.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    recording: Arc<Recording>,
    only_job: Option<u32>,
    first_line: u64,
    job: usize,
    position: usize,
    endless: bool,
}

impl Trace {
    /// Each thread replays the whole trace in memory of its own: a trace records one thread.
    pub(super) fn sources(task: &Task, model: &model::Trace) -> Result<Sources, MachineError> {
        let fail = |reason: String| MachineError::Trace {
            path: model.path.clone(),
            reason,
        };
        let recording = read(&model.path, task).map_err(|error| fail(error.to_string()))?;
        let jobs = recording.jobs.len() - 1;
        if jobs == 0 {
            return Err(fail(
                "it has no jobs; record a program that runs to its end".into(),
            ));
        }
        if let Some(job) = model.job
            && job as usize >= jobs
        {
            return Err(fail(format!(
                "job {job} was asked for, expected 0 to {}",
                jobs - 1
            )));
        }
        let recording = Arc::new(recording);
        let lines = recording.lines;
        let threads = (0..task.threads)
            .map(|thread| {
                let mut trace = Self {
                    recording: recording.clone(),
                    only_job: model.job,
                    first_line: lines * u64::from(thread),
                    job: 0,
                    position: 0,
                    endless: task.endless,
                };
                trace.begin_job(0);
                Source::Trace(trace)
            })
            .collect();
        Ok(Sources {
            threads,
            lines: lines * u64::from(task.threads),
        })
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Op> {
        if self.position == self.recording.jobs[self.job + 1] {
            if !self.endless {
                return None;
            }
            self.begin_job(self.job as u32 + 1);
        }
        let run = self.recording.runs[self.position];
        self.position += 1;
        Some(Op {
            compute_ps: run.compute_ps,
            line: self.first_line + u64::from(run.line),
            access: run.access,
            order: Order::AfterMisses,
        })
    }

    /// Jobs of the trace follow each other and then start over.
    pub(super) fn begin_job(&mut self, job: u32) {
        let jobs = self.recording.jobs.len() - 1;
        self.job = self.only_job.unwrap_or(job) as usize % jobs;
        self.position = self.recording.jobs[self.job];
    }
}

fn read(path: &Path, task: &Task) -> Result<Recording, ringfence_trace::Error> {
    let mut reader = Reader::new(BufReader::new(File::open(path)?))?;
    let mut recording = Recording {
        runs: Vec::new(),
        jobs: vec![0],
        lines: 1,
    };
    let line_bits = task.line_bytes.trailing_zeros();
    while let Some(mut job) = reader.next_job()? {
        let mut runs = Runs {
            clock: task.clock,
            first: recording.runs.len(),
            runs: &mut recording.runs,
        };
        while let Some(access) = job.next_access()? {
            let last_byte = access.address + u64::from(access.size) - 1;
            let (first, last) = (access.address >> line_bits, last_byte >> line_bits);
            for line in first..=last {
                let instructions = if line == first {
                    access.instructions_before
                } else {
                    0
                };
                runs.add(line, access.kind, instructions);
            }
            recording.lines = recording.lines.max(last + 1);
        }
        let after = task
            .clock
            .instructions(job.instructions_after().unwrap_or(0));
        recording.runs.push(Run {
            line: 0,
            access: Access::None,
            compute_ps: after,
        });
        recording.jobs.push(recording.runs.len());
    }
    Ok(recording)
}

/// Collects the runs of a job.
struct Runs<'a> {
    clock: Clock,
    first: usize,
    runs: &'a mut Vec<Run>,
}

impl Runs<'_> {
    fn add(&mut self, line: u64, kind: Kind, instructions: u32) {
        let before = self.clock.instructions(instructions.into());
        let access = match kind {
            Kind::Load => Access::Load,
            Kind::Store => Access::Store,
            Kind::Modify => Access::Modify,
        };
        let extends = self.runs.len() > self.first
            && self
                .runs
                .last()
                .is_some_and(|run| u64::from(run.line) == line);
        if extends && let Some(run) = self.runs.last_mut() {
            run.compute_ps += before + self.clock.issue(1);
            if run.access != access {
                run.access = Access::Modify;
            }
        } else {
            self.runs.push(Run {
                line: line as u32,
                access,
                compute_ps: before,
            });
        }
    }
}
