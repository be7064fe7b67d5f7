//! PLL: shuffled linked lists walked in parallel.

use ringfence_scenario::model;

use super::task::Task;
use super::{Access, Op, Order};

#[derive(Debug, Clone)]
pub(crate) struct LinkedLists {
    access: Access,
    first_line: u64,
    /// Node after each node; a node is a line, list `k` owns the nodes `heads[k] ..`.
    next: Vec<u32>,
    heads: Vec<u32>,
    /// Node of each list that is visited next.
    at: Vec<u32>,
    list: usize,
    visits_per_job: u64,
    visits_left: u64,
    endless: bool,
}

impl LinkedLists {
    /// Each list is one random cycle over its share of the nodes (Sattolo, "An
    /// algorithm to generate a random cyclic permutation", 1986), so that a walk
    /// visits every node once before it repeats.
    pub(super) fn new(task: &Task, model: &model::LinkedLists, thread: u16) -> Self {
        let nodes = task.lines(model.working_set_bytes);
        let lists = u64::from(model.lists.max(1)).min(nodes);
        let bounds: Vec<u64> = (0..=lists).map(|list| nodes * list / lists).collect();
        let mut random = task.random(thread);
        let mut next: Vec<u32> = (0..nodes as u32).collect();
        for list in bounds.windows(2) {
            let cycle = &mut next[list[0] as usize..list[1] as usize];
            for last in (1..cycle.len()).rev() {
                cycle.swap(last, random.below(last as u64) as usize);
            }
        }
        let heads: Vec<u32> = bounds[..lists as usize]
            .iter()
            .map(|&head| head as u32)
            .collect();
        let visits_per_job = nodes * u64::from(model.passes);
        Self {
            access: match model.access {
                model::Access::Read => Access::Load,
                model::Access::Write => Access::Modify,
            },
            first_line: nodes * u64::from(thread),
            next,
            at: heads.clone(),
            heads,
            list: 0,
            visits_per_job,
            visits_left: visits_per_job,
            endless: task.endless,
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Op> {
        if self.visits_left == 0 {
            if !self.endless {
                return None;
            }
            self.visits_left = u64::MAX;
        }
        self.visits_left -= 1;
        let list = self.list;
        self.list = if list + 1 == self.at.len() {
            0
        } else {
            list + 1
        };
        let node = self.at[list];
        self.at[list] = self.next[node as usize];
        Some(Op {
            compute_ps: 0,
            line: self.first_line + u64::from(node),
            access: self.access,
            order: Order::Chain(list as u8),
        })
    }

    pub(super) fn begin_job(&mut self) {
        self.at.clone_from(&self.heads);
        self.list = 0;
        self.visits_left = self.visits_per_job;
    }
}
