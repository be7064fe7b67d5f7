//! One DRAM channel: an open-page controller and its banks.
//!
//! The controller has one command on the bus at a time. It skips from command
//! to command: [`Channel::next_event`] is the clock of the command that the
//! queues and timings of this moment lead to, and it changes only with a new
//! request or a command.
//!
//! A row that was opened for a request stays open until that request is served.

mod plan;

use ringfence_scenario::platform::{Dram, DramController, Scheduler};

use super::address::Place;
use super::command::{Command, CommandKind, CommandSink, Cycle};
use super::device::{Device, Direction, MAX_BANKS, bits};
use super::order::{FIRST_AGE, Ordering};
use super::queue::{Queue, Request};
use crate::machine::error::MachineError;
use plan::{Action, Class, First, Plan};

const NEVER: Cycle = Cycle::MAX;

/// A read that got its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadDone {
    /// Its [`NewRequest::id`].
    pub id: u32,
    /// Clock after the last data.
    pub at: Cycle,
}

/// A request on its way into a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRequest {
    /// Where its line lives.
    pub place: Place,
    /// The line.
    pub line: u64,
    /// What a read's [`ReadDone`] says.
    pub id: u32,
    /// Who sent it, for schedulers that tell sources apart.
    pub source: u16,
}

/// What a channel has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChannelCounts {
    /// Reads accepted.
    pub reads: u64,
    /// Writes accepted.
    pub writes: u64,
    /// Reads answered from a write that still waits.
    pub forwarded: u64,
    /// Writes whose last burst was issued.
    pub written: u64,
    /// Activates issued.
    pub activates: u64,
    /// Refreshes issued.
    pub refreshes: u64,
}

