//! A queue that serves its sources in turn.

/// End of a list.
const NONE: u32 = u32::MAX;

/// A request that waits: when it is ready, and the one behind it.
#[derive(Debug, Clone, Copy)]
struct Link {
    ready: u64,
    next: u32,
}

/// The links of all requests of one kind; a request is in one queue at most.
#[derive(Debug, Clone)]
pub(super) struct Links(Vec<Link>);

impl Links {
    pub(super) fn new(requests: usize) -> Self {
        let link = Link {
            ready: 0,
            next: NONE,
        };
        Self(vec![link; requests])
    }
}

/// The list of one source.
#[derive(Debug, Clone, Copy)]
struct Source {
    /// When the first request is ready; `u64::MAX` when there is none.
    ready: u64,
    head: u32,
    tail: u32,
}

/// One first-in first-out list per source (a core), served round robin.
///
/// After a source was served the one behind it has the first claim, so that no
/// source waits for more than one request of every other source.
#[derive(Debug, Clone)]
pub(super) struct RotatingQueue {
    sources: Vec<Source>,
    /// Source with the first claim.
    turn: usize,
    /// When the first request of any source is ready; `u64::MAX` when empty.
    earliest: u64,
}

impl RotatingQueue {
    pub(super) fn new(sources: usize) -> Self {
        let empty = Source {
            ready: u64::MAX,
            head: NONE,
            tail: NONE,
        };
        Self {
            sources: vec![empty; sources],
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
        links.0[request as usize] = Link { ready, next: NONE };
        let source = &mut self.sources[source];
        if source.head == NONE {
            source.head = request;
            source.ready = ready;
            self.earliest = self.earliest.min(ready);
        } else {
            links.0[source.tail as usize].next = request;
        }
        source.tail = request;
    }

    /// The request that [`Self::pop`] would take at `now`, and its source.
    #[inline]
    pub(super) fn peek(&self, now: u64) -> Option<(usize, u32)> {
        if self.earliest > now {
            return None;
        }
        let (before, from) = self.sources.split_at(self.turn);
        let is_ready = |source: &Source| source.ready <= now;
        let number = match from.iter().position(is_ready) {
            Some(position) => self.turn + position,
            None => before.iter().position(is_ready)?,
        };
        Some((number, self.sources[number].head))
    }

    /// Takes the request that [`Self::peek`] showed.
    #[inline]
    pub(super) fn pop(&mut self, links: &Links, source: usize) {
        let queued = &mut self.sources[source];
        queued.head = links.0[queued.head as usize].next;
        let next = links.0.get(queued.head as usize);
        queued.ready = next.map_or(u64::MAX, |link| link.ready);
        self.turn = if source + 1 == self.sources.len() {
            0
        } else {
            source + 1
        };
        let ready = self.sources.iter().map(|source| source.ready);
        self.earliest = ready.fold(u64::MAX, u64::min);
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
        assert_eq!(queue.peek(4), None);
        let mut served = Vec::new();
        while let Some((source, request)) = queue.peek(10) {
            queue.pop(&links, source);
            served.push(request);
        }
        assert_eq!(served, [0, 3, 1, 2]);
        assert_eq!(queue.earliest(), 20);
    }
}
