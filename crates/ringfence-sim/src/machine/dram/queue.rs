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
}

/// A queue of fixed capacity: per bank a list in order of arrival, its oldest
/// row hit and its oldest row miss at hand.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    requests: Vec<Request>,
    lists: Vec<BankList>,
    free: u16,
    len: u32,
    /// Bit `b` is set when bank `b` has a request.
    pub(super) waiting: u64,
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
        };
        Self {
            requests,
            lists: vec![empty; banks],
            free: 0,
            len: 0,
            waiting: 0,
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    pub(super) fn is_full(&self) -> bool {
        self.free == NONE
    }

    /// Adds a request; the queue is not full.
    pub(super) fn push(&mut self, place: Place, open_row: Option<u32>, request: NewRequest) {
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
        self.waiting |= 1 << place.bank;
        let list = &mut self.lists[usize::from(place.bank)];
        if list.head == NONE {
            list.head = slot;
        } else {
            self.requests[usize::from(list.tail)].next = slot;
        }
        list.tail = slot;
        let oldest = if open_row == Some(place.row) {
            &mut list.hit
        } else {
            &mut list.miss
        };
        if *oldest == NONE {
            *oldest = slot;
        }
    }

    #[inline]
    pub(super) fn hit(&self, bank: usize) -> Option<&Request> {
        self.requests.get(usize::from(self.lists[bank].hit))
    }

    #[inline]
    pub(super) fn miss(&self, bank: usize) -> Option<&Request> {
        self.requests.get(usize::from(self.lists[bank].miss))
    }

    /// Counts one burst of the bank's oldest hit; the request that is complete leaves the queue.
    pub(super) fn serve_hit(&mut self, bank: usize) -> Option<Request> {
        let slot = self.lists[bank].hit;
        let request = &mut self.requests[usize::from(slot)];
        request.bursts_left -= 1;
        if request.bursts_left > 0 {
            return None;
        }
        let done = *request;
        self.unlink(bank, slot);
        request_next_hit(&self.requests, &mut self.lists[bank], done);
        self.requests[usize::from(slot)].next = self.free;
        self.free = slot;
        self.len -= 1;
        if self.lists[bank].head == NONE {
            self.waiting &= !(1 << bank);
        }
        Some(done)
    }

    fn unlink(&mut self, bank: usize, slot: u16) {
        let list = &mut self.lists[bank];
        let next = self.requests[usize::from(slot)].next;
        if list.head == slot {
            list.head = next;
            if next == NONE {
                list.tail = NONE;
            }
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

    /// Sorts the bank's requests into hits and misses after its open row changed.
    pub(super) fn reopen(&mut self, bank: usize, open_row: Option<u32>) {
        let list = &mut self.lists[bank];
        (list.hit, list.miss) = (NONE, NONE);
        let mut slot = list.head;
        while slot != NONE && (list.hit == NONE || list.miss == NONE) {
            let request = &self.requests[usize::from(slot)];
            let oldest = if open_row == Some(request.row) {
                &mut list.hit
            } else {
                &mut list.miss
            };
            if *oldest == NONE {
                *oldest = slot;
            }
            slot = request.next;
        }
    }

    /// Whether a request for `line`, which lives in `bank`, waits here.
    pub(super) fn contains(&self, bank: usize, line: u64) -> bool {
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

/// Finds the oldest hit that is younger than the one just served.
fn request_next_hit(requests: &[Request], list: &mut BankList, served: Request) {
    list.hit = served.next;
    while let Some(request) = requests.get(usize::from(list.hit)) {
        if request.row == served.row {
            return;
        }
        list.hit = request.next;
    }
    list.hit = NONE;
}
