//! Requests that wait in a controller, by bank and age.

use super::address::Place;

const NONE: u16 = u16::MAX;

/// One request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) line: u64,
    pub(super) row: u32,
    pub(super) id: u32,
    /// Order of arrival in the channel.
    pub(super) age: u64,
    /// Column commands still to be issued.
    pub(super) bursts_left: u32,
    next: u16,
}

#[derive(Debug, Clone, Copy)]
struct BankList {
    head: u16,
    tail: u16,
    /// Oldest request for the open row.
    hit: u16,
    /// Oldest request for another row.
    miss: u16,
    /// Ages of these two, while there are such.
    hit_age: u64,
    miss_age: u64,
}

/// A queue of fixed capacity: per bank a list in order of arrival, its oldest
/// row hit and its oldest row miss at hand.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    requests: Vec<Request>,
    lists: Vec<BankList>,
    free: u16,
    len: u32,
    /// Banks, as a bit each, that have a request for their open row.
    pub(super) hits: u64,
    /// Banks that have a request for another row.
    pub(super) misses: u64,
}

impl Queue {
    pub(super) fn new(capacity: u32, banks: usize) -> Self {
        let capacity = capacity as u16;
        let requests = (0..capacity)
            .map(|i| Request {
                line: 0,
                row: 0,
                id: 0,
                age: 0,
                bursts_left: 0,
                next: if i + 1 < capacity { i + 1 } else { NONE },
            })
            .collect();
        let empty = BankList {
            head: NONE,
            tail: NONE,
            hit: NONE,
            miss: NONE,
            hit_age: 0,
            miss_age: 0,
        };
        Self {
            requests,
            lists: vec![empty; banks],
            free: 0,
            len: 0,
            hits: 0,
            misses: 0,
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

    /// Adds a request; the queue is not full. Whether it is the bank's oldest hit or oldest miss.
    pub(super) fn push(
        &mut self,
        place: Place,
        open_row: Option<u32>,
        request: NewRequest,
    ) -> bool {
        let slot = self.free;
        let entry = &mut self.requests[usize::from(slot)];
        self.free = entry.next;
        *entry = Request {
            line: request.line,
            row: place.row,
            id: request.id,
            age: request.age,
            bursts_left: request.bursts,
            next: NONE,
        };
        self.len += 1;
        let list = &mut self.lists[usize::from(place.bank)];
        if list.head == NONE {
            list.head = slot;
        } else {
            self.requests[usize::from(list.tail)].next = slot;
        }
        list.tail = slot;
        let bank = 1 << place.bank;
        if open_row == Some(place.row) {
            if self.hits & bank == 0 {
                self.hits |= bank;
                (list.hit, list.hit_age) = (slot, request.age);
                return true;
            }
        } else if self.misses & bank == 0 {
            self.misses |= bank;
            (list.miss, list.miss_age) = (slot, request.age);
            return true;
        }
        false
    }

    /// Age of the oldest hit of a bank in [`Self::hits`].
    #[inline]
    pub(super) fn hit_age(&self, bank: usize) -> u64 {
        self.lists[bank].hit_age
    }

    /// Age of the oldest miss of a bank in [`Self::misses`].
    #[inline]
    pub(super) fn miss_age(&self, bank: usize) -> u64 {
        self.lists[bank].miss_age
    }

    /// Row of the oldest miss of a bank in [`Self::misses`].
    pub(super) fn miss_row(&self, bank: usize) -> u32 {
        self.requests[usize::from(self.lists[bank].miss)].row
    }

    /// Counts one burst of the oldest hit of a bank in [`Self::hits`]; the
    /// request that is complete leaves the queue.
    pub(super) fn serve_hit(&mut self, bank: usize) -> Option<Request> {
        let slot = self.lists[bank].hit;
        let request = &mut self.requests[usize::from(slot)];
        request.bursts_left -= 1;
        if request.bursts_left > 0 {
            return None;
        }
        let done = *request;
        self.unlink(bank, slot);
        self.requests[usize::from(slot)].next = self.free;
        self.free = slot;
        self.len -= 1;
        self.find_hit(bank, done.next, done.row);
        Some(done)
    }

    /// Finds the oldest request for `row` from `slot` on.
    fn find_hit(&mut self, bank: usize, mut slot: u16, row: u32) {
        while let Some(request) = self.requests.get(usize::from(slot)) {
            if request.row == row {
                self.hits |= 1 << bank;
                (self.lists[bank].hit, self.lists[bank].hit_age) = (slot, request.age);
                return;
            }
            slot = request.next;
        }
        self.hits &= !(1 << bank);
    }

    fn unlink(&mut self, bank: usize, slot: u16) {
        let list = &mut self.lists[bank];
        let next = self.requests[usize::from(slot)].next;
        if list.head == slot {
            list.head = next;
            return;
        }
        let mut before = list.head;
        while self.requests[usize::from(before)].next != slot {
            before = self.requests[usize::from(before)].next;
        }
        self.requests[usize::from(before)].next = next;
        if next == NONE {
            list.tail = before;
        }
    }

    /// Every request of the bank is a miss now: its row was closed.
    pub(super) fn close(&mut self, bank: usize) {
        self.hits &= !(1 << bank);
        let list = &mut self.lists[bank];
        if let Some(oldest) = self.requests.get(usize::from(list.head)) {
            self.misses |= 1 << bank;
            (list.miss, list.miss_age) = (list.head, oldest.age);
        }
    }

    /// Sorts the bank's requests into hits and misses: `row` was opened.
    pub(super) fn open(&mut self, bank: usize, row: u32) {
        self.find_hit(bank, self.lists[bank].head, row);
        self.misses &= !(1 << bank);
        let mut slot = self.lists[bank].head;
        while let Some(request) = self.requests.get(usize::from(slot)) {
            if request.row != row {
                self.misses |= 1 << bank;
                (self.lists[bank].miss, self.lists[bank].miss_age) = (slot, request.age);
                return;
            }
            slot = request.next;
        }
    }

    /// Whether a request for `line`, which lives in `bank`, waits here.
    #[inline]
    pub(super) fn contains(&self, bank: usize, line: u64) -> bool {
        if (self.hits | self.misses) >> bank & 1 == 0 {
            return false;
        }
        let mut slot = self.lists[bank].head;
        while let Some(request) = self.requests.get(usize::from(slot)) {
            if request.line == line {
                return true;
            }
            slot = request.next;
        }
        false
    }
}

/// What [`Queue::push`] stores beside the place.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewRequest {
    pub(super) line: u64,
    pub(super) id: u32,
    pub(super) age: u64,
    pub(super) bursts: u32,
}
