//! PLL: shuffled linked lists walked in parallel.

use ringfence_scenario::model;

use super::task::Task;
use super::{Access, Op, Order};
use crate::random::SplitMix64;

#[derive(Debug, Clone)]
pub(crate) struct LinkedLists {
    access: Access,
    first_line: u64,
    /// Line after each line of the lists, counted from `first_line`.
    next: Vec<u32>,
    /// Line at which each list begins.
    heads: Vec<u32>,
    /// Line of each list that is visited next.
    at: Vec<u32>,
    list: usize,
    random: SplitMix64,
    passes: u32,
    visits_per_job: u64,
    visits_left: u64,
    endless: bool,
}

impl LinkedLists {
    /// Lists over all lines of the working set.
    pub(super) fn new(task: &Task, model: &model::LinkedLists, thread: u16) -> Self {
        let lines = task.lines(model.working_set_bytes);
        let mut program = Self {
            access: match model.access {
                model::Access::Read => Access::Load,
                model::Access::Write => Access::Modify,
            },
            first_line: lines * u64::from(thread),
            next: Vec::new(),
            heads: vec![0; usize::from(model.lists.max(1)).min(lines as usize)],
            at: Vec::new(),
            list: 0,
            random: task.random(thread),
            passes: model.passes,
            visits_per_job: 0,
            visits_left: 0,
            endless: task.endless,
        };
        program.link(&(0..lines as u32).collect::<Vec<_>>(), lines);
        program
    }

    /// Keeps the lines that are wanted. When these are fewer than there are
    /// lists, it changes nothing and says how many they are.
    pub(super) fn keep(&mut self, is_wanted: impl Fn(u64) -> bool) -> Result<(), u64> {
        let all = self.next.len() as u32;
        let lines: Vec<u32> = (0..all)
            .filter(|&line| is_wanted(self.first_line + u64::from(line)))
            .collect();
        if lines.len() < self.heads.len() {
            return Err(lines.len() as u64);
        }
        self.link(&lines, all.into());
        Ok(())
    }

    /// Links `lines` of `all`. Each list is one random cycle over its share of
    /// them (Sattolo, "An algorithm to generate a random cyclic permutation",
    /// 1986), so that a walk visits every line once before it repeats.
    fn link(&mut self, lines: &[u32], all: u64) {
        let lists = self.heads.len();
        self.next = vec![0; all as usize];
        for list in 0..lists {
            let share = &lines[lines.len() * list / lists..lines.len() * (list + 1) / lists];
            let mut cycle = share.to_vec();
            for last in (1..cycle.len()).rev() {
                cycle.swap(last, self.random.below(last as u64) as usize);
            }
            for (&line, &next) in share.iter().zip(&cycle) {
                self.next[line as usize] = next;
            }
            self.heads[list] = share[0];
        }
        self.visits_per_job = lines.len() as u64 * u64::from(self.passes);
        self.begin_job();
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
        let line = self.at[list];
        self.at[list] = self.next[line as usize];
        Some(Op {
            compute_ps: 0,
            line: self.first_line + u64::from(line),
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
