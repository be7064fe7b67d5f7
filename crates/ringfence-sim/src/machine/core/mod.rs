//! One core: issue in program order or out of it, private L1, misses in flight.
//!
//! A core executes L1 hits and computation on its own, ahead of the rest of
//! the machine. An access that misses is executed when the whole machine has
//! reached its time, so that the state of every shared part is exact.

mod access;
mod misses;
mod out_of_order;
mod prefetcher;
mod window;

use ringfence_scenario::platform::{MemorySystem, Replacement};

use self::access::{Accessed, Request};
use self::misses::Misses;
use self::prefetcher::Prefetcher;
use super::agenda::NEVER;
use super::cache::Cache;
use super::error::MachineError;
use super::pages::PAGE_BYTES;
use super::{CoreTraffic, Picoseconds, Traffic, TrafficLimit};
use crate::program::{Access, Clock, Op, Stream};

pub(crate) use self::window::Window;

/// What [`Core::run`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing more to do before [`Core::wake_at`].
    Sleep,
    /// The line of [`Core::fetch`] is wanted; the core has more to do.
    Miss,
    /// The core is idle now.
    Stopped(Reason),
}

/// A line that a core wants from the last-level cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fetch {
    /// Miss entry that waits for the line.
    pub(super) entry: usize,
    pub(super) line: u64,
    /// Dirty line that it replaces.
    pub(super) evicted: Option<u64>,
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

