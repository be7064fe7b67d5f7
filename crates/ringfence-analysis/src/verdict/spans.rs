//! Conditions that hold over stretches of time.

use std::collections::BTreeMap;

use crate::case::Interval;

/// Joins the stretches in which a condition holds without a gap.
#[derive(Debug)]
pub(super) struct Spans<K, V> {
    open: BTreeMap<K, (V, Interval)>,
    closed: Vec<(K, V, Interval)>,
}

impl<K, V> Default for Spans<K, V> {
    fn default() -> Self {
        Self {
            open: BTreeMap::new(),
            closed: Vec::new(),
        }
    }
}

impl<K: Ord + Copy, V: Copy> Spans<K, V> {
    /// The condition `key` holds in `interval`, which begins no earlier than
    /// the one before of the same key ended. `value` is kept from the first.
    pub(super) fn hold(&mut self, key: K, value: V, interval: Interval) {
        if let Some((_, span)) = self.open.get_mut(&key)
            && span.to_ns == interval.from_ns
        {
            span.to_ns = interval.to_ns;
            return;
        }
        if let Some((value, span)) = self.open.insert(key, (value, interval)) {
            self.closed.push((key, value, span));
        }
    }

    /// All stretches, in no particular order of time.
    pub(super) fn finish(self) -> impl Iterator<Item = (K, V, Interval)> {
        let open = self
            .open
            .into_iter()
            .map(|(key, (value, span))| (key, value, span));
        self.closed.into_iter().chain(open)
    }
}

/// The union of intervals in any order: disjoint, not adjacent, in the order of time.
pub(super) fn union(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.retain(|interval| interval.from_ns < interval.to_ns);
    intervals.sort_unstable_by_key(|interval| interval.from_ns);
    let mut union: Vec<Interval> = Vec::with_capacity(intervals.len());
    for interval in intervals {
        match union.last_mut() {
            Some(last) if interval.from_ns <= last.to_ns => {
                last.to_ns = last.to_ns.max(interval.to_ns);
            }
            _ => union.push(interval),
        }
    }
    union
}
