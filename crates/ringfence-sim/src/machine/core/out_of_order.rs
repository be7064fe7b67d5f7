//! Issue out of program order.
//!
//! The core dispatches in program order, at its own rate, and holds what it has
//! begun in a window: once it is a whole window past the oldest load that waits
//! for its data, it stalls. Karkhanis and Smith, "A First-Order Superscalar
//! Processor Model" (ISCA 2004), show that this decides what a long miss costs.
//! An access whose address comes from such a load is deferred and lets later
//! ones pass.

use super::access::{Accessed, Request};
use super::window::Deferred;
use super::{Core, NEVER, Picoseconds, Reason, Step, Stream};
use crate::program::{Op, Order};

impl Core {
    pub(super) fn run_out_of_order(
        &mut self,
        window_ps: Picoseconds,
        now: Picoseconds,
        limit: Picoseconds,
        stream: &mut Stream,
    ) -> Step {
        loop {
            if self.prefetch(now, stream.is_best_effort) {
                return Step::Miss;
            }
            // A reply that nobody has sent yet may let a deferred access go first.
            let limit = match stream.window.is_empty() {
                true => limit,
                false => limit.min(now + self.reply_ps),
            };
            let ready = stream.window.first_ready(&stream.chain_ready);
            let ready = ready.map(|(chain, at)| (chain, at.max(now).max(self.started_at)));
            if let Some((chain, at)) = ready
                && at <= self.time
                && at < self.interrupt_at
            {
                if at >= limit {
                    return self.sleep(at);
                }
                match self.issue_deferred(chain, at, now, stream) {
                    Accessed::Done => continue,
                    Accessed::Miss => return Step::Miss,
                    Accessed::Later(step) => return step,
                }
            }
            if self.is_full(window_ps, stream)
                || is_at_end(stream)
                || self.fetch_ends(stream).is_some()
            {
                match self.wait(now, ready.map(|(_, at)| at), stream) {
                    Some(step) => return step,
                    None => continue,
                }
            }
            let op = match self.dispatch(now, limit, stream) {
                Ok(op) => op,
                Err(Some(step)) => return step,
                Err(None) => continue,
            };
            match self.issue_or_defer(&op, now, stream) {
                Accessed::Later(step) => return step,
                accessed => {
                    self.dispatched(stream);
                    if let Accessed::Miss = accessed {
                        return Step::Miss;
                    }
                }
            }
        }
    }

    /// Waits until more can be dispatched or issued: the step until then, if
    /// time has to pass outside the core.
    fn wait(
        &mut self,
        now: Picoseconds,
        ready: Option<Picoseconds>,
        stream: &mut Stream,
    ) -> Option<Step> {
        if self.time >= self.interrupt_at {
            return Some(self.stop(now, Reason::Interrupted));
        }
        match self.next_progress(ready, stream) {
            Some(at) => {
                self.time = at;
                None
            }
            None => Some(self.block_until(now, ready)),
        }
    }

    /// Issues the access that is dispatched, or defers it until its address is known.
    fn issue_or_defer(&mut self, op: &Op, now: Picoseconds, stream: &mut Stream) -> Accessed {
        let mut request = Request::new(op, self.time, stream);
        match op.order {
            Order::Chain(chain) if self.must_wait(chain.into(), stream) => {
                let deferred = Deferred {
                    line: op.line,
                    access: op.access,
                    dispatched_at: self.time,
                    position: request.position,
                };
                stream.window.defer(chain.into(), deferred);
                return Accessed::Done;
            }
            // Which loads depend on which is unknown: none do.
            Order::AfterMisses => request.order = Order::Independent,
            _ => {}
        }
        let accessed = self.access(now, request, stream);
        if !matches!(accessed, Accessed::Later(_)) {
            stream.executed();
        }
        accessed
    }

    /// Issues the next deferred access of `chain` at `at`.
    fn issue_deferred(
        &mut self,
        chain: usize,
        at: Picoseconds,
        now: Picoseconds,
        stream: &mut Stream,
    ) -> Accessed {
        let deferred = stream.window.front(chain);
        let request = Request {
            line: deferred.line,
            access: deferred.access,
            order: Order::Chain(chain as u8),
            at,
            position: deferred.position,
        };
        let accessed = self.access(now, request, stream);
        if !matches!(accessed, Accessed::Later(_)) {
            stream.window.pop(chain);
            stream.executed();
        }
        accessed
    }

    /// Whether the core is a whole window past the oldest load that waits.
    fn is_full(&mut self, window_ps: Picoseconds, stream: &Stream) -> bool {
        let position = stream.window.position;
        if position < self.room_until {
            return false;
        }
        // Loads to come are not older than this position.
        let oldest = self.oldest_waiting(stream);
        self.room_until = window_ps + oldest.map_or(position, |(position, _)| position);
        position >= self.room_until
    }

    /// Position of the oldest load that waits for its data, or for its turn,
    /// and when it has it; `NEVER` while that is unknown.
    fn oldest_waiting(&self, stream: &Stream) -> Option<(Picoseconds, Picoseconds)> {
        let issued = self.misses.loads().filter(|miss| miss.data_at > self.time);
        let issued = issued.map(|miss| (miss.position, miss.data_at)).min();
        let deferred = stream.window.oldest(&stream.chain_ready);
        issued.into_iter().chain(deferred).min()
    }

    /// When a core that can dispatch nothing goes on; `None` while that is unknown.
    ///
    /// `ready` is when the first deferred access may issue.
    fn next_progress(
        &self,
        ready: Option<Picoseconds>,
        stream: &mut Stream,
    ) -> Option<Picoseconds> {
        if is_at_end(stream) {
            return ready;
        }
        if let Some(at) = self.fetch_ends(stream) {
            return Some(at).filter(|&at| at != NEVER);
        }
        let at = self.oldest_waiting(stream).map(|(_, at)| at);
        at.filter(|&at| at != NEVER)
    }

    /// Sleeps until an entry changes, or until `ready` if that is known.
    fn block_until(&mut self, now: Picoseconds, ready: Option<Picoseconds>) -> Step {
        self.block(now);
        self.sleep(self.wake_at.min(ready.unwrap_or(NEVER)))
    }

    fn must_wait(&self, chain: usize, stream: &Stream) -> bool {
        stream.window.has(chain) || stream.chain_ready[chain] > self.time
    }
}

/// Whether all that is left of the stream's job is deferred.
fn is_at_end(stream: &mut Stream) -> bool {
    !stream.window.is_empty() && stream.peek().is_none()
}
