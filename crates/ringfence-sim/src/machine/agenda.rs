//! Which component acts next.

use super::Picoseconds;

/// Bits of a key that hold the component.
const COMPONENT_BITS: u32 = 10;
/// A component that has nothing to do. Times beyond this, five hours, count as never.
pub(crate) const NEVER: Picoseconds = Picoseconds::MAX;
const LAST: Picoseconds = Picoseconds::MAX >> COMPONENT_BITS;

/// Components that an agenda can hold.
pub(crate) const MAX_COMPONENTS: usize = 1 << COMPONENT_BITS;

/// Next event time of every component, as a tournament tree.
///
/// Equal times go to the lower component number, so the order of events is total.
#[derive(Debug, Clone)]
pub(crate) struct Agenda {
    /// `time << COMPONENT_BITS | component`; node 1 is the root, node `i` is
    /// the lower of the nodes `2 i` and `2 i + 1`.
    nodes: Vec<u64>,
    first_leaf: usize,
}

impl Agenda {
    /// All of at most [`MAX_COMPONENTS`] components have nothing to do.
    pub(crate) fn new(components: usize) -> Self {
        let first_leaf = components.next_power_of_two();
        let mut nodes: Vec<u64> = (0..2 * first_leaf)
            .map(|node| key(node.saturating_sub(first_leaf), NEVER))
            .collect();
        for node in (1..first_leaf).rev() {
            nodes[node] = nodes[2 * node].min(nodes[2 * node + 1]);
        }
        Self { nodes, first_leaf }
    }

    /// The earliest event and its component.
    #[inline]
    pub(crate) fn first(&self) -> (Picoseconds, usize) {
        let first = self.nodes[1];
        (time(first), first as usize & (MAX_COMPONENTS - 1))
    }

    #[inline]
    pub(crate) fn set(&mut self, component: usize, time: Picoseconds) {
        let mut node = self.first_leaf + component;
        let mut lowest = key(component, time);
        if self.nodes[node] == lowest {
            return;
        }
        self.nodes[node] = lowest;
        while node > 1 {
            lowest = lowest.min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = lowest;
        }
    }

    /// Moves the component's event forward to `time` unless it is earlier already.
    #[inline]
    pub(crate) fn advance(&mut self, component: usize, time: Picoseconds) {
        if key(component, time) < self.nodes[self.first_leaf + component] {
            self.set(component, time);
        }
    }
}

#[inline]
fn key(component: usize, time: Picoseconds) -> u64 {
    time.min(LAST) << COMPONENT_BITS | component as u64
}

#[inline]
fn time(key: u64) -> Picoseconds {
    match key >> COMPONENT_BITS {
        LAST => NEVER,
        time => time,
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
