//! Work that stays in the core and its L1.

use ringfence_scenario::model;

use super::task::Task;
use super::{Access, Op, Order};
use crate::machine::Picoseconds;

#[derive(Debug, Clone)]
pub(crate) struct Cpu {
    compute_ps: Picoseconds,
    first: u64,
    end: u64,
    position: u64,
    accesses: u64,
    accesses_left: u64,
    endless: bool,
}

impl Cpu {
    pub(super) fn new(task: &Task, model: &model::Cpu, thread: u16) -> Self {
        let lines = task.lines(model.working_set_bytes);
        let first = lines * u64::from(thread);
        Self {
            compute_ps: task.clock.cycles(model.cycles_per_access.into()),
            first,
            end: first + lines,
            position: first,
            accesses: model.accesses,
            accesses_left: model.accesses,
            endless: task.endless,
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Op> {
        if !self.endless {
            self.accesses_left = self.accesses_left.checked_sub(1)?;
        }
        let line = self.position;
        self.position += 1;
        if self.position == self.end {
            self.position = self.first;
        }
        Some(Op {
            compute_ps: self.compute_ps,
            line,
            access: Access::Load,
            order: Order::Independent,
        })
    }

    pub(super) fn begin_job(&mut self) {
        self.position = self.first;
        self.accesses_left = self.accesses;
    }
}
