//! One DRAM channel: an open-page FR-FCFS controller and its banks.
//!
//! The controller issues at most one command a clock. It skips from command
//! to command: [`Channel::next_event`] is the clock of the command that the
//! queues and timings of this moment lead to, and it changes only with a new
//! request or a command.
//!
//! FR-FCFS as in Rixner et al., "Memory access scheduling" (ISCA 2000): among
//! the commands that are legal in a clock the one of the oldest request goes
//! first, and a row that was opened for a request stays open until that
//! request is served.

use ringfence_scenario::platform::{Dram, DramController};

use super::address::Place;
use super::command::{Command, CommandKind, CommandSink, Cycle};
use super::queue::{NewRequest, Queue};
use crate::machine::error::MachineError;

const NEVER: Cycle = Cycle::MAX;

/// A read that got its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadDone {
    /// The number given to [`Channel::read`].
    pub id: u32,
    /// Clock after the last data.
    pub at: Cycle,
}

/// What a channel has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChannelCounts {
    /// Reads accepted.
    pub reads: u64,
    /// Writes accepted.
    pub writes: u64,
    /// Reads answered from the write queue.
    pub forwarded: u64,
    /// Writes whose last burst was issued.
    pub written: u64,
    /// Activates issued.
    pub activates: u64,
    /// Refreshes issued.
    pub refreshes: u64,
}

/// Timings in clocks, with the spacings that follow from them.
#[derive(Debug, Clone, Copy)]
struct Timing {
    rcd: Cycle,
    rp: Cycle,
    ras: Cycle,
    rrd_s: Cycle,
    rrd_l: Cycle,
    faw: Cycle,
    ccd_s: Cycle,
    ccd_l: Cycle,
    rtp: Cycle,
    rfc: Cycle,
    refi: Cycle,
    /// Read command to the clock after its data.
    read_data: Cycle,
    write_recovery: Cycle,
    wtr_s: Cycle,
    wtr_l: Cycle,
    /// Read command to write command on the same data bus.
    read_to_write: Cycle,
    /// Column command to one of the same kind for another rank.
    other_rank: Cycle,
    /// Write command to a read command for another rank.
    write_to_read_other_rank: Cycle,
}

#[derive(Debug, Clone, Copy)]
struct Bank {
    open_row: Option<u32>,
    activate_at: Cycle,
    precharge_at: Cycle,
    /// Column commands, from the activate.
    column_at: Cycle,
    group: u8,
    rank: u8,
}

/// Earliest commands that a bank group allows.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    activate_at: Cycle,
    column_at: [Cycle; 2],
}

#[derive(Debug, Clone, Copy)]
struct Rank {
    activate_at: Cycle,
    column_at: [Cycle; 2],
    /// The last four activates, for the four-activate window.
    activates: [Cycle; 4],
    oldest_activate: u8,
    refresh_due: Cycle,
    banks: u64,
}

/// Which queue a column command serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Read = 0,
    Write = 1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Column(Direction),
    Activate(Direction),
    Precharge,
    PrechargeAll,
    Refresh,
    /// No command: a refresh falls due and changes what is allowed.
    Look,
}

/// The command that comes next; smaller `(at, order)` goes first.
#[derive(Debug, Clone, Copy)]
struct Plan {
    at: Cycle,
    order: u64,
    action: Action,
    bank: u8,
}

/// Commands for a row that was opened for a request go before all others ...
const PROMISED: u64 = 0;
/// ... then refreshes, then everything else by age.
const REFRESH: u64 = 1;
const FIRST_AGE: u64 = 2;

/// One channel.
#[derive(Debug, Clone)]
pub struct Channel {
    timing: Timing,
    controller: DramController,
    bursts_per_line: u32,
    banks: Vec<Bank>,
    groups: Vec<Group>,
    ranks: Vec<Rank>,
    /// Reads and writes.
    queues: [Queue; 2],
    /// Per queue, banks whose open row waits for the request that it was opened for.
    promised: [u64; 2],
    /// Banks with an open row.
    open: u64,
    /// Banks that no due refresh holds up.
    allowed: u64,
    draining: bool,
    /// First clock whose command slot is free.
    now: Cycle,
    next_age: u64,
    plan: Plan,
    counts: ChannelCounts,
}

