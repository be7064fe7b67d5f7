//! Two walkers with strides of their own over one buffer, byte by byte.

use ringfence_scenario::model;

use super::task::Task;
use super::{Access, Op, Order};
use crate::machine::Picoseconds;

/// A place in the buffer that moves on by a stride, round the end.
#[derive(Debug, Clone, Copy)]
struct Walker {
    at: u64,
    stride: u64,
}

impl Walker {
    /// Moves on in a buffer of `bytes`; the byte that it comes to.
    #[inline]
    fn step(&mut self, bytes: u64) -> u64 {
        self.at += self.stride;
        if self.at >= bytes {
            self.at -= bytes;
        }
        self.at
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Strided {
    bytes: u64,
    line_shift: u32,
    compute_ps: Picoseconds,
    /// Both walkers where a job begins.
    start: (Walker, Walker),
    changer: Walker,
    reader: Walker,
    /// The step's read is done, its change is due.
    has_read: bool,
    /// Steps of this sweep that are done.
    step: u64,
    changes: bool,
    passes: u32,
    passes_left: u32,
    endless: bool,
}

impl Strided {
    pub(super) fn new(task: &Task, model: &model::Strided, thread: u16) -> Self {
        // Whole lines: the region has no other.
        let bytes = task.lines(model.working_set_bytes) * u64::from(task.line_bytes);
        let at = task.random(thread).below(bytes);
        let changer = Walker {
            at,
            stride: model.change_stride_bytes.min(bytes),
        };
        let reader = Walker {
            at: (at + bytes / 2) % bytes,
            stride: model.read_stride_bytes.min(bytes),
        };
        Self {
            bytes,
            line_shift: task.line_bytes.trailing_zeros(),
            compute_ps: task.clock.cycles(model.compute_cycles.into()),
            start: (changer, reader),
            changer,
            reader,
            has_read: false,
            step: 0,
            changes: true,
            passes: model.passes,
            passes_left: model.passes,
            endless: task.endless,
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Op> {
        if self.passes_left == 0 && !self.endless {
            return None;
        }
        self.has_read = !self.has_read;
        if self.has_read {
            let byte = self.reader.step(self.bytes);
            return Some(self.op(self.compute_ps, byte, Access::Load));
        }
        let byte = self.changer.step(self.bytes);
        let access = if self.changes {
            Access::Modify
        } else {
            Access::Load
        };
        self.step += 1;
        if self.step == self.bytes {
            self.step = 0;
            self.changes = !self.changes;
            self.passes_left = self.passes_left.saturating_sub(1);
        }
        Some(self.op(0, byte, access))
    }

    #[inline]
    fn op(&self, compute_ps: Picoseconds, byte: u64, access: Access) -> Op {
        Op {
            compute_ps,
            line: byte >> self.line_shift,
            access,
            order: Order::Independent,
        }
    }

    pub(super) fn begin_job(&mut self) {
        (self.changer, self.reader) = self.start;
        self.has_read = false;
        self.step = 0;
        self.changes = true;
        self.passes_left = self.passes;
    }
}
