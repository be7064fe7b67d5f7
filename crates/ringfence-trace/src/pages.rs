//! Makes addresses canonical.

use crate::access::{Access, Kind, PAGE_BYTES};
use std::collections::HashMap;

/// Most bytes of one access in a trace that the recorder writes; wider ones
/// (x86 `fxsave` and its like) are split.
const MAX_SIZE_BYTES: u64 = 128;

/// Numbers pages in order of first touch.
#[derive(Debug, Default)]
pub struct PageMap {
    numbers: HashMap<u64, u64>,
    /// The page asked for last and its number: most accesses stay in a page.
    last: Option<(u64, u64)>,
}

impl PageMap {
    /// The canonical accesses for `size` bytes at the virtual `address`: more
    /// than one if it crosses a page, as neighbours get unrelated numbers.
    /// Addresses wrap around, as the processor's do.
    pub fn translate(
        &mut self,
        kind: Kind,
        address: u64,
        size: u64,
        instructions_before: u32,
    ) -> impl Iterator<Item = Access> {
        let mut done = 0;
        std::iter::from_fn(move || {
            if done == size {
                return None;
            }
            let start = address.wrapping_add(done);
            let offset = start % PAGE_BYTES;
            let length = (size - done).min(PAGE_BYTES - offset).min(MAX_SIZE_BYTES);
            let access = Access {
                address: self.number(start / PAGE_BYTES) * PAGE_BYTES + offset,
                instructions_before: if done == 0 { instructions_before } else { 0 },
                size: length as u8,
                kind,
            };
            done += length;
            Some(access)
        })
    }

    fn number(&mut self, page: u64) -> u64 {
        if let Some((last, number)) = self.last
            && last == page
        {
            return number;
        }
        let next = self.numbers.len() as u64;
        let number = *self.numbers.entry(page).or_insert(next);
        self.last = Some((page, number));
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(map: &mut PageMap, address: u64, size: u64) -> Vec<(u64, u8, u32)> {
        map.translate(Kind::Load, address, size, 5)
            .map(|a| (a.address, a.size, a.instructions_before))
            .collect()
    }

    #[test]
    fn pages_are_numbered_in_order_of_first_touch() {
        let mut map = PageMap::default();
        assert_eq!(spans(&mut map, 0x7fff_1234, 8), [(0x234, 8, 5)]);
        assert_eq!(spans(&mut map, 0x10, 1), [(0x1010, 1, 5)]);
        assert_eq!(spans(&mut map, 0x7fff_1000, 8), [(0, 8, 5)]);
    }

    #[test]
    fn accesses_are_split_at_pages_and_when_wide() {
        let mut map = PageMap::default();
        let crossing = [(0xffc, 4, 5), (0x1000, 4, 0)];
        assert_eq!(spans(&mut map, 0x5ffc, 8), crossing);
        assert_eq!(
            spans(&mut map, 0x5000, 300),
            [(0, 128, 5), (128, 128, 0), (256, 44, 0)]
        );
        assert_eq!(spans(&mut map, u64::MAX, 2).len(), 2);
    }
}
