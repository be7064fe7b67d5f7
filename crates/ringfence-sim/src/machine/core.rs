//! One core: in-order issue, private L1, misses in flight.
//!
//! A core executes L1 hits and computation on its own, ahead of the rest of
//! the machine. An access that misses is executed when the whole machine has
//! reached its time, so that the state of every shared part is exact.

use ringfence_scenario::platform::{MemorySystem, Replacement};

use super::agenda::NEVER;
use super::cache::{Cache, WayMask};
use super::error::MachineError;
use super::{CoreTraffic, Picoseconds, Traffic, TrafficLimit};
use crate::program::{Access, Op, Order, Stream};

/// What [`Core::run`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing more to do before this time.
    Sleep(Picoseconds),
    /// A line is wanted, and a dirty one perhaps given up; the core has more to do.
    Miss {
        /// Miss entry that waits for the line.
        entry: usize,
        /// The line.
        line: u64,
        /// Dirty line that it replaces.
        evicted: Option<u64>,
    },
    /// The core is idle now.
    Stopped(Reason),
}

/// Why a core became idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Ended,
    Interrupted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Running,
    /// Waits for its loads before it becomes idle.
    Stopping(Reason),
}

/// A miss in flight. It is over when the line has come and the victim has left.
#[derive(Debug, Clone, Copy)]
struct Entry {
    line: u64,
    /// When the line is here; `NEVER` while that is unknown.
    data_at: Picoseconds,
    /// When the victim has left; `NEVER` while that is unknown.
    evicted_at: Picoseconds,
    /// Chains of the running stream that wait for the line.
    chains: u64,
    /// Whether a load waits for the line.
    load: bool,
    /// Whether a best-effort stream issued it.
    is_best_effort: bool,
}

impl Entry {
    fn over_at(&self) -> Picoseconds {
        self.data_at.max(self.evicted_at)
    }
}

/// A core.
#[derive(Debug, Clone)]
pub(super) struct Core {
    l1: Cache,
    issue_ps: Picoseconds,
    l1_ps: Picoseconds,
    /// Entries for loads, then those of the store buffer.
    entries: Vec<Entry>,
    loads: usize,
    /// Everything before this time has been executed.
    time: Picoseconds,
    state: State,
    /// Whether it sleeps until an entry changes.
    blocked: bool,
    interrupt_at: Picoseconds,
    /// When it wants to run next.
    pub(super) wake_at: Picoseconds,
    /// Stream that it executes, or executed last.
    pub(super) stream: usize,
    pub(super) traffic: CoreTraffic,
    pub(super) limit: TrafficLimit,
    /// When the reached limit is reported.
    pub(super) limit_at: Picoseconds,
}

