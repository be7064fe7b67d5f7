//! Which pages of the machine memory with page colours has: `hyp/core/colours.h`.

use std::ops::Range;

use ringfence_scenario::vm::Ram;

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;
/// Most colours that a board can have: a bit each in the hypervisor's table.
pub const MOST: u16 = 64;

/// Colours of a board's last-level cache, of which some are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colours {
    /// A bit each; not 0, and none that the board has not.
    pub mask: u64,
    /// How many the board has: a power of two.
    pub of: u16,
}

impl Colours {
    /// All colours of a board: memory that is in one piece.
    #[must_use]
    pub fn all(of: u16) -> Self {
        let mask = u64::MAX >> (MOST - of);
        Self { mask, of }
    }

    /// The given ones, each below `of`.
    #[must_use]
    pub fn some(colours: &[u16], of: u16) -> Self {
        let mask = colours.iter().fold(0, |mask, colour| mask | 1 << colour);
        Self { mask, of }
    }

    /// Whether memory with them is in one piece.
    #[must_use]
    pub fn is_all(self) -> bool {
        self == Self::all(self.of)
    }

    /// Their numbers, ascending.
    pub fn numbers(self) -> impl Iterator<Item = u16> {
        (0..self.of).filter(move |colour| self.mask >> colour & 1 == 1)
    }

    /// Bytes of one page of each colour of the board.
    fn round_bytes(self) -> u64 {
        u64::from(self.of) * PAGE_BYTES
    }

    /// Bytes of the machine, from where a region of `size_bytes` begins to its end, with what
    /// is others' in between: whole rounds, unless it is in one piece.
    #[must_use]
    pub fn span_bytes(self, size_bytes: u64) -> u64 {
        if self.is_all() {
            return size_bytes;
        }
        let pages = size_bytes.div_ceil(PAGE_BYTES);
        let rounds = pages.div_ceil(u64::from(self.mask.count_ones()));
        rounds.saturating_mul(self.round_bytes())
    }

    /// Whether two have one in common.
    #[must_use]
    pub fn overlap(self, other: Self) -> bool {
        self.mask & other.mask != 0
    }

    /// Where bytes `range` of a region that begins at `address` are in the machine: pieces of memory
    /// in a row and how many of the bytes are in each, in order.
    pub fn pieces(self, address: u64, range: Range<u64>) -> Vec<(u64, u64)> {
        debug_assert!(address.is_multiple_of(Ram::ALIGNMENT));
        if self.is_all() {
            return vec![(address + range.start, range.end - range.start)];
        }
        let mut pieces: Vec<(u64, u64)> = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let in_page = at % PAGE_BYTES;
            let bytes = (PAGE_BYTES - in_page).min(range.end - at);
            let place = self.page(address, at / PAGE_BYTES) + in_page;
            match pieces.last_mut() {
                Some((start, length)) if *start + *length == place => *length += bytes,
                _ => pieces.push((place, bytes)),
            }
            at += bytes;
        }
        pieces
    }

    /// Where page `number` of a region that begins at `address` is.
    fn page(self, address: u64, number: u64) -> u64 {
        let in_round = u64::from(self.mask.count_ones());
        let colour = self.numbers().nth((number % in_round) as usize);
        let colour = colour.expect("a mask with so many colours");
        address + number / in_round * self.round_bytes() + u64::from(colour) * PAGE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_has_the_pages_of_its_colours_from_its_start_on() {
        let colours = Colours::some(&[1, 2, 7], 8);
        let at = |page: u64| 0x4400_0000 + page * PAGE_BYTES;
        // Pages 0 to 4: colours 1, 2, 7 of the first round, 1 and 2 of the second.
        assert_eq!(
            colours.pieces(0x4400_0000, 0..5 * PAGE_BYTES),
            [
                (at(1), 2 * PAGE_BYTES),
                (at(7), PAGE_BYTES),
                (at(9), 2 * PAGE_BYTES)
            ]
        );
        assert_eq!(colours.pieces(0x4400_0000, 100..200), [(at(1) + 100, 100)]);
        assert_eq!(
            colours.pieces(0x4400_0000, 2 * PAGE_BYTES - 1..2 * PAGE_BYTES + 1),
            [(at(2) + PAGE_BYTES - 1, 1), (at(7), 1)]
        );
        assert_eq!(colours.span_bytes(4 * PAGE_BYTES), 16 * PAGE_BYTES);
        assert_eq!(Colours::all(8).span_bytes(4 * PAGE_BYTES), 4 * PAGE_BYTES);
    }
}