impl Channel {
    /// A channel of `dram` with all rows closed.
    ///
    /// # Errors
    /// When a queue is empty or too long or the watermarks do not fit it.
    pub fn new(dram: &Dram, line_bytes: u32) -> Result<Self, MachineError> {
        let controller = dram.controller;
        check_controller(&controller)?;
        let ranks = dram.ranks as usize;
        let groups = ranks * dram.bank_groups as usize;
        let banks_per_group = dram.banks_per_group as usize;
        let banks = groups * banks_per_group;
        let banks_per_rank = banks / ranks;
        let timing = Timing::new(dram);
        let mut channel = Self {
            timing,
            controller,
            bursts_per_line: line_bytes.div_ceil(dram.burst_bytes).max(1),
            banks: (0..banks)
                .map(|bank| Bank {
                    open_row: None,
                    activate_at: 0,
                    precharge_at: 0,
                    column_at: 0,
                    group: (bank / banks_per_group) as u8,
                    rank: (bank / banks_per_rank) as u8,
                })
                .collect(),
            groups: vec![Group::default(); groups],
            ranks: (0..ranks)
                .map(|rank| Rank {
                    activate_at: 0,
                    column_at: [0; 2],
                    activates: [0; 4],
                    oldest_activate: 0,
                    refresh_due: if timing.refi == 0 { NEVER } else { timing.refi },
                    banks: (u64::MAX >> (64 - banks_per_rank)) << (rank * banks_per_rank),
                })
                .collect(),
            queues: [
                Queue::new(controller.read_queue, banks),
                Queue::new(controller.write_queue, banks),
            ],
            promised: [0; 2],
            open: 0,
            allowed: u64::MAX,
            draining: false,
            now: 0,
            next_age: FIRST_AGE,
            plan: Plan {
                at: NEVER,
                order: 0,
                action: Action::Look,
                bank: 0,
            },
            counts: ChannelCounts::default(),
        };
        channel.replan();
        Ok(channel)
    }

    /// Clock of the next command.
    #[inline]
    pub fn next_event(&self) -> Cycle {
        self.plan.at
    }

    /// What it has done so far.
    pub fn counts(&self) -> ChannelCounts {
        self.counts
    }

    /// Whether [`Self::read`] may be called.
    #[inline]
    pub fn has_room_for_read(&self) -> bool {
        !self.queues[Direction::Read as usize].is_full()
    }

    /// Whether [`Self::write`] may be called.
    #[inline]
    pub fn has_room_for_write(&self) -> bool {
        !self.queues[Direction::Write as usize].is_full()
    }

    /// Accepts a read in clock `at`; no event is due before `at`.
    ///
    /// A read of a line whose write still waits is answered from the write
    /// queue, after the latency of a row hit.
    pub fn read(&mut self, at: Cycle, place: Place, line: u64, id: u32) -> Option<ReadDone> {
        self.counts.reads += 1;
        if self.queues[Direction::Write as usize].contains(usize::from(place.bank), line) {
            self.counts.forwarded += 1;
            return Some(ReadDone {
                id,
                at: at + self.timing.read_data,
            });
        }
        self.enqueue(Direction::Read, at, place, line, id);
        None
    }

    /// Accepts a write in clock `at`; no event is due before `at`.
    pub fn write(&mut self, at: Cycle, place: Place, line: u64) {
        self.counts.writes += 1;
        self.enqueue(Direction::Write, at, place, line, 0);
    }

    fn enqueue(&mut self, direction: Direction, at: Cycle, place: Place, line: u64, id: u32) {
        let index = usize::from(place.bank);
        let open_row = self.banks[index].open_row;
        let request = NewRequest {
            line,
            id,
            age: self.next_age,
            bursts: self.bursts_per_line,
        };
        self.next_age += 1;
        let is_candidate = self.queues[direction as usize].push(place, open_row, request);
        self.now = self.now.max(at);
        let was_draining = self.draining;
        self.choose_direction();
        if self.draining != was_draining {
            self.replan();
        } else if is_candidate && self.draining == (direction == Direction::Write) {
            // All other commands stay as they were: the plan changes only if this one goes first.
            let mut plan = self.plan;
            self.plan_queue(direction, self.allowed & 1 << index, &mut plan);
            self.plan = plan;
        }
    }

    /// Issues the command of clock [`Self::next_event`].
    pub fn step<S: CommandSink>(&mut self, sink: &mut S) -> Option<ReadDone> {
        let Plan {
            at, action, bank, ..
        } = self.plan;
        self.now = at;
        let index = usize::from(bank);
        let mut done = None;
        let kind = match action {
            Action::Look => {
                self.replan();
                return None;
            }
            Action::Activate(direction) => CommandKind::Activate {
                row: self.activate(at, index, direction),
            },
            Action::Column(direction) => {
                done = self.column(at, index, direction);
                if direction == Direction::Read {
                    CommandKind::Read
                } else {
                    CommandKind::Write
                }
            }
            Action::Precharge => {
                self.precharge(at, index);
                CommandKind::Precharge
            }
            Action::PrechargeAll => {
                self.precharge_all(at, usize::from(self.banks[index].rank));
                CommandKind::PrechargeAll
            }
            Action::Refresh => {
                self.refresh(at, usize::from(self.banks[index].rank));
                CommandKind::Refresh
            }
        };
        sink.command(Command { at, kind, bank });
        self.now = at + 1;
        self.replan();
        done
    }