impl Core {
    pub(super) fn new(
        memory: &MemorySystem,
        cycle_ps: Picoseconds,
        memory_lines: u64,
    ) -> Result<Self, MachineError> {
        let (loads, stores) = (memory.core.outstanding_misses, memory.core.store_buffer);
        for (what, value) in [
            ("core.outstanding_misses", loads),
            ("core.store_buffer", stores),
        ] {
            if !(1..=256).contains(&value) {
                return Err(MachineError::OutOfRange {
                    what,
                    value: value.into(),
                    expected: "1 to 256",
                });
            }
        }
        let idle = Entry {
            line: u64::MAX,
            data_at: 0,
            evicted_at: 0,
            chains: 0,
            load: false,
            is_best_effort: false,
        };
        Ok(Self {
            l1: Cache::new(
                memory.l1.size_bytes,
                memory.l1.ways,
                memory.line_bytes,
                memory_lines,
                Replacement::Lru,
                0,
            )?,
            issue_ps: Picoseconds::from(memory.core.issue_cycles) * cycle_ps,
            l1_ps: Picoseconds::from(memory.l1.latency_cycles) * cycle_ps,
            entries: vec![idle; (loads + stores) as usize],
            loads: loads as usize,
            time: 0,
            state: State::Idle,
            blocked: false,
            interrupt_at: NEVER,
            wake_at: NEVER,
            stream: 0,
            traffic: CoreTraffic::default(),
            limit: TrafficLimit {
                read_lines: u64::MAX,
                write_lines: u64::MAX,
            },
            limit_at: NEVER,
        })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    pub(super) fn start(&mut self, stream: usize, at: Picoseconds) {
        debug_assert!(self.is_idle() && at >= self.time);
        self.stream = stream;
        self.time = at;
        self.wake_at = at;
        self.state = State::Running;
    }

    pub(super) fn interrupt(&mut self, at: Picoseconds) {
        if !self.is_idle() {
            self.interrupt_at = self.interrupt_at.min(at);
        }
    }

    /// The counters of whoever issued the miss in `entry`, which is not over.
    #[inline]
    pub(super) fn traffic_of(&mut self, entry: usize) -> &mut Traffic {
        match self.entries[entry].is_best_effort {
            true => &mut self.traffic.best_effort,
            false => &mut self.traffic.real_time,
        }
    }

    /// The line of `entry` comes at `at`.
    #[inline]
    pub(super) fn data(&mut self, entry: usize, at: Picoseconds, stream: &mut Stream) {
        let entry = &mut self.entries[entry];
        entry.data_at = at;
        let mut chains = std::mem::take(&mut entry.chains);
        while chains != 0 {
            stream.chain_ready[chains.trailing_zeros() as usize] = at;
            chains &= chains - 1;
        }
        self.wake_blocked(at);
    }

    /// The victim of `entry` has left at `at`.
    #[inline]
    pub(super) fn victim_left(&mut self, entry: usize, at: Picoseconds) {
        self.entries[entry].evicted_at = at;
        self.wake_blocked(at);
    }

    /// Whether the L1 has a copy of `line` that is newer than the one below.
    pub(super) fn has_dirty(&self, line: u64) -> bool {
        self.l1.is_dirty(line)
    }

    /// The L1 gives up its copy of `line`, if it has one.
    pub(super) fn drop_line(&mut self, line: u64) {
        self.l1.invalidate(line);
    }

    fn wake_blocked(&mut self, at: Picoseconds) {
        if self.blocked {
            self.wake_at = self.wake_at.min(at);
        }
    }

    /// Executes from `now` on what begins before `limit`, which is not before `now`.
    ///
    /// At `now == limit` it reports what is due and sleeps until `now`: it has
    /// to run again with a later limit.
    pub(super) fn run(
        &mut self,
        now: Picoseconds,
        limit: Picoseconds,
        stream: &mut Stream,
    ) -> Step {
        if self.blocked {
            self.blocked = false;
            self.time = self.time.max(now);
        }
        if let State::Stopping(reason) = self.state {
            return self.stop(now, reason);
        }
        loop {
            let Some(op) = stream.peek() else {
                return self.stop(now, Reason::Ended);
            };
            if op.compute_ps == 0 && op.access == Access::None {
                stream.advance();
                continue;
            }
            if self.time >= self.interrupt_at {
                return self.stop(now, Reason::Interrupted);
            }
            if self.time >= limit {
                return self.sleep(self.time);
            }
            if op.compute_ps > 0 {
                let executed = op.compute_ps.min(limit.min(self.interrupt_at) - self.time);
                op.compute_ps -= executed;
                self.time += executed;
                continue;
            }
            let op = *op;
            if let Some(chain) = op.order.chain() {
                let ready = stream.chain_ready[chain];
                if ready == NEVER {
                    return self.block(now);
                }
                if ready > self.time {
                    self.time = ready;
                    continue;
                }
            }
            match self.l1.find(op.line) {
                Some(slot) if !self.l1.is_pending(slot) => self.hit(slot, &op, stream),
                _ if self.time > now => return self.sleep(self.time),
                Some(slot) => self.hit_under_miss(slot, now, &op, stream),
                None => return self.miss(now, &op, stream),
            }
        }
    }

    #[inline]
    fn hit(&mut self, slot: usize, op: &Op, stream: &mut Stream) {
        if op.access.writes() {
            self.l1.make_dirty(slot);
        }
        if let Order::Chain(chain) = op.order {
            stream.chain_ready[usize::from(chain)] = self.time + self.l1_ps;
        }
        self.time += self.issue_ps;
        stream.advance();
    }

    /// An access to a line that was on its way when it was last looked at.
    ///
    /// A store that finds its line on the way joins the miss at no cost.
    fn hit_under_miss(&mut self, slot: usize, now: Picoseconds, op: &Op, stream: &mut Stream) {
        let Some(entry) = self
            .entries
            .iter_mut()
            .find(|entry| entry.line == op.line && entry.data_at > now)
        else {
            self.l1.complete(slot);
            return self.hit(slot, op, stream);
        };
        if op.access.writes() {
            self.l1.make_dirty(slot);
        }
        if op.access.reads() {
            entry.load = true;
            if let Some(chain) = op.order.chain() {
                stream.chain_ready[chain] = entry.data_at;
                if entry.data_at == NEVER {
                    entry.chains |= 1 << chain;
                }
            }
        }
        self.time = now + self.issue_ps;
        stream.advance();
    }

    fn miss(&mut self, now: Picoseconds, op: &Op, stream: &mut Stream) -> Step {
        let load = op.access.reads();
        let (first, pool) = if load {
            (0, &self.entries[..self.loads])
        } else {
            (self.loads, &self.entries[self.loads..])
        };
        let Some(free) = pool.iter().position(|entry| entry.over_at() <= now) else {
            return self.block(now);
        };
        let entries = &self.entries;
        let on_its_way = |line| {
            entries
                .iter()
                .any(|entry| entry.line == line && entry.data_at > now)
        };
        let Some(place) = self.l1.choose(op.line, WayMask::ALL, on_its_way) else {
            return self.block(now);
        };
        self.l1.put(place, op.line, op.access.writes(), true);
        let evicted = place.victim.filter(|victim| victim.dirty);
        let evicted = evicted.map(|victim| victim.line);
        let entry = first + free;
        let chain = if load { op.order.chain() } else { None };
        if let Some(chain) = chain {
            stream.chain_ready[chain] = NEVER;
        }
        self.entries[entry] = Entry {
            line: op.line,
            data_at: NEVER,
            evicted_at: if evicted.is_some() { NEVER } else { 0 },
            chains: chain.map_or(0, |chain| 1 << chain),
            load,
            is_best_effort: stream.is_best_effort,
        };
        self.time = now + self.issue_ps;
        stream.advance();
        Step::Miss {
            entry,
            line: op.line,
            evicted,
        }
    }

    fn sleep(&mut self, until: Picoseconds) -> Step {
        self.wake_at = until;
        Step::Sleep(until)
    }

    /// Sleeps until an entry changes.
    fn block(&mut self, now: Picoseconds) -> Step {
        self.blocked = true;
        let changes = self
            .entries
            .iter()
            .flat_map(|entry| [entry.data_at, entry.over_at()]);
        self.sleep(changes.filter(|&at| at > now).min().unwrap_or(NEVER))
    }

    /// Becomes idle when all loads are done; stores stay in the store buffer.
    fn stop(&mut self, now: Picoseconds, reason: Reason) -> Step {
        self.state = State::Stopping(reason);
        let loads = self
            .entries
            .iter()
            .filter(|entry| entry.load)
            .map(|entry| entry.data_at);
        let done = loads.max().unwrap_or(0).max(self.time);
        if done == NEVER {
            return self.block(now);
        }
        self.time = done;
        if done > now {
            return self.sleep(done);
        }
        self.state = State::Idle;
        self.interrupt_at = NEVER;
        self.wake_at = NEVER;
        Step::Stopped(reason)
    }
}
