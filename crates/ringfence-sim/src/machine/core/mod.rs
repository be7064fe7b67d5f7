//! One core: issue in program order or out of it, private L1, misses in flight.
//!
//! A core executes L1 hits and computation on its own, ahead of the rest of
//! the machine. An access that misses is executed when the whole machine has
//! reached its time, so that the state of every shared part is exact.

mod misses;
mod out_of_order;
mod prefetcher;
mod window;

use ringfence_scenario::platform::{MemorySystem, PrefetchLevel, Replacement};

use self::misses::{Miss, Misses, Pool};
use self::prefetcher::Prefetcher;
use super::agenda::NEVER;
use super::cache::{Cache, WayMask};
use super::error::MachineError;
use super::pages::PAGE_BYTES;
use super::{CoreTraffic, Picoseconds, Traffic, TrafficLimit};
use crate::program::{Access, Clock, Op, Order, Stream};

pub(crate) use self::window::Window;

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

/// An access that goes to the L1.
#[derive(Debug, Clone, Copy)]
struct Request {
    line: u64,
    access: Access,
    order: Order,
    /// When.
    at: Picoseconds,
    /// Place in the program order, in time of dispatch.
    position: Picoseconds,
}

impl Request {
    fn new(op: &Op, at: Picoseconds, stream: &Stream) -> Self {
        Self {
            line: op.line,
            access: op.access,
            order: op.order,
            at,
            position: stream.window.position,
        }
    }
}

/// What became of a [`Request`].
#[derive(Debug, Clone, Copy)]
enum Accessed {
    /// It is under way and concerns nobody else.
    Done,
    /// It is under way and misses.
    Miss(Step),
    /// Nothing happened; the core has to wait.
    Later(Step),
}