    fn activate(&mut self, at: Cycle, index: usize, direction: Direction) -> u32 {
        let t = &self.timing;
        let row = self.queues[direction as usize].miss_row(index);
        let bank = &mut self.banks[index];
        bank.open_row = Some(row);
        bank.precharge_at = at + t.ras;
        bank.column_at = at + t.rcd;
        self.groups[usize::from(bank.group)].activate_at = at + t.rrd_l;
        let rank = &mut self.ranks[usize::from(bank.rank)];
        rank.activates[usize::from(rank.oldest_activate)] = at + t.faw;
        rank.oldest_activate = (rank.oldest_activate + 1) % 4;
        rank.activate_at = (at + t.rrd_s).max(rank.activates[usize::from(rank.oldest_activate)]);
        self.promised[direction as usize] |= 1 << index;
        self.open |= 1 << index;
        for queue in &mut self.queues {
            queue.open(index, row);
        }
        self.counts.activates += 1;
        row
    }

    fn column(&mut self, at: Cycle, index: usize, direction: Direction) -> Option<ReadDone> {
        let t = self.timing;
        let bank = &mut self.banks[index];
        let (to_precharge, same_rank, other_rank) = match direction {
            Direction::Read => (
                t.rtp,
                [[t.ccd_l, t.read_to_write], [t.ccd_s, t.read_to_write]],
                [t.other_rank, t.read_to_write],
            ),
            Direction::Write => (
                t.write_recovery,
                [[t.wtr_l, t.ccd_l], [t.wtr_s, t.ccd_s]],
                [t.write_to_read_other_rank, t.other_rank],
            ),
        };
        bank.precharge_at = bank.precharge_at.max(at + to_precharge);
        let group = &mut self.groups[usize::from(bank.group)];
        for (earliest, gap) in group.column_at.iter_mut().zip(same_rank[0]) {
            *earliest = (*earliest).max(at + gap);
        }
        for (index, rank) in self.ranks.iter_mut().enumerate() {
            let gaps = if index == usize::from(bank.rank) {
                same_rank[1]
            } else {
                other_rank
            };
            for (earliest, gap) in rank.column_at.iter_mut().zip(gaps) {
                *earliest = (*earliest).max(at + gap);
            }
        }
        let request = self.queues[direction as usize].serve_hit(index)?;
        self.promised[direction as usize] &= !(1 << index);
        match direction {
            Direction::Read => Some(ReadDone {
                id: request.id,
                at: at + t.read_data,
            }),
            Direction::Write => {
                self.counts.written += 1;
                None
            }
        }
    }

    fn precharge(&mut self, at: Cycle, index: usize) {
        let bank = &mut self.banks[index];
        bank.open_row = None;
        self.open &= !(1 << index);
        bank.activate_at = bank.activate_at.max(at + self.timing.rp);
        for queue in &mut self.queues {
            queue.close(index);
        }
    }

    fn precharge_all(&mut self, at: Cycle, rank: usize) {
        for index in 0..self.banks.len() {
            if usize::from(self.banks[index].rank) == rank && self.banks[index].open_row.is_some() {
                self.precharge(at, index);
            }
        }
    }

    fn refresh(&mut self, at: Cycle, rank: usize) {
        for bank in self
            .banks
            .iter_mut()
            .filter(|bank| usize::from(bank.rank) == rank)
        {
            bank.activate_at = at + self.timing.rfc;
        }
        self.ranks[rank].refresh_due += self.timing.refi;
        self.counts.refreshes += 1;
    }

    /// Chooses the next command.
    fn replan(&mut self) {
        self.choose_direction();
        let mut best = Plan {
            at: NEVER,
            order: u64::MAX,
            action: Action::Look,
            bank: 0,
        };
        self.allowed = u64::MAX;
        for rank in 0..self.ranks.len() {
            let due = self.ranks[rank].refresh_due;
            if due <= self.now {
                self.allowed &= !self.ranks[rank].banks;
                self.plan_refresh(rank, &mut best);
            } else {
                best.improve(due, PROMISED, Action::Look, 0);
            }
        }
        for direction in [Direction::Read, Direction::Write] {
            for index in bits(self.promised[direction as usize]) {
                let at = self.column_at(&self.banks[index], direction);
                best.improve(at, PROMISED, Action::Column(direction), index as u8);
            }
        }
        let direction = if self.draining {
            Direction::Write
        } else {
            Direction::Read
        };
        self.plan_queue(direction, self.allowed, &mut best);
        self.plan = best;
    }

