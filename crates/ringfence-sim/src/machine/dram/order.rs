//! Which request goes first: the schedulers.
//!
//! Among the commands that are legal in the earliest clock the controller
//! issues the one of least *order*. The order of a request is its age, below a
//! class that the scheduler gives it.

use ringfence_scenario::platform::Scheduler;

use super::command::Cycle;
use super::queue::Request;

/// Order of commands for a row that was opened for a request, before all others ...
pub(super) const PROMISED: u64 = 0;
/// ... of refreshes ...
pub(super) const REFRESH: u64 = 1;
/// ... and of the first request.
pub(super) const FIRST_AGE: u64 = 2;

/// Bits of an order; the rest of a 64-bit key holds a distance in clocks.
pub(super) const ORDER_BITS: u32 = 44;
/// Class of requests for a row that is not open, where row hits go first.
const MISS: u64 = 1 << (ORDER_BITS - 2);
/// Class of requests of sources on the blacklist.
const BLACKLISTED: u64 = 1 << (ORDER_BITS - 1);
/// Sources that a blacklist tells apart; a source's number counts modulo this.
const SOURCES: usize = 512;
const NEVER: Cycle = Cycle::MAX;

/// A scheduler's state.
#[derive(Debug, Clone)]
pub(super) struct Ordering {
    /// What a miss adds to its order.
    miss: u64,
    /// Row hits of a bank that may go before an older miss.
    hit_cap: u32,
    has_one_first: bool,
    blacklist: Option<Box<Blacklist>>,
}

/// The blacklist of Subramanian et al., "The Blacklisting Memory Scheduler"
/// (ICCD 2014), section 4: a source that is served `streak` requests in a row
/// goes on it, and every `clear` clocks it is emptied.
#[derive(Debug, Clone)]
struct Blacklist {
    streak: u32,
    clear: Cycle,
    clear_at: Cycle,
    last_source: u16,
    /// Requests of it in a row.
    served: u32,
    members: [u64; SOURCES / 64],
    is_empty: bool,
}

impl Ordering {
    pub(super) fn new(scheduler: Scheduler) -> Self {
        let plain = Self {
            miss: 0,
            hit_cap: u32::MAX,
            has_one_first: false,
            blacklist: None,
        };
        match scheduler {
            Scheduler::FrFcfs => plain,
            Scheduler::FrFcfsCap { hits } => Self {
                hit_cap: hits,
                ..plain
            },
            Scheduler::RowHitFirst => Self {
                miss: MISS,
                has_one_first: true,
                ..plain
            },
            Scheduler::Blacklist { streak, clear } => Self {
                miss: MISS,
                has_one_first: true,
                blacklist: Some(Box::new(Blacklist {
                    streak,
                    clear: clear.into(),
                    clear_at: clear.into(),
                    last_source: 0,
                    served: 0,
                    members: [0; SOURCES / 64],
                    is_empty: true,
                })),
                ..plain
            },
        }
    }

    /// Whether requests of the same row are in order of age at present.
    #[inline]
    pub(super) fn is_by_age(&self) -> bool {
        self.blacklist.as_ref().is_none_or(|list| list.is_empty)
    }

    /// Row hits of a bank that may go before an older request for another row.
    #[inline]
    pub(super) fn hit_cap(&self) -> u32 {
        self.hit_cap
    }

    /// Whether a bank works for its first request alone: a row stays open for a
    /// hit that goes before every miss, and no other hit keeps it open.
    #[inline]
    pub(super) fn has_one_first(&self) -> bool {
        self.has_one_first
    }

    /// Order of a request: less goes first.
    #[inline]
    pub(super) fn of(&self, request: &Request, is_hit: bool) -> u64 {
        let class = if is_hit { 0 } else { self.miss };
        match &self.blacklist {
            Some(list) if list.contains(request.source) => request.age | class | BLACKLISTED,
            _ => request.age | class,
        }
    }

    /// A request of `source` was served at `now`; whether the order of requests has changed.
    #[inline]
    pub(super) fn served(&mut self, now: Cycle, source: u16) -> bool {
        self.blacklist
            .as_mut()
            .is_some_and(|list| list.advance(now) | list.served(source))
    }

    /// When the order of requests changes next by time alone.
    #[inline]
    pub(super) fn changes_at(&self) -> Cycle {
        match &self.blacklist {
            Some(list) if !list.is_empty => list.clear_at,
            _ => NEVER,
        }
    }

    /// Does what is due at `now`; whether the order of requests has changed.
    #[inline]
    pub(super) fn advance(&mut self, now: Cycle) -> bool {
        self.blacklist
            .as_mut()
            .is_some_and(|list| list.advance(now))
    }
}

impl Blacklist {
    #[inline]
    fn contains(&self, source: u16) -> bool {
        let source = usize::from(source) % SOURCES;
        self.members[source / 64] >> (source % 64) & 1 != 0
    }

    fn served(&mut self, source: u16) -> bool {
        if source != self.last_source {
            self.last_source = source;
            self.served = 0;
        }
        self.served += 1;
        if self.served < self.streak {
            return false;
        }
        self.served = 0;
        if self.contains(source) {
            return false;
        }
        let source = usize::from(source) % SOURCES;
        self.members[source / 64] |= 1 << (source % 64);
        self.is_empty = false;
        true
    }

    fn advance(&mut self, now: Cycle) -> bool {
        if now < self.clear_at {
            return false;
        }
        self.clear_at = (now / self.clear + 1) * self.clear;
        let changed = !self.is_empty;
        self.members = [0; SOURCES / 64];
        self.is_empty = true;
        changed
    }
}