/// One channel.
#[derive(Debug, Clone)]
pub struct Channel {
    device: Device,
    controller: DramController,
    ordering: Ordering,
    bursts_per_line: u32,
    /// Clocks on the bus of an activate, a column command and a precharge or refresh.
    command_clocks: [Cycle; 3],
    /// Reads and writes.
    queues: [Queue; 2],
    /// Per queue, banks whose open row waits for the request that it was opened for.
    promised: [u64; 2],
    /// By class, the first of the commands for the queue that is served.
    first: [First; 3],
    /// Row hits of each queue and bank that went before an older miss since the row was opened ...
    overtakes: [[u32; MAX_BANKS]; 2],
    /// ... and the banks in which no more may.
    capped: [u64; 2],
    /// Banks that a due refresh keeps from serving more than was promised.
    blocked: u64,
    /// When the next refresh falls due.
    look_at: Cycle,
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
    /// When a queue is empty or too long, the watermarks do not fit it, or the
    /// model cannot represent the device.
    pub fn new(dram: &Dram, line_bytes: u32) -> Result<Self, MachineError> {
        let controller = dram.controller;
        check_controller(&controller)?;
        let t = &dram.timing;
        let mut channel = Self {
            device: Device::new(dram)?,
            controller,
            ordering: Ordering::new(controller.scheduler),
            bursts_per_line: line_bytes.div_ceil(dram.burst_bytes).max(1),
            command_clocks: [t.activate_clocks, t.column_clocks, t.precharge_clocks]
                .map(Cycle::from),
            queues: [
                Queue::new(controller.read_queue),
                Queue::new(controller.write_queue),
            ],
            promised: [0; 2],
            first: [First::UNKNOWN; 3],
            overtakes: [[0; MAX_BANKS]; 2],
            capped: [0; 2],
            blocked: 0,
            look_at: 0,
            draining: false,
            now: 0,
            next_age: FIRST_AGE,
            plan: Plan::LOOK,
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
    pub fn read(&mut self, at: Cycle, request: NewRequest) -> Option<ReadDone> {
        let NewRequest { place, line, .. } = request;
        if self.queues[Direction::Write as usize].contains(place.bank.into(), line) {
            return Some(self.forward(at, request.id));
        }
        self.counts.reads += 1;
        self.enqueue(Direction::Read, at, request);
        None
    }

    /// Answers a read in clock `at` from a write that has not reached the memory.
    pub fn forward(&mut self, at: Cycle, id: u32) -> ReadDone {
        self.counts.reads += 1;
        self.counts.forwarded += 1;
        ReadDone {
            id,
            at: self.device.read_done(at),
        }
    }

    /// Accepts a write in clock `at`; no event is due before `at`.
    pub fn write(&mut self, at: Cycle, request: NewRequest) {
        self.counts.writes += 1;
        self.enqueue(Direction::Write, at, request);
    }

    fn enqueue(&mut self, direction: Direction, at: Cycle, request: NewRequest) {
        let NewRequest {
            place,
            line,
            id,
            source,
        } = request;
        let bank = usize::from(place.bank) % MAX_BANKS;
        let request = Request {
            line,
            row: place.row,
            id,
            age: self.next_age,
            bursts_left: self.bursts_per_line,
            source,
        };
        self.next_age += 1;
        self.now = self.now.max(at);
        let open_row = self.device.open_row(bank);
        let queue = &mut self.queues[direction as usize];
        if queue.push(&self.ordering, bank, open_row, request) {
            let changes = [Class::Column, Class::Activate, Class::Precharge]
                .map(|class| self.update(class, bank));
            if changes != [false; 3] {
                self.replan();
                return;
            }
        }
        let was_draining = self.draining;
        self.choose_direction();
        if self.draining != was_draining {
            self.replan();
        }
    }

    /// Issues the command of clock [`Self::next_event`].
    pub fn step<S: CommandSink>(&mut self, sink: &mut S) -> Option<ReadDone> {
        let Plan {
            at,
            action,
            direction,
            bank,
        } = self.plan;
        self.now = self.now.max(at);
        let index = usize::from(bank) % MAX_BANKS;
        let mut done = None;
        let [activate, column, precharge] = self.command_clocks;
        let (kind, clocks) = match action {
            Action::Look => {
                if self.ordering.advance(at) {
                    self.sort_all();
                }
                self.block_due_banks();
                self.replan();
                return None;
            }
            Action::Activate => {
                let row = self.activate(at, index, direction);
                (CommandKind::Activate { row }, activate)
            }
            Action::Column => {
                done = self.column(at, index, direction);
                let kind = match direction {
                    Direction::Read => CommandKind::Read,
                    Direction::Write => CommandKind::Write,
                };
                (kind, column)
            }
            Action::Precharge => {
                self.device.precharge(at, index);
                self.sort(index);
                self.forget(Class::Precharge);
                self.update(Class::Column, index);
                self.update(Class::Activate, index);
                (CommandKind::Precharge, precharge)
            }
            Action::PrechargeAll => {
                for bank in bits(self.device.precharge_all(at, index)) {
                    self.sort(bank);
                }
                self.forget_all();
                (CommandKind::PrechargeAll, precharge)
            }
            Action::Refresh => {
                self.counts.refreshes += 1;
                (self.refresh(at, index), precharge)
            }
        };
        sink.command(Command { at, kind, bank });
        self.now = at + clocks;
        self.replan();
        done
    }

    /// Opens the row of the bank's first miss; returns the row.
    #[inline]
    fn activate(&mut self, at: Cycle, bank: usize, direction: Direction) -> u32 {
        let row = self.queues[direction as usize].miss_row(bank);
        self.device.activate(at, bank, row);
        self.promised[direction as usize] |= 1 << bank;
        self.sort(bank);
        self.queues[direction as usize].promise(bank);
        self.forget(Class::Activate);
        self.update(Class::Column, bank);
        self.counts.activates += 1;
        row
    }

    #[inline]
    fn column(&mut self, at: Cycle, bank: usize, direction: Direction) -> Option<ReadDone> {
        self.device.column(at, bank, direction);
        self.count_overtaking(bank, direction);
        let request = self.queues[direction as usize].serve_hit(&self.ordering, bank);
        if request.is_some() {
            self.promised[direction as usize] &= !(1 << bank);
        }
        self.forget(Class::Column);
        self.update(Class::Precharge, bank);
        let request = request?;
        if self.ordering.served(at, request.source) {
            self.sort_all();
        }
        match direction {
            Direction::Read => Some(ReadDone {
                id: request.id,
                at: self.device.read_done(at),
            }),
            Direction::Write => {
                self.counts.written += 1;
                None
            }
        }
    }

    /// The first hit of `bank` is served: counts it if an older miss waits.
    #[inline]
    fn count_overtaking(&mut self, bank: usize, direction: Direction) {
        let queue = &self.queues[direction as usize];
        if queue.misses >> bank & 1 != 0 && queue.miss_order[bank] < queue.hit_order[bank] {
            let overtakes = &mut self.overtakes[direction as usize][bank];
            *overtakes += 1;
            if *overtakes >= self.ordering.hit_cap() {
                self.capped[direction as usize] |= 1 << bank;
            }
        }
    }

    /// Sorts the bank's requests anew: another row is open, or none.
    #[inline]
    fn sort(&mut self, bank: usize) {
        let open_row = self.device.open_row(bank);
        for direction in [Direction::Read, Direction::Write] {
            let queue = &mut self.queues[direction as usize];
            if queue.is_waiting(bank) {
                queue.sort(&self.ordering, bank, open_row);
            }
            self.overtakes[direction as usize][bank] = 0;
            self.capped[direction as usize] &= !(1 << bank);
        }
    }

    /// Refreshes what is due in the rank of `bank`; returns the command.
    fn refresh(&mut self, at: Cycle, bank: usize) -> CommandKind {
        let banks = self.device.rank_of(bank).refresh_banks;
        let kind = self.device.refresh(at, bank);
        self.blocked &= !banks;
        self.block_due_banks();
        kind
    }

    /// Keeps requests from banks whose refresh is due.
    fn block_due_banks(&mut self) {
        self.look_at = NEVER;
        for rank in self.device.ranks() {
            if rank.refresh_due <= self.now {
                self.blocked |= rank.refresh_banks;
            } else {
                self.look_at = self.look_at.min(rank.refresh_due);
            }
        }
        self.forget_all();
    }

    /// The order of all requests has changed.
    fn sort_all(&mut self) {
        for bank in 0..self.device.banks() {
            let open_row = self.device.open_row(bank);
            for direction in [Direction::Read, Direction::Write] {
                self.queues[direction as usize].sort(&self.ordering, bank, open_row);
                if self.promised[direction as usize] >> bank & 1 != 0 {
                    self.queues[direction as usize].promise(bank);
                }
            }
        }
        self.forget_all();
    }

    /// Writes are drained in batches, or when there is nothing to read.
    #[inline]
    fn choose_direction(&mut self) {
        let (reads, writes) = (self.queues[0].len(), self.queues[1].len());
        let drains = if self.draining {
            writes > 0 && (writes > self.controller.write_low || reads == 0)
        } else {
            writes > 0 && (writes >= self.controller.write_high || reads == 0)
        };
        if drains != self.draining {
            self.draining = drains;
            self.forget_all();
        }
    }
}

fn check_controller(controller: &DramController) -> Result<(), MachineError> {
    let (streak, clear) = match controller.scheduler {
        Scheduler::FrFcfs | Scheduler::RowHitFirst => (1, 1),
        Scheduler::FrFcfsCap { hits } => (hits, 1),
        Scheduler::Blacklist { streak, clear } => (streak, clear),
    };
    for (what, value) in [
        ("dram.controller.read_queue", controller.read_queue),
        ("dram.controller.write_queue", controller.write_queue),
        ("dram.controller.hit_cap or blacklist_after", streak),
    ] {
        if !(1..=4096).contains(&value) {
            return Err(MachineError::OutOfRange {
                what,
                value: value.into(),
                expected: "1 to 4096",
            });
        }
    }
    if clear == 0 {
        return Err(MachineError::OutOfRange {
            what: "dram.controller.blacklist_clear",
            value: 0,
            expected: "at least 1 clock",
        });
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
