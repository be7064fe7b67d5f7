//! Virtual gangs: which tasks to run together.
//!
//! Tasks of one virtual gang run side by side and slow each other down; those of
//! different gangs take turns (RT-Gang, RTAS 2019, section III-C). Only tasks of
//! equal period and offset are put together: released together, they keep the
//! partition for as long as the longest of them, and not for their sum (as in
//! Ali, Pellizzoni, Yun, "Virtual gang scheduling of parallel real-time tasks",
//! DATE 2021, who state the problem for equal periods).
//!
//! Up to [`EXACT_TASKS`] tasks every partition of the set is tried, by branch and
//! bound: what is chosen meets all deadlines with the least utilisation. Beyond,
//! the two gangs whose union saves most are joined, again and again.
//! Priorities are by deadline, shorter first (optimal for deadlines up to the
//! period without costs: Leung, Whitehead, Performance Evaluation 2(4), 1982).

use serde::Serialize;

use super::problem::slowed;

/// Most tasks for which every partition is tried.
pub const EXACT_TASKS: usize = 10;

/// One in utilisations: they are counted in parts of 2^-40 of the time.
const ONE: u128 = 1 << 40;

/// A task to be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Name.
    pub name: String,
    /// Threads, each on a core of its own.
    pub threads: u64,
    /// Period; positive.
    pub period_ns: u64,
    /// Deadline.
    pub deadline_ns: u64,
    /// First release.
    pub offset_ns: u64,
    /// Execution time alone.
    pub execution_ns: u64,
}

/// How much tasks slow each other down.
pub trait Slowdowns {
    /// How many times longer `task` takes beside `other`, in thousandths, at least
    /// 1000; `None` when it is not known, so that they are kept apart.
    fn factor_milli(&self, task: &str, other: &str) -> Option<u32>;
}

/// A gang of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProposedGang {
    /// Bigger is more important.
    pub priority: u8,
    /// Its tasks.
    pub tasks: Vec<ProposedTask>,
}

/// A task of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProposedTask {
    /// Index of the [`Member`].
    #[serde(skip)]
    pub member: usize,
    /// Name.
    pub task: String,
    /// Number of its first core, counted in the partition; the others follow.
    #[serde(skip)]
    pub first_core: u64,
    /// Execution time beside the other tasks of its gang.
    pub execution_ns: u64,
}

/// Which gangs to form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// Whether all deadlines are met.
    pub schedulable: bool,
    /// Whether every other composition was looked at.
    pub exact: bool,
    /// Time per period that the gangs need, in millionths.
    pub utilization_ppm: u64,
    /// Gangs, highest priority first.
    pub gangs: Vec<ProposedGang>,
}

/// Finds the composition with the least utilisation that `meets_deadlines`, or, if
/// there is none, one with little utilisation. `None` when more than 99 gangs remain.
pub fn compose(
    members: &[Member],
    cores: u64,
    slowdowns: &dyn Slowdowns,
    meets_deadlines: &dyn Fn(&[ProposedGang]) -> bool,
) -> Option<Proposal> {
    let search = Search {
        members,
        cores,
        slowdowns,
        meets_deadlines,
    };
    match members.len() <= EXACT_TASKS {
        true => search.exact(),
        false => search.greedy(),
    }
}

struct Search<'a> {
    members: &'a [Member],
    cores: u64,
    slowdowns: &'a dyn Slowdowns,
    meets_deadlines: &'a dyn Fn(&[ProposedGang]) -> bool,
}

/// Sets of members.
type Blocks = Vec<Vec<usize>>;

#[derive(Default)]
struct Best {
    schedulable: Option<(u128, Blocks)>,
    any: Option<(u128, Blocks)>,
}