/// A core.
#[derive(Debug, Clone)]
pub(super) struct Core {
    l1: Cache,
    /// Latest access to the L1: they come in order of time, whatever runs ahead.
    accessed_at: Picoseconds,
    issue_ps: Picoseconds,
    l1_ps: Picoseconds,
    misses: Misses,
    prefetcher: Option<Prefetcher>,
    /// Time of dispatch that an out-of-order core may be past its oldest
    /// waiting load; `None` is program order.
    window_ps: Option<Picoseconds>,
    /// Earliest that data can come which nobody has sent yet, from now on.
    reply_ps: Picoseconds,
    /// Position up to which the window is known to have room.
    room_until: Picoseconds,
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
            issue_ps: clock.issue(1),
            l1_ps: clock.cycles(memory.l1.latency_cycles.into()),
            misses: Misses::new(memory)?,
            prefetcher: prefetcher.map(|parameters| Prefetcher::new(parameters, page_lines)),
            window_ps: memory
                .core
                .reorder_window
                .map(|instructions| clock.instructions(instructions.into())),
            reply_ps,
            room_until: 0,
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
        let miss = self.misses.entry(entry);
        miss.data_at = at;
        let mut chains = std::mem::take(&mut miss.chains);
        while chains != 0 {
            stream.chain_ready[chains.trailing_zeros() as usize] = at;
            chains &= chains - 1;
        }
        if !stream.window.is_empty() {
            self.wake_at = self.wake_at.min(at);
        }
        self.wake_blocked(at);
    }

    /// The victim of `entry` has left at `at`.
    #[inline]
    pub(super) fn victim_left(&mut self, entry: usize, at: Picoseconds) {
        self.misses.entry(entry).evicted_at = at;
        self.wake_blocked(at);
    }

    /// Whether the L1 has a copy of `line` that is newer than the one below.
    pub(super) fn has_dirty(&self, line: u64) -> bool {
        self.l1.is_dirty(line)
    }

    /// The L1 gives up its copy of `line`, if it has one.
    pub(super) fn drop_line(&mut self, now: Picoseconds, line: u64) {
        debug_assert!(self.accessed_at <= now);
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
        match self.window_ps {
            None => self.run_in_order(now, limit, stream),
            Some(window_ps) => self.run_out_of_order(window_ps, now, limit, stream),
        }
    }

    fn run_in_order(&mut self, now: Picoseconds, limit: Picoseconds, stream: &mut Stream) -> Step {
        loop {
            if let Some(step) = self.prefetch(now, stream.is_best_effort) {
                return step;
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
                    if let Accessed::Miss(step) = accessed {
                        return step;
                    }
                }
            }
        }
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
    /// The access at the head of the stream is under way.
    #[inline(always)]
    fn dispatched(&mut self, stream: &mut Stream) {
        self.time += self.issue_ps;
        stream.window.position += self.issue_ps;
        stream.advance();
    }

    #[inline(always)]
    fn access(&mut self, now: Picoseconds, request: Request, stream: &mut Stream) -> Accessed {
        match self.l1.peek(request.line) {
            Some(slot) if !self.l1.is_pending(slot) => self.hit(slot, &request, stream),
            _ if request.at > now => return Accessed::Later(self.sleep(request.at)),
            Some(slot) => self.hit_under_miss(slot, now, &request, stream),
            None => {
                return match self.miss(now, &request, stream) {
                    Some(step) => Accessed::Miss(step),
                    None => Accessed::Later(self.block(now)),
                };
            }
        }
        Accessed::Done
    }

    #[inline(always)]
    fn hit(&mut self, slot: usize, request: &Request, stream: &mut Stream) {
        debug_assert!(self.accessed_at <= request.at);
        self.accessed_at = request.at;
        self.l1.touch(slot);
        if request.access.writes() {
            self.l1.make_dirty(slot);
        }
        if let Order::Chain(chain) = request.order {
            stream.chain_ready[usize::from(chain)] = request.at + self.l1_ps;
        }
    }

    /// An access to a line that was on its way when it was last looked at.
    ///
    /// A store that finds its line on the way joins the miss at no cost.
    #[inline(never)]
    fn hit_under_miss(
        &mut self,
        slot: usize,
        now: Picoseconds,
        request: &Request,
        stream: &mut Stream,
    ) {
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.touch(request.line);
        }
        let Some(miss) = self.misses.find(request.line, now) else {
            self.l1.complete(slot);
            return self.hit(slot, request, stream);
        };
        self.l1.touch(slot);
        if request.access.writes() {
            self.l1.make_dirty(slot);
        }
        if request.access.reads() {
            if !miss.load {
                miss.load = true;
                miss.position = request.position;
            }
            if let Some(chain) = request.order.chain() {
                stream.chain_ready[chain] = miss.data_at;
                if miss.data_at == NEVER {
                    miss.chains |= 1 << chain;
                }
            }
        }
    }

    /// `None` when there is no room for another miss.
    #[inline(never)]
    fn miss(&mut self, now: Picoseconds, request: &Request, stream: &mut Stream) -> Option<Step> {
        let load = request.access.reads();
        let pool = if load { Pool::Loads } else { Pool::Stores };
        let entry = self.misses.free(pool, now)?;
        let evicted = self.take_place(now, request.line, request.access.writes())?;
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.touch(request.line);
        }
        let chain = if load { request.order.chain() } else { None };
        if let Some(chain) = chain {
            stream.chain_ready[chain] = NEVER;
        }
        *self.misses.entry(entry) = Miss {
            line: request.line,
            data_at: NEVER,
            evicted_at: if evicted.is_some() { NEVER } else { 0 },
            chains: chain.map_or(0, |chain| 1 << chain),
            load,
            is_best_effort: stream.is_best_effort,
            position: request.position,
        };
        Some(Step::Miss {
            entry,
            line: request.line,
            evicted,
        })
    }

    /// Puts `line`, which is to come, into the L1: the dirty line that it
    /// replaces, if any. `None` when every line of its set is on its way.
    fn take_place(&mut self, now: Picoseconds, line: u64, dirty: bool) -> Option<Option<u64>> {
        debug_assert!(self.accessed_at <= now);
        let misses = &self.misses;
        let on_its_way = |line| misses.is_on_its_way(line, now);
        let place = self.l1.choose(line, WayMask::ALL, on_its_way)?;
        self.l1.put(place, line, dirty, true);
        let evicted = place.victim.filter(|victim| victim.dirty);
        Some(evicted.map(|victim| victim.line))
    }

    /// Fetches the next line that the prefetcher wants, if there is one and room for it.
    #[inline(always)]
    fn prefetch(&mut self, now: Picoseconds, is_best_effort: bool) -> Option<Step> {
        let mut line = self.prefetcher.as_mut()?.wanted()?;
        while self.l1.peek(line).is_some() {
            line = self.prefetcher.as_mut()?.wanted()?;
        }
        let step = self.fetch_ahead(now, line, is_best_effort);
        if step.is_none() {
            self.prefetcher.as_mut()?.no_room();
        }
        step
    }

    fn fetch_ahead(&mut self, now: Picoseconds, line: u64, is_best_effort: bool) -> Option<Step> {
        let entry = self.misses.free(Pool::Prefetches, now)?;
        let (in_l1, evicted) = match self.prefetcher.as_ref()?.fills {
            PrefetchLevel::L1 => (line, self.take_place(now, line, false)?),
            PrefetchLevel::Llc => (u64::MAX, None),
        };
        *self.misses.entry(entry) = Miss {
            line: in_l1,
            data_at: NEVER,
            evicted_at: if evicted.is_some() { NEVER } else { 0 },
            chains: 0,
            load: false,
            is_best_effort,
            position: 0,
        };
        Some(Step::Miss {
            entry,
            line,
            evicted,
        })
    }

    fn sleep(&mut self, until: Picoseconds) -> Step {
        self.wake_at = until;
        Step::Sleep(until)
    }

    /// Sleeps until an entry changes.
    #[inline(never)]
    fn block(&mut self, now: Picoseconds) -> Step {
        self.blocked = true;
        let change = self.misses.next_change(now);
        self.sleep(change.unwrap_or(NEVER))
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