/// A core.
#[derive(Debug, Clone)]
pub(super) struct Core {
    l1: Cache,
    /// Latest access to the L1: they come in order of time, whatever runs ahead.
    accessed_at: Picoseconds,
    /// From this time on, what is in the L1 may have left it for the sake of
    /// others: how far ahead of the machine it may be accessed.
    pub(super) keeps_lines_until: Picoseconds,
    issue_ps: Picoseconds,
    l1_ps: Picoseconds,
    misses: Misses,
    /// What the last [`Step::Miss`] wants.
    pub(super) fetch: Fetch,
    prefetcher: Option<Prefetcher>,
    /// Time of dispatch that an out-of-order core may be past its oldest
    /// waiting load; `None` is program order.
    window_ps: Option<Picoseconds>,
    /// Earliest that data can come which nobody has sent yet, from now on.
    reply_ps: Picoseconds,
    /// Position up to which the window is known to have room.
    room_until: Picoseconds,
    /// When the stream was started last; it issues nothing earlier.
    started_at: Picoseconds,
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
        clock: &Clock,
        memory_lines: u64,
        reply_ps: Picoseconds,
    ) -> Result<Self, MachineError> {
        let page_lines = PAGE_BYTES / u64::from(memory.line_bytes);
        let prefetcher = memory.core.prefetcher.as_ref();
        Ok(Self {
            l1: Cache::new(
                memory.l1.size_bytes,
                memory.l1.ways,
                memory.line_bytes,
                memory_lines,
                Replacement::Lru,
                0,
            )?,
            accessed_at: 0,
            keeps_lines_until: NEVER,
            issue_ps: clock.issue(1),
            l1_ps: clock.cycles(memory.l1.latency_cycles.into()),
            misses: Misses::new(memory)?,
            fetch: Fetch {
                entry: 0,
                line: 0,
                evicted: None,
            },
            prefetcher: prefetcher.map(|parameters| Prefetcher::new(parameters, page_lines)),
            window_ps: memory
                .core
                .reorder_window
                .map(|instructions| clock.instructions(instructions.into()).max(1)),
            reply_ps,
            room_until: 0,
            started_at: 0,
            time: 0,
            state: State::Idle,
            blocked: false,
            interrupt_at: NEVER,
            wake_at: NEVER,
            stream: 0,
            traffic: CoreTraffic::default(),
            limit: TrafficLimit::NONE,
            limit_at: NEVER,
        })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    pub(super) fn start(&mut self, stream: usize, at: Picoseconds) {
        debug_assert!(self.is_idle() && at >= self.time);
        self.stream = stream;
        self.started_at = at;
        self.time = at;
        self.wake_at = at;
        self.state = State::Running;
        self.room_until = if self.window_ps.is_some() { 0 } else { NEVER };
    }

    pub(super) fn interrupt(&mut self, at: Picoseconds) {
        if !self.is_idle() {
            self.interrupt_at = self.interrupt_at.min(at);
        }
    }

    /// The counters of whoever issued the miss in `entry`, which is not over.
    #[inline]
    pub(super) fn traffic_of(&mut self, entry: usize) -> &mut Traffic {
        match self.misses.entry(entry).is_best_effort {
            true => &mut self.traffic.best_effort,
            false => &mut self.traffic.real_time,
        }
    }

    /// The line of `entry` comes at `at`.
    #[inline]
    pub(super) fn data(&mut self, entry: usize, at: Picoseconds, stream: &mut Stream) {
        let mut chains = self.misses.data(entry, at);
        while chains != 0 {
            stream.chain_ready[chains.trailing_zeros() as usize] = at;
            chains &= chains - 1;
        }
        if !self.is_idle() && !stream.window.is_empty() {
            self.wake_at = self.wake_at.min(at.max(self.started_at));
        }
        self.wake_blocked(at);
    }

    /// The victim of `entry` has left at `at`.
    #[inline]
    pub(super) fn victim_left(&mut self, entry: usize, at: Picoseconds) {
        self.misses.victim_left(entry, at);
        self.wake_blocked(at);
    }

    /// Whether the L1 has a copy of `line` that is newer than the one below.
    pub(super) fn has_dirty(&self, line: u64) -> bool {
        self.l1.is_dirty(line) && !self.misses.is_asked_for(line)
    }

    /// The L1 gives up its copy of `line`, if it has one; a place that waits for
    /// a line which nobody has sent yet is none.
    pub(super) fn drop_line(&mut self, now: Picoseconds, line: u64) {
        debug_assert!(self.accessed_at <= now);
        if !self.misses.is_asked_for(line) {
            self.l1.invalidate(line);
        }
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
        debug_assert!(!self.is_idle() && now >= self.started_at);
        if self.blocked {
            self.blocked = false;
            self.time = self.time.max(now);
        }
        if let State::Stopping(reason) = self.state {
            return self.stop(now, reason);
        }
        match self.window_ps {
            None => self.run_in_order(now, limit, stream),
            Some(window_ps) => self.run_out_of_order(window_ps, now, limit, stream),
        }
    }

    fn run_in_order(&mut self, now: Picoseconds, limit: Picoseconds, stream: &mut Stream) -> Step {
        loop {
            if self.prefetch(now, stream.is_best_effort) {
                return Step::Miss;
            }
            match self.fetch_ends(stream) {
                None => {}
                Some(NEVER) => return self.block(now),
                Some(at) => self.time = at,
            }
            let op = match self.dispatch(now, limit, stream) {
                Ok(op) => op,
                Err(Some(step)) => return step,
                Err(None) => continue,
            };
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
            match self.access(now, Request::new(&op, self.time, stream), stream) {
                Accessed::Later(step) => return step,
                accessed => {
                    self.dispatched(stream);
                    stream.executed();
                    if let Accessed::Miss = accessed {
                        return Step::Miss;
                    }
                }
            }
        }
    }

    /// When the instructions come that the core waits for; `None` if it has them.
    #[inline(always)]
    fn fetch_ends(&self, stream: &Stream) -> Option<Picoseconds> {
        let at = stream.chain_ready[0];
        (stream.is_fetching && at > self.time).then_some(at)
    }

    /// The next access of the stream, after the computation before it.
    ///
    /// `Err` with a step when it is not due yet, without one when some
    /// computation was done and the rest comes with the next call.
    #[inline(always)]
    fn dispatch(
        &mut self,
        now: Picoseconds,
        limit: Picoseconds,
        stream: &mut Stream,
    ) -> Result<Op, Option<Step>> {
        let room = self.room_until - stream.window.position;
        let Some(op) = stream.peek() else {
            return Err(Some(self.stop(now, Reason::Ended)));
        };
        if op.compute_ps == 0 && op.access == Access::None {
            stream.advance();
            return Err(None);
        }
        if self.time >= self.interrupt_at {
            return Err(Some(self.stop(now, Reason::Interrupted)));
        }
        if self.time >= limit {
            return Err(Some(self.sleep(self.time)));
        }
        if op.compute_ps > 0 {
            let executed = op
                .compute_ps
                .min(limit.min(self.interrupt_at) - self.time)
                .min(room);
            op.compute_ps -= executed;
            self.time += executed;
            stream.window.position += executed;
            return Err(None);
        }
        Ok(*op)
    }

    /// The access at the head of the stream has left it.
    #[inline(always)]
    fn dispatched(&mut self, stream: &mut Stream) {
        self.time += self.issue_ps;
        stream.window.position += self.issue_ps;
        stream.advance();
    }

    fn sleep(&mut self, until: Picoseconds) -> Step {
        self.wake_at = until;
        Step::Sleep
    }

    /// Sleeps until an entry changes.
    #[inline(never)]
    fn block(&mut self, now: Picoseconds) -> Step {
        self.blocked = true;
        let change = self.misses.next_change(now);
        self.sleep(change)
    }

    /// Becomes idle when all loads are done; stores stay in the store buffer.
    #[inline(never)]
    fn stop(&mut self, now: Picoseconds, reason: Reason) -> Step {
        self.state = State::Stopping(reason);
        let loads = self.misses.loads().map(|miss| miss.data_at);
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
