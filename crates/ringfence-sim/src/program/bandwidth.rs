//! Bw: an array walked in address order, one access per line.

use ringfence_scenario::model;

use super::task::Task;
use super::{Access, Op, Order};

#[derive(Debug, Clone)]
pub(crate) struct Bandwidth {
    access: Access,
    first: u64,
    end: u64,
    position: u64,
    passes: u32,
    passes_left: u32,
    endless: bool,
}

impl Bandwidth {
    pub(super) fn new(task: &Task, model: &model::Bandwidth, thread: u16) -> Self {
        let share = task.share(task.lines(model.working_set_bytes), thread);
        Self {
            access: model.access.into(),
            first: share.start,
            end: share.end,
            position: share.start,
            passes: model.passes,
            passes_left: if share.is_empty() { 0 } else { model.passes },
            endless: task.endless && !share.is_empty(),
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Op> {
        if self.passes_left == 0 && !self.endless {
            return None;
        }
        let line = self.position;
        self.position += 1;
        if self.position == self.end {
            self.position = self.first;
            self.passes_left = self.passes_left.saturating_sub(1);
        }
        Some(Op {
            compute_ps: 0,
            line,
            access: self.access,
            order: Order::Independent,
        })
    }

    pub(super) fn begin_job(&mut self) {
        self.position = self.first;
        self.passes_left = if self.first == self.end {
            0
        } else {
            self.passes
        };
    }
}
