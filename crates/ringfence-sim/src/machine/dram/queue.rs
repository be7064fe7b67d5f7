//! Requests that wait in a controller, by bank and age.

use super::device::MAX_BANKS;
use super::order::{Ordering, PROMISED};

const NONE: u16 = u16::MAX;

/// One request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Request {
    pub(super) line: u64,
    pub(super) row: u32,
    pub(super) id: u32,
    /// Order of arrival in the channel.
    pub(super) age: u64,
    /// Column commands still to be issued.
    pub(super) bursts_left: u32,
    /// Who sent it.
    pub(super) source: u16,
}

/// A request's neighbours in its bank's list.
#[derive(Debug, Clone, Copy)]
struct Link {
    before: u16,
    next: u16,
}

/// The requests of one bank in order of arrival, and those that are first by the scheduler's order.
#[derive(Debug, Clone, Copy)]
struct BankList {
    head: u16,
    tail: u16,
    /// First request for the open row.
    hit: u16,
    /// First request for another row.
    miss: u16,
}

/// A queue of fixed capacity: per bank a list in order of arrival, its first
/// row hit and its first row miss at hand.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    requests: Vec<Request>,
    links: Vec<Link>,
    lists: [BankList; MAX_BANKS],
    /// Order of the first hit of a bank in [`Self::hits`], see [`Ordering`].
    pub(super) hit_order: [u64; MAX_BANKS],
    /// Order of the first miss of a bank in [`Self::misses`].
    pub(super) miss_order: [u64; MAX_BANKS],
    free: u16,
    len: u32,
    /// Banks, as a bit each, that have a request for their open row.
    pub(super) hits: u64,
    /// Banks that have a request for another row.
    pub(super) misses: u64,
    /// Banks whose first hit goes before their first miss, where only one of the two counts ...
    pub(super) held: u64,
    /// ... and banks whose first miss does.
    pub(super) outranked: u64,
}

