//! What one thread of a neural network does alone before the first layer.
//!
//! The framework's instructions and objects come as lines in random order, each
//! after the one before. docs/src/results/framework.md counts them.

use ringfence_scenario::network;

use super::matrix_product::Walk;
use super::task::Task;
use super::{Access, Op, Order};
use crate::machine::Picoseconds;
use crate::random::SplitMix64;

#[derive(Debug, Clone)]
pub(super) struct SerialPhase {
    pub(super) read: Walk,
    pub(super) framework: Framework,
}

impl SerialPhase {
    /// The phase as `thread` sees it: all but the first wait.
    pub(super) fn new(task: &Task, model: &network::SerialPhase, thread: u16) -> Self {
        let line_bytes = u64::from(task.line_bytes);
        let read_lines = model.read_end() / line_bytes;
        let (read, accesses, compute_ps) = match thread {
            0 => (read_lines, model.accesses, task.clock.cycles(model.cycles)),
            _ => (0, 0, 0),
        };
        let steps = read.max(u64::from(accesses == 0)) + accesses;
        // Evenly over all accesses.
        let framework_ps =
            (u128::from(compute_ps) * u128::from(accesses) / u128::from(steps)) as u64;
        Self {
            read: Walk {
                first: 0,
                lines: read,
                access: match read {
                    0 => Access::None,
                    _ => Access::Load,
                },
                compute_ps: compute_ps - framework_ps,
            },
            framework: Framework {
                first: read_lines,
                lines: (model.memory_bytes() - model.read_end()) / line_bytes,
                left: accesses,
                compute_ps: framework_ps,
                random: task.random(thread),
            },
        }
    }
}

/// Lines of a framework in random order.
#[derive(Debug, Clone)]
pub(super) struct Framework {
    first: u64,
    lines: u64,
    /// Accesses still to come.
    left: u64,
    /// Spread over them.
    compute_ps: Picoseconds,
    random: SplitMix64,
}

impl Framework {
    /// Nothing to access.
    pub(super) fn none() -> Self {
        Self {
            first: 0,
            lines: 0,
            left: 0,
            compute_ps: 0,
            random: SplitMix64::new(0),
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Op> {
        if self.left == 0 {
            return None;
        }
        let compute_ps = self.compute_ps / self.left;
        self.compute_ps -= compute_ps;
        self.left -= 1;
        Some(Op {
            compute_ps,
            line: self.first + self.random.below(self.lines),
            access: Access::Load,
            order: Order::Fetch,
        })
    }
}
