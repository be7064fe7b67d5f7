//! Which component acts next.

use super::Picoseconds;

/// Bits of a key that hold the component.
const COMPONENT_BITS: u32 = 10;
/// A component that has nothing to do. Times beyond this, five hours, count as never.
pub(crate) const NEVER: Picoseconds = Picoseconds::MAX;
const LAST: Picoseconds = Picoseconds::MAX >> COMPONENT_BITS;

/// Components that an agenda can hold.
pub(crate) const MAX_COMPONENTS: usize = 1 << COMPONENT_BITS;

/// Components, or blocks, that are compared with each other.
const BLOCK: usize = 8;

/// Next event time of every component, as a tournament tree of blocks.
///
/// Equal times go to the lower component number, so the order of events is total.
#[derive(Debug, Clone)]
pub(crate) struct Agenda {
    /// Block 0 is the root; place `p` of block `b` has the lowest key of block
    /// `BLOCK * b + p + 1`, or in the last level that of a component.
    blocks: Vec<[u64; BLOCK]>,
    /// First block of the last level.
    first_leaf: usize,
}

impl Agenda {
    /// All of at most [`MAX_COMPONENTS`] components have nothing to do.
    pub(crate) fn new(components: usize) -> Self {
        let leaves = components.div_ceil(BLOCK);
        let mut first_leaf = 0;
        let mut level = 1;
        while level < leaves {
            first_leaf += level;
            level *= BLOCK;
        }
        let nothing = [key(MAX_COMPONENTS - 1, NEVER); BLOCK];
        let mut agenda = Self {
            blocks: vec![nothing; first_leaf + leaves],
            first_leaf,
        };
        for component in 0..components {
            agenda.set(component, NEVER);
        }
        agenda
    }

    /// The earliest event and its component.
    #[inline]
    pub(crate) fn first(&self) -> (Picoseconds, usize) {
        let first = lowest(&self.blocks[0]);
        (time(first), first as usize & (MAX_COMPONENTS - 1))
    }

    /// When the component acts next.
    #[inline]
    pub(crate) fn time(&self, component: usize) -> Picoseconds {
        time(self.blocks[self.first_leaf + component / BLOCK][component % BLOCK])
    }

    #[inline]
    pub(crate) fn set(&mut self, component: usize, time: Picoseconds) {
        let mut block = self.first_leaf + component / BLOCK;
        self.blocks[block][component % BLOCK] = key(component, time);
        while block > 0 {
            let lowest = lowest(&self.blocks[block]);
            let place = (block - 1) % BLOCK;
            block = (block - 1) / BLOCK;
            self.blocks[block][place] = lowest;
        }
    }

    /// Moves the component's event forward to `time` unless it is earlier already.
    #[inline]
    pub(crate) fn advance(&mut self, component: usize, time: Picoseconds) {
        let block = self.first_leaf + component / BLOCK;
        if key(component, time) < self.blocks[block][component % BLOCK] {
            self.set(component, time);
        }
    }
}

/// Compared in pairs, so that no comparison waits for more than two others.
#[inline]
fn lowest(keys: &[u64; BLOCK]) -> u64 {
    let pair = |first: usize| keys[first].min(keys[first + 1]);
    pair(0).min(pair(2)).min(pair(4).min(pair(6)))
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
            components in 1usize..200,
            changes in prop::collection::vec((0usize..200, 0u64..8), 1..100),
        ) {
            let mut agenda = Agenda::new(components);
            let mut times = vec![NEVER; components];
            for (component, time) in changes {
                let component = component % components;
                agenda.set(component, time);
                times[component] = time;
                let first = (0..components).min_by_key(|&c| (times[c], c)).unwrap();
                prop_assert_eq!(agenda.first(), (times[first], first));
                prop_assert_eq!(agenda.time(component), time);
            }
        }
    }
}