impl Search<'_> {
    fn exact(&self) -> Option<Proposal> {
        let mut best = Best::default();
        self.place(0, &mut Vec::new(), &mut best);
        self.proposal(best, true)
    }

    /// Puts member `next` into each gang that takes it, and into one of its own.
    fn place(&self, next: usize, blocks: &mut Blocks, best: &mut Best) {
        // A gang that grows never needs less, so nothing below gets better.
        let utilization = self.utilization(blocks);
        let limit = best.schedulable.as_ref().map(|(least, _)| *least);
        if limit.is_some_and(|limit| utilization >= limit) {
            return;
        }
        if next == self.members.len() {
            self.keep(utilization, blocks, best);
            return;
        }
        for index in 0..blocks.len() {
            blocks[index].push(next);
            if self.is_possible(&blocks[index]) {
                self.place(next + 1, blocks, best);
            }
            blocks[index].pop();
        }
        blocks.push(vec![next]);
        self.place(next + 1, blocks, best);
        blocks.pop();
    }

    fn greedy(&self) -> Option<Proposal> {
        let mut blocks: Blocks = (0..self.members.len()).map(|member| vec![member]).collect();
        let mut best = Best::default();
        loop {
            let utilization = self.utilization(&blocks);
            self.keep(utilization, &blocks, &mut best);
            let Some(joined) = self
                .best_join(&blocks)
                .filter(|(less, _)| *less < utilization)
            else {
                break;
            };
            blocks = joined.1;
        }
        self.proposal(best, false)
    }

    fn best_join(&self, blocks: &Blocks) -> Option<(u128, Blocks)> {
        let mut best: Option<(u128, Blocks)> = None;
        for first in 0..blocks.len() {
            for second in first + 1..blocks.len() {
                let mut joined = blocks.clone();
                let members = joined.remove(second);
                joined[first].extend(members);
                if self.is_possible(&joined[first]) {
                    let utilization = self.utilization(&joined);
                    if best.as_ref().is_none_or(|(least, _)| utilization < *least) {
                        best = Some((utilization, joined));
                    }
                }
            }
        }
        best
    }

    fn keep(&self, utilization: u128, blocks: &Blocks, best: &mut Best) {
        let is_less = |kept: &Option<(u128, Blocks)>| {
            kept.as_ref().is_none_or(|(least, _)| utilization < *least)
        };
        if is_less(&best.any) {
            best.any = Some((utilization, blocks.clone()));
        }
        if is_less(&best.schedulable) {
            let gangs = self.gangs(blocks);
            if gangs.is_some_and(|gangs| (self.meets_deadlines)(&gangs)) {
                best.schedulable = Some((utilization, blocks.clone()));
            }
        }
    }

    fn proposal(&self, best: Best, exact: bool) -> Option<Proposal> {
        let schedulable = best.schedulable.is_some();
        let (utilization, blocks) = best.schedulable.or(best.any)?;
        Some(Proposal {
            schedulable,
            exact,
            utilization_ppm: u64::try_from((utilization * 1_000_000 + ONE / 2) / ONE)
                .unwrap_or(u64::MAX),
            gangs: self.gangs(&blocks)?,
        })
    }

    /// Whether the members of `block` can run together.
    fn is_possible(&self, block: &[usize]) -> bool {
        let first = &self.members[block[0]];
        let mut threads: u64 = 0;
        for &index in block {
            let member = &self.members[index];
            let together =
                (member.period_ns, member.offset_ns) == (first.period_ns, first.offset_ns);
            threads = threads.saturating_add(member.threads);
            if !together || threads > self.cores || self.execution_ns(block, index).is_none() {
                return false;
            }
        }
        true
    }

    /// Execution time of a member beside the others of its block; `None` when a factor
    /// is not known.
    fn execution_ns(&self, block: &[usize], member: usize) -> Option<u64> {
        let task = &self.members[member];
        let others = block.iter().filter(|&&other| other != member);
        others
            .map(|&other| {
                self.slowdowns
                    .factor_milli(&task.name, &self.members[other].name)
            })
            .try_fold(task.execution_ns, |ns, factor_milli| {
                Some(slowed(ns, factor_milli?))
            })
    }

    fn utilization(&self, blocks: &Blocks) -> u128 {
        blocks
            .iter()
            .map(|block| self.block_utilization(block))
            .sum()
    }

    fn block_utilization(&self, block: &[usize]) -> u128 {
        let longest = block
            .iter()
            .filter_map(|&member| self.execution_ns(block, member))
            .max()
            .unwrap_or(0);
        u128::from(longest) * ONE / u128::from(self.members[block[0]].period_ns)
    }

    /// The gangs of `blocks` by deadline; `None` when there are more than priorities.
    fn gangs(&self, blocks: &Blocks) -> Option<Vec<ProposedGang>> {
        let shortest = |block: &Vec<usize>| {
            let deadlines = block.iter().map(|&member| self.members[member].deadline_ns);
            deadlines.min()
        };
        let mut ordered: Vec<&Vec<usize>> = blocks.iter().collect();
        ordered.sort_by_key(|block| (shortest(block), block[0]));
        let highest = u8::try_from(ordered.len())
            .ok()
            .filter(|&count| count <= 99)?;
        (1..=highest)
            .rev()
            .zip(ordered)
            .map(|(priority, block)| {
                Some(ProposedGang {
                    priority,
                    tasks: self.tasks(block)?,
                })
            })
            .collect()
    }

    fn tasks(&self, block: &[usize]) -> Option<Vec<ProposedTask>> {
        let mut first_core = 0;
        block
            .iter()
            .map(|&member| {
                let task = ProposedTask {
                    member,
                    task: self.members[member].name.clone(),
                    first_core,
                    execution_ns: self.execution_ns(block, member)?,
                };
                first_core += self.members[member].threads;
                Some(task)
            })
            .collect()
    }
}
