//! What an access does to the L1, and the misses and prefetches that follow from it.

use ringfence_scenario::platform::PrefetchLevel;

use super::misses::{Miss, Pool};
use super::prefetcher::Prefetcher;
use super::{Core, Fetch, NEVER, Picoseconds, Step};
use crate::machine::cache::WayMask;
use crate::program::{Access, Op, Order, Stream};

/// An access that goes to the L1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) line: u64,
    pub(super) access: Access,
    pub(super) order: Order,
    /// When.
    pub(super) at: Picoseconds,
    /// Place in the program order, in time of dispatch.
    pub(super) position: Picoseconds,
}

impl Request {
    pub(super) fn new(op: &Op, at: Picoseconds, stream: &Stream) -> Self {
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
pub(super) enum Accessed {
    /// It is under way and concerns nobody else.
    Done,
    /// It is under way and misses: [`Core::fetch`] says what it wants.
    Miss,
    /// Nothing happened; the core has to wait.
    Later(Step),
}

impl Core {
    #[inline(always)]
    pub(super) fn access(
        &mut self,
        now: Picoseconds,
        request: Request,
        stream: &mut Stream,
    ) -> Accessed {
        match self.l1.peek(request.line) {
            Some(slot) if self.is_hit(slot, request.at) => self.hit(slot, &request, stream),
            _ if request.at > now => return Accessed::Later(self.sleep(request.at)),
            Some(slot) => self.hit_under_miss(slot, now, &request, stream),
            None => {
                return match self.miss(now, &request, stream) {
                    Some(()) => Accessed::Miss,
                    None => Accessed::Later(self.block(now)),
                };
            }
        }
        Accessed::Done
    }

    /// Whether the line in `slot` is here and known to stay until `at`.
    #[inline(always)]
    fn is_hit(&self, slot: usize, at: Picoseconds) -> bool {
        at < self.keeps_lines_until && !self.l1.is_pending(slot)
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
                stream.is_fetching = request.order == Order::Fetch;
                stream.chain_ready[chain] = miss.data_at;
                if miss.data_at == NEVER {
                    miss.chains |= 1 << chain;
                }
            }
        }
    }

    /// `None` when there is no room for another miss.
    #[inline(never)]
    fn miss(&mut self, now: Picoseconds, request: &Request, stream: &mut Stream) -> Option<()> {
        let load = request.access.reads();
        let pool = if load { Pool::Loads } else { Pool::Stores };
        let entry = self.misses.free(pool, now)?;
        let evicted = self.take_place(now, request.line, request.access.writes())?;
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.touch(request.line);
        }
        let chain = if load { request.order.chain() } else { None };
        if let Some(chain) = chain {
            stream.is_fetching = request.order == Order::Fetch;
            stream.chain_ready[chain] = NEVER;
        }
        let miss = Miss {
            line: request.line,
            data_at: NEVER,
            evicted_at: if evicted.is_some() { NEVER } else { 0 },
            chains: chain.map_or(0, |chain| 1 << chain),
            load,
            is_best_effort: stream.is_best_effort,
            position: request.position,
        };
        self.misses.begin(pool, entry, miss);
        self.fetch = Fetch {
            entry,
            line: request.line,
            evicted,
        };
        Some(())
    }

    /// Puts `line`, which is to come, into the L1: the dirty line that it
    /// replaces, if any. `None` when every line of its set is on its way.
    fn take_place(&mut self, now: Picoseconds, line: u64, dirty: bool) -> Option<Option<u64>> {
        debug_assert!(self.accessed_at <= now);
        let misses = &mut self.misses;
        misses.catch_up(now);
        let on_its_way = |line| misses.is_on_its_way(line);
        let place = self.l1.choose(line, WayMask::ALL, on_its_way)?;
        self.l1.put(place, line, dirty, true);
        let evicted = place.victim.filter(|victim| victim.dirty);
        Some(evicted.map(|victim| victim.line))
    }

    /// Fetches the next line that the prefetcher wants; whether there is one and room for it.
    #[inline(always)]
    pub(super) fn prefetch(&mut self, now: Picoseconds, is_best_effort: bool) -> bool {
        let prefetcher = self.prefetcher.as_ref();
        prefetcher.is_some_and(Prefetcher::is_wanting)
            && self.prefetch_wanted(now, is_best_effort).is_some()
    }

    #[inline(never)]
    fn prefetch_wanted(&mut self, now: Picoseconds, is_best_effort: bool) -> Option<()> {
        let mut line = self.prefetcher.as_mut()?.wanted()?;
        while self.l1.peek(line).is_some() {
            line = self.prefetcher.as_mut()?.wanted()?;
        }
        let fetch = self.fetch_ahead(now, line, is_best_effort);
        if fetch.is_none() {
            self.prefetcher.as_mut()?.no_room();
        }
        fetch
    }

    fn fetch_ahead(&mut self, now: Picoseconds, line: u64, is_best_effort: bool) -> Option<()> {
        let fills = self.prefetcher.as_ref()?.fills;
        let entry = match fills {
            PrefetchLevel::L1 => self.misses.free(Pool::Prefetches, now)?,
            PrefetchLevel::Llc => self.misses.free_beyond_l1(now)?,
        };
        let (in_l1, evicted) = match fills {
            PrefetchLevel::L1 => (line, self.take_place(now, line, false)?),
            PrefetchLevel::Llc => (u64::MAX, None),
        };
        let miss = Miss {
            line: in_l1,
            data_at: NEVER,
            evicted_at: if evicted.is_some() { NEVER } else { 0 },
            chains: 0,
            load: false,
            is_best_effort,
            position: 0,
        };
        self.misses.begin(Pool::Prefetches, entry, miss);
        self.fetch = Fetch {
            entry,
            line,
            evicted,
        };
        Some(())
    }
}