impl Queue {
    pub(super) fn new(capacity: u32) -> Self {
        let capacity = capacity as u16;
        let link = |slot: u16| Link {
            before: NONE,
            next: if slot + 1 < capacity { slot + 1 } else { NONE },
        };
        let empty = BankList {
            head: NONE,
            tail: NONE,
            hit: NONE,
            miss: NONE,
        };
        Self {
            requests: vec![Request::default(); capacity.into()],
            links: (0..capacity).map(link).collect(),
            lists: [empty; MAX_BANKS],
            hit_order: [0; MAX_BANKS],
            miss_order: [0; MAX_BANKS],
            free: 0,
            len: 0,
            hits: 0,
            misses: 0,
            held: 0,
            outranked: 0,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.free == NONE
    }

    /// Adds a request; the queue is not full. Whether it is the bank's first hit or first miss.
    #[inline]
    pub(super) fn push(
        &mut self,
        ordering: &Ordering,
        bank: usize,
        open_row: Option<u32>,
        request: Request,
    ) -> bool {
        let slot = self.free;
        let list = &mut self.lists[bank];
        let tail = std::mem::replace(&mut list.tail, slot);
        let link = &mut self.links[usize::from(slot)];
        self.free = link.next;
        *link = Link {
            before: tail,
            next: NONE,
        };
        self.requests[usize::from(slot)] = request;
        if tail == NONE {
            list.head = slot;
        } else {
            self.links[usize::from(tail)].next = slot;
        }
        self.len += 1;
        let is_hit = open_row == Some(request.row);
        let (set, first, first_order) = if is_hit {
            (&mut self.hits, &mut list.hit, &mut self.hit_order[bank])
        } else {
            (&mut self.misses, &mut list.miss, &mut self.miss_order[bank])
        };
        let order = ordering.of(&request, is_hit);
        let is_first = *set >> bank & 1 == 0 || order < *first_order;
        if is_first {
            *set |= 1 << bank;
            (*first, *first_order) = (slot, order);
            self.rank(ordering, bank);
        }
        is_first
    }

    /// Row of the first miss of a bank in [`Self::misses`].
    pub(super) fn miss_row(&self, bank: usize) -> u32 {
        self.requests[usize::from(self.lists[bank].miss)].row
    }

    /// Finds out anew whether hit or miss counts in the bank.
    #[inline]
    fn rank(&mut self, ordering: &Ordering, bank: usize) {
        if ordering.has_one_first() {
            let bit = 1 << bank;
            let both = self.hits & self.misses & bit;
            (self.held, self.outranked) = (self.held & !bit, self.outranked & !bit);
            if self.hit_order[bank] < self.miss_order[bank] {
                self.held |= both;
            } else {
                self.outranked |= both;
            }
        }
    }

    /// Counts one burst of the first hit of a bank in [`Self::hits`]; the
    /// request that is complete leaves the queue.
    #[inline]
    pub(super) fn serve_hit(&mut self, ordering: &Ordering, bank: usize) -> Option<Request> {
        let slot = self.lists[bank].hit;
        let request = &mut self.requests[usize::from(slot)];
        request.bursts_left -= 1;
        if request.bursts_left > 0 {
            return None;
        }
        let done = *request;
        let next = self.remove(bank, slot);
        // In order of age all hits before this one are served already.
        let from = if ordering.is_by_age() {
            next
        } else {
            self.lists[bank].head
        };
        self.find_hit(ordering, bank, from, done.row);
        self.rank(ordering, bank);
        Some(done)
    }

    /// The row of `bank` was opened for its first hit, which goes before all others now.
    #[inline]
    pub(super) fn promise(&mut self, bank: usize) {
        self.hit_order[bank % MAX_BANKS] = PROMISED;
        self.outranked &= !(1 << bank);
    }

    /// Takes a request out; returns the one behind it.
    #[inline]
    fn remove(&mut self, bank: usize, slot: u16) -> u16 {
        let Link { before, next } = self.links[usize::from(slot)];
        let list = &mut self.lists[bank];
        match self.links.get_mut(usize::from(before)) {
            Some(link) => link.next = next,
            None => list.head = next,
        }
        match self.links.get_mut(usize::from(next)) {
            Some(link) => link.before = before,
            None => list.tail = before,
        }
        self.links[usize::from(slot)].next = self.free;
        self.free = slot;
        self.len -= 1;
        next
    }

    /// The first request from `slot` on of which `wanted` is true, and its order.
    #[inline]
    fn find(
        &self,
        ordering: &Ordering,
        mut slot: u16,
        is_hit: bool,
        wanted: impl Fn(&Request) -> bool,
    ) -> Option<(u16, u64)> {
        let mut first = None;
        while let Some(request) = self.requests.get(usize::from(slot)) {
            if wanted(request) {
                let order = ordering.of(request, is_hit);
                if first.is_none_or(|(_, least)| order < least) {
                    first = Some((slot, order));
                }
                if ordering.is_by_age() {
                    break;
                }
            }
            slot = self.links[usize::from(slot)].next;
        }
        first
    }

    #[inline]
    fn find_hit(&mut self, ordering: &Ordering, bank: usize, from: u16, row: u32) {
        match self.find(ordering, from, true, |request| request.row == row) {
            Some((slot, order)) => {
                self.hits |= 1 << bank;
                (self.lists[bank].hit, self.hit_order[bank]) = (slot, order);
            }
            None => self.hits &= !(1 << bank),
        }
    }

    #[inline]
    fn find_miss(&mut self, ordering: &Ordering, bank: usize, wanted: impl Fn(&Request) -> bool) {
        match self.find(ordering, self.lists[bank].head, false, wanted) {
            Some((slot, order)) => {
                self.misses |= 1 << bank;
                (self.lists[bank].miss, self.miss_order[bank]) = (slot, order);
            }
            None => self.misses &= !(1 << bank),
        }
    }

    /// Sorts the bank's requests into hits and misses of its open row, if one is open.
    #[inline]
    pub(super) fn sort(&mut self, ordering: &Ordering, bank: usize, open_row: Option<u32>) {
        match open_row {
            Some(row) => {
                self.find_hit(ordering, bank, self.lists[bank].head, row);
                self.find_miss(ordering, bank, |request| request.row != row);
            }
            None => {
                self.hits &= !(1 << bank);
                self.find_miss(ordering, bank, |_| true);
            }
        }
        self.rank(ordering, bank);
    }

    /// Whether a request for `bank` waits here.
    #[inline]
    pub(super) fn is_waiting(&self, bank: usize) -> bool {
        (self.hits | self.misses) >> bank & 1 != 0
    }

    /// Whether a request for `line`, which lives in `bank`, waits here.
    #[inline]
    pub(super) fn contains(&self, bank: usize, line: u64) -> bool {
        let mut slot = self.lists[bank % MAX_BANKS].head;
        while let Some(request) = self.requests.get(usize::from(slot)) {
            if request.line == line {
                return true;
            }
            slot = self.links[usize::from(slot)].next;
        }
        false
    }
}
