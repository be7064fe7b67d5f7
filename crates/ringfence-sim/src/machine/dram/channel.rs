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
use super::device::{Device, Direction, Rank, bits};
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
    /// Reads answered from a write that still waits.
    pub forwarded: u64,
    /// Writes whose last burst was issued.
    pub written: u64,
    /// Activates issued.
    pub activates: u64,
    /// Refreshes issued.
    pub refreshes: u64,
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

/// The command that comes next; the smaller `(at, order)` goes first.
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

/// Bits of a candidate's key that hold its order; the rest hold how far off it is.
const ORDER_BITS: u32 = 44;

/// One channel.
#[derive(Debug, Clone)]
pub struct Channel {
    device: Device,
    controller: DramController,
    bursts_per_line: u32,
    /// Reads and writes.
    queues: [Queue; 2],
    /// Per queue, banks whose open row waits for the request that it was opened for.
    promised: [u64; 2],
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
        let device = Device::new(dram)?;
        let banks = device.banks();
        let mut channel = Self {
            device,
            controller,
            bursts_per_line: line_bytes.div_ceil(dram.burst_bytes).max(1),
            queues: [
                Queue::new(controller.read_queue, banks),
                Queue::new(controller.write_queue, banks),
            ],
            promised: [0; 2],
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
        if self.queues[Direction::Write as usize].contains(usize::from(place.bank), line) {
            return Some(self.forward(at, id));
        }
        self.counts.reads += 1;
        self.enqueue(Direction::Read, at, place, line, id);
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
    pub fn write(&mut self, at: Cycle, place: Place, line: u64) {
        self.counts.writes += 1;
        self.enqueue(Direction::Write, at, place, line, 0);
    }

    fn enqueue(&mut self, direction: Direction, at: Cycle, place: Place, line: u64, id: u32) {
        let index = usize::from(place.bank);
        let open_row = self.device.open_row(index);
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
                for open in bits(self.device.open_banks() & self.device.rank_of(index).banks) {
                    self.precharge(at, open);
                }
                CommandKind::PrechargeAll
            }
            Action::Refresh => {
                self.device.refresh(at, index);
                self.counts.refreshes += 1;
                CommandKind::Refresh
            }
        };
        sink.command(Command { at, kind, bank });
        self.now = at + 1;
        self.replan();
        done
    }

    /// Opens the row of the bank's oldest miss; returns the row.
    fn activate(&mut self, at: Cycle, bank: usize, direction: Direction) -> u32 {
        let row = self.queues[direction as usize].miss_row(bank);
        self.device.activate(at, bank, row);
        self.promised[direction as usize] |= 1 << bank;
        for queue in &mut self.queues {
            queue.open(bank, row);
        }
        self.counts.activates += 1;
        row
    }

    fn column(&mut self, at: Cycle, bank: usize, direction: Direction) -> Option<ReadDone> {
        self.device.column(at, bank, direction);
        let request = self.queues[direction as usize].serve_hit(bank)?;
        self.promised[direction as usize] &= !(1 << bank);
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

    fn precharge(&mut self, at: Cycle, bank: usize) {
        self.device.precharge(at, bank);
        for queue in &mut self.queues {
            queue.close(bank);
        }
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
        for rank in self.device.ranks() {
            if rank.refresh_due <= self.now {
                self.allowed &= !rank.banks;
                self.plan_refresh(rank, &mut best);
            } else {
                best.improve(Plan {
                    at: rank.refresh_due,
                    order: PROMISED,
                    action: Action::Look,
                    bank: 0,
                });
            }
        }
        for direction in [Direction::Read, Direction::Write] {
            let promised = self.promised[direction as usize];
            best.improve(self.first_of(promised, Action::Column(direction), |bank| {
                self.key(self.device.column_at(bank, direction), PROMISED)
            }));
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
    fn plan_refresh(&self, rank: &Rank, best: &mut Plan) {
        if (self.promised[0] | self.promised[1]) & rank.banks != 0 {
            return;
        }
        let open = rank.banks & self.device.open_banks();
        let latest = |mask, at_of: fn(&Device, usize) -> Cycle| {
            bits(mask)
                .map(|bank| at_of(&self.device, bank))
                .fold(self.now, Cycle::max)
        };
        let (at, action) = if open != 0 {
            (latest(open, Device::precharge_at), Action::PrechargeAll)
        } else {
            (latest(rank.banks, Device::refresh_at), Action::Refresh)
        };
        best.improve(Plan {
            at,
            order: REFRESH,
            action,
            bank: rank.banks.trailing_zeros() as u8,
        });
    }

    /// The best command for the requests of a queue in the `allowed` banks.
    #[inline]
    fn plan_queue(&self, direction: Direction, allowed: u64, best: &mut Plan) {
        let queue = &self.queues[direction as usize];
        let allowed = allowed & !(self.promised[0] | self.promised[1]);
        let open = self.device.open_banks();
        best.improve(
            self.first_of(queue.hits & allowed, Action::Column(direction), |bank| {
                self.key(self.device.column_at(bank, direction), queue.hit_age(bank))
            }),
        );
        best.improve(
            self.first_of(queue.misses & allowed & open, Action::Precharge, |bank| {
                self.key(self.device.precharge_at(bank), queue.miss_age(bank))
            }),
        );
        best.improve(self.first_of(
            queue.misses & allowed & !open,
            Action::Activate(direction),
            |bank| self.key(self.device.activate_at(bank), queue.miss_age(bank)),
        ));
    }

    /// A candidate's distance from now and its order in one number: less goes first.
    #[inline]
    fn key(&self, at: Cycle, order: u64) -> u64 {
        at.saturating_sub(self.now) << ORDER_BITS | order
    }

    /// The bank of `mask` with the least key. One number to compare and no
    /// branch on it: which bank wins is too random to predict.
    #[inline]
    fn first_of(&self, mask: u64, action: Action, key_of: impl Fn(usize) -> u64) -> Plan {
        let (mut least, mut first) = (u64::MAX, 0);
        for bank in bits(mask) {
            let key = key_of(bank);
            first = if key < least { bank } else { first };
            least = least.min(key);
        }
        Plan {
            at: if mask == 0 {
                NEVER
            } else {
                self.now + (least >> ORDER_BITS)
            },
            order: least & ((1 << ORDER_BITS) - 1),
            action,
            bank: first as u8,
        }
    }
}

impl Plan {
    #[inline]
    fn improve(&mut self, other: Self) {
        if (other.at, other.order) < (self.at, self.order) {
            *self = other;
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