    /// Writes are drained in batches, or when there is nothing to read.
    fn choose_direction(&mut self) {
        let (reads, writes) = (self.queues[0].len(), self.queues[1].len());
        self.draining = if self.draining {
            writes > 0 && (writes > self.controller.write_low || reads == 0)
        } else {
            writes >= self.controller.write_high || (reads == 0 && writes > 0)
        };
    }

    /// A rank whose refresh is due serves what it opened rows for, closes all and refreshes.
    fn plan_refresh(&self, index: usize, best: &mut Plan) {
        let rank = &self.ranks[index];
        if (self.promised[0] | self.promised[1]) & rank.banks != 0 {
            return;
        }
        let first = rank.banks.trailing_zeros() as u8;
        let banks = self
            .banks
            .iter()
            .filter(|bank| usize::from(bank.rank) == index);
        let open = banks.clone().filter(|bank| bank.open_row.is_some());
        let (at, action) = match open.map(|bank| bank.precharge_at).max() {
            Some(at) => (at, Action::PrechargeAll),
            None => (
                banks.map(|bank| bank.activate_at).max().unwrap_or(0),
                Action::Refresh,
            ),
        };
        best.improve(at.max(self.now), REFRESH, action, first);
    }

    #[inline]
    fn column_at(&self, bank: &Bank, direction: Direction) -> Cycle {
        let d = direction as usize;
        bank.column_at
            .max(self.groups[usize::from(bank.group)].column_at[d])
            .max(self.ranks[usize::from(bank.rank)].column_at[d])
            .max(self.now)
    }

    /// The best command for the requests of a queue in the `allowed` banks.
    #[inline]
    fn plan_queue(&self, direction: Direction, allowed: u64, best: &mut Plan) {
        let queue = &self.queues[direction as usize];
        let allowed = allowed & !(self.promised[0] | self.promised[1]);
        for index in bits(queue.hits & allowed) {
            let at = self.column_at(&self.banks[index], direction);
            best.improve(
                at,
                queue.hit_age(index),
                Action::Column(direction),
                index as u8,
            );
        }
        for index in bits(queue.misses & allowed & self.open) {
            let at = self.banks[index].precharge_at.max(self.now);
            best.improve(at, queue.miss_age(index), Action::Precharge, index as u8);
        }
        for index in bits(queue.misses & allowed & !self.open) {
            let bank = &self.banks[index];
            let at = bank
                .activate_at
                .max(self.groups[usize::from(bank.group)].activate_at)
                .max(self.ranks[usize::from(bank.rank)].activate_at)
                .max(self.now);
            best.improve(
                at,
                queue.miss_age(index),
                Action::Activate(direction),
                index as u8,
            );
        }
    }
}

impl Plan {
    #[inline]
    fn improve(&mut self, at: Cycle, order: u64, action: Action, bank: u8) {
        if (at, order) < (self.at, self.order) {
            *self = Self {
                at,
                order,
                action,
                bank,
            };
        }
    }
}

/// Positions of the set bits, ascending.
#[inline]
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            bit
        })
    })
}

impl Timing {
    fn new(dram: &Dram) -> Self {
        let t = dram.timing;
        let c = Cycle::from;
        let read_data = c(t.cl) + c(t.burst);
        let write_data = c(t.cwl) + c(t.burst);
        Self {
            rcd: c(t.rcd),
            rp: c(t.rp),
            ras: c(t.ras),
            rrd_s: c(t.rrd_s),
            rrd_l: c(t.rrd_l),
            faw: c(t.faw),
            ccd_s: c(t.ccd_s.max(t.burst)),
            ccd_l: c(t.ccd_l.max(t.burst)),
            rtp: c(t.rtp),
            rfc: c(t.rfc),
            refi: c(t.refi),
            read_data,
            write_recovery: write_data + c(t.wr),
            wtr_s: write_data + c(t.wtr_s),
            wtr_l: write_data + c(t.wtr_l),
            read_to_write: (read_data + c(t.turnaround)).saturating_sub(c(t.cwl)),
            other_rank: c(t.burst) + c(t.turnaround),
            write_to_read_other_rank: (write_data + c(t.turnaround)).saturating_sub(c(t.cl)),
        }
    }
}

fn check_controller(controller: &DramController) -> Result<(), MachineError> {
    for (what, value) in [
        ("dram.controller.read_queue", controller.read_queue),
        ("dram.controller.write_queue", controller.write_queue),
    ] {
        if !(1..=4096).contains(&value) {
            return Err(MachineError::OutOfRange {
                what,
                value: value.into(),
                expected: "1 to 4096 entries",
            });
        }
    }
    if controller.write_low >= controller.write_high
        || controller.write_high > controller.write_queue
    {
        return Err(MachineError::OutOfRange {
            what: "dram.controller.write_high",
            value: controller.write_high.into(),
            expected: "more than write_low and at most write_queue",
        });
    }
    Ok(())
}
