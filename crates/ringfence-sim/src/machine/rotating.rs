//! A queue that serves its sources in turn.

/// End of a list.
const NONE: u32 = u32::MAX;

/// The links of all requests of one kind; a request is in one queue at most.
#[derive(Debug, Clone)]
pub(super) struct Links {
    next: Vec<u32>,
    ready: Vec<u64>,
}

impl Links {
    pub(super) fn new(requests: usize) -> Self {
        Self {
            next: vec![NONE; requests],
            ready: vec![0; requests],
        }
    }
}

/// One first-in first-out list per source (a core), served round robin.
///
/// After a source was served the one behind it has the first claim, so that no
/// source waits for more than one request of every other source.
#[derive(Debug, Clone)]
pub(super) struct RotatingQueue {
    heads: Vec<u32>,
    tails: Vec<u32>,
    /// Source with the first claim.
    turn: u32,
    /// When the first request of any source is ready; `u64::MAX` when empty.
    earliest: u64,
}

impl RotatingQueue {
    pub(super) fn new(sources: usize) -> Self {
        Self {
            heads: vec![NONE; sources],
            tails: vec![NONE; sources],
            turn: 0,
            earliest: u64::MAX,
        }
    }

    /// When the next request is ready; `u64::MAX` when there is none.
    #[inline]
    pub(super) fn earliest(&self) -> u64 {
        self.earliest
    }

    /// Appends a request that is not ready before the source's earlier ones.
    #[inline]
    pub(super) fn push(&mut self, links: &mut Links, source: usize, request: u32, ready: u64) {
        links.next[request as usize] = NONE;
        links.ready[request as usize] = ready;
        if self.heads[source] == NONE {
            self.heads[source] = request;
            self.earliest = self.earliest.min(ready);
        } else {
            links.next[self.tails[source] as usize] = request;
        }
        self.tails[source] = request;
    }

    /// The request that [`Self::pop`] would take at `now`, and its source.
    #[inline]
    pub(super) fn peek(&self, links: &Links, now: u64) -> Option<(usize, u32)> {
        let turn = self.turn as usize;
        (turn..self.heads.len())
            .chain(0..turn)
            .map(|source| (source, self.heads[source]))
            .find(|&(_, head)| head != NONE && links.ready[head as usize] <= now)
    }

    /// Takes the request that [`Self::peek`] showed.
    #[inline]
    pub(super) fn pop(&mut self, links: &Links, source: usize) {
        self.heads[source] = links.next[self.heads[source] as usize];
        self.turn = if source + 1 == self.heads.len() {
            0
        } else {
            source as u32 + 1
        };
        self.earliest = self
            .heads
            .iter()
            .filter(|&&head| head != NONE)
            .map(|&head| links.ready[head as usize])
            .min()
            .unwrap_or(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_take_turns_and_requests_wait_until_they_are_ready() {
        let mut links = Links::new(8);
        let mut queue = RotatingQueue::new(3);
        for (source, request, ready) in [(0, 0, 5), (0, 1, 6), (0, 2, 7), (2, 3, 6), (1, 4, 20)] {
            queue.push(&mut links, source, request, ready);
        }
        assert_eq!(queue.earliest(), 5);
        assert_eq!(queue.peek(&links, 4), None);
        let mut served = Vec::new();
        while let Some((source, request)) = queue.peek(&links, 10) {
            queue.pop(&links, source);
            served.push(request);
        }
        assert_eq!(served, [0, 3, 1, 2]);
        assert_eq!(queue.earliest(), 20);
    }
}
