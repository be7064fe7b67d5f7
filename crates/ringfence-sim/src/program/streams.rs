//! Arrays walked in lockstep: one line of each a step.

use ringfence_scenario::model;

use super::task::Task;
use super::{Access, Op, Order};
use crate::machine::Picoseconds;

#[derive(Debug, Clone)]
pub(crate) struct Streams {
    reads: u64,
    arrays: u64,
    array_lines: u64,
    compute_ps: Picoseconds,
    /// Array before whose access the step computes: the first that is written, if any is.
    compute_before: u64,
    /// Lines of each array that this thread walks.
    first: u64,
    end: u64,
    stride: u64,
    /// Where the walk is: this line of each array, next of this array, after a
    /// start so many lines from the first.
    position: u64,
    array: u64,
    start: u64,
    passes: u32,
    passes_left: u32,
    endless: bool,
}

impl Streams {
    pub(super) fn new(task: &Task, model: &model::Streams, thread: u16) -> Self {
        let array_lines = task.lines(model.array_bytes);
        let share = task.share(array_lines, thread);
        let arrays = u64::from(model.reads) + u64::from(model.writes);
        let has_work = !share.is_empty() && arrays > 0;
        let passes = if has_work { model.passes } else { 0 };
        Self {
            reads: model.reads.into(),
            arrays,
            array_lines,
            compute_ps: task.clock.cycles(model.compute_cycles.into()),
            compute_before: if model.writes > 0 {
                model.reads.into()
            } else {
                0
            },
            stride: task
                .lines(model.stride_bytes)
                .clamp(1, (share.end - share.start).max(1)),
            position: share.start,
            first: share.start,
            end: share.end,
            array: 0,
            start: 0,
            passes,
            passes_left: passes,
            endless: task.endless && has_work,
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Op> {
        if self.passes_left == 0 && !self.endless {
            return None;
        }
        let array = self.array;
        let op = Op {
            compute_ps: if array == self.compute_before {
                self.compute_ps
            } else {
                0
            },
            line: array * self.array_lines + self.position,
            access: if array < self.reads {
                Access::Load
            } else {
                Access::Store
            },
            order: Order::Independent,
        };
        self.array += 1;
        if self.array == self.arrays {
            self.array = 0;
            self.step();
        }
        Some(op)
    }

    /// Moves on by the stride; past the end, to the next start.
    fn step(&mut self) {
        self.position += self.stride;
        if self.position < self.end {
            return;
        }
        self.start += 1;
        if self.start == self.stride {
            self.start = 0;
            self.passes_left = self.passes_left.saturating_sub(1);
        }
        self.position = self.first + self.start;
    }

    pub(super) fn begin_job(&mut self) {
        self.position = self.first;
        self.array = 0;
        self.start = 0;
        self.passes_left = self.passes;
    }
}
