//! Which component acts next.

use super::Picoseconds;

/// Next event time of every component, as a winner tree.
///
/// Equal times go to the lower component number, so the order of events is total.
#[derive(Debug, Clone)]
pub(super) struct Agenda {
    /// Event times by component, padded to a power of two.
    times: Vec<Picoseconds>,
    /// `winners[i]` is the component that wins below node `i`; node 1 is the root,
    /// node `i` has the children `2 i` and `2 i + 1`.
    winners: Vec<u32>,
}

/// A component that has nothing to do.
pub(super) const NEVER: Picoseconds = Picoseconds::MAX;

impl Agenda {
    pub(super) fn new(components: usize) -> Self {
        let leaves = components.next_power_of_two().max(2);
        // All times are equal, so the leftmost leaf below a node wins it.
        let leftmost = |node: usize| {
            let depth = node.max(1).ilog2();
            ((node << (leaves.ilog2() - depth)) - leaves) as u32
        };
        Self {
            times: vec![NEVER; leaves],
            winners: (0..leaves).map(|node| leftmost(node.max(1))).collect(),
        }
    }

    /// The earliest event and its component.
    #[inline]
    pub(super) fn first(&self) -> (Picoseconds, usize) {
        let winner = self.winners[1] as usize;
        (self.times[winner], winner)
    }

    #[inline]
    pub(super) fn set(&mut self, component: usize, time: Picoseconds) {
        if self.times[component] == time {
            return;
        }
        self.times[component] = time;
        let leaves = self.times.len();
        let pair = component & !1;
        let mut winner = if self.times[pair + 1] < self.times[pair] {
            pair + 1
        } else {
            pair
        } as u32;
        let mut node = (leaves + component) / 2;
        self.winners[node] = winner;
        while node > 1 {
            let (left, right) = (self.winners[node & !1], self.winners[node | 1]);
            winner = if self.times[right as usize] < self.times[left as usize] {
                right
            } else {
                left
            };
            node /= 2;
            self.winners[node] = winner;
        }
    }

    /// Moves the component's event forward to `time` unless it is earlier already.
    #[inline]
    pub(super) fn advance(&mut self, component: usize, time: Picoseconds) {
        if time < self.times[component] {
            self.set(component, time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_event_is_the_earliest_of_the_lowest_component(
            components in 1usize..20,
            changes in prop::collection::vec((0usize..20, 0u64..8), 1..100),
        ) {
            let mut agenda = Agenda::new(components);
            let mut times = vec![NEVER; components];
            for (component, time) in changes {
                let component = component % components;
                agenda.set(component, time);
                times[component] = time;
                let first = (0..components).min_by_key(|&c| (times[c], c)).unwrap();
                prop_assert_eq!(agenda.first(), (times[first], first));
            }
        }
    }
}
