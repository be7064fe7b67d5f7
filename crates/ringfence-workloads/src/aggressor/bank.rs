//! One bank of a cache, and where in an array its addresses are.

use std::os::unix::fs::FileExt as _;

use super::ShapeError;

/// Address bits below this are the same in virtual and physical addresses: the smallest
/// page that Linux has.
const PAGE_BYTES: u64 = 4096;
/// Room of a node: its two words, in the smallest part of a line that has a bank of its
/// own on processors that are known (Cortex-A57, Technical Reference Manual, L2 cache:
/// 16 bytes).
pub(super) const NODE_BYTES: u64 = 16;

/// One bank of a cache, by the address bits that select it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bank {
    /// Masks of physical address bits. The parity of each is one bit of the bank's
    /// number, the lowest first. Bits from 4096 on need the right to see physical
    /// addresses.
    pub functions: Vec<u64>,
    /// The bank.
    pub number: u64,
}

impl Bank {
    /// The bank whose number stands in the address bits of `mask`.
    pub fn in_bits(mask: u64, number: u64) -> Self {
        let bits = (0..64).map(|bit| 1 << bit);
        Self {
            functions: bits.filter(|bit| mask & bit != 0).collect(),
            number,
        }
    }

    /// Whether `address` lies in the bank.
    pub fn holds(&self, address: u64) -> bool {
        let bits = self.functions.iter().enumerate();
        let bank = bits.fold(0, |bank, (bit, mask)| {
            bank | u64::from((address & mask).count_ones() & 1) << bit
        });
        bank == self.number
    }

    /// Into how many parts the bank's functions divide the lines of `line_bytes`.
    pub fn parts_of_lines(&self, line_bytes: u64) -> u64 {
        let functions = self.functions.iter();
        let between_lines = functions.filter(|mask| **mask >= line_bytes).count();
        1 << between_lines.min(63)
    }

    /// The first function that says nothing.
    pub(super) fn check(&self) -> Result<(), ShapeError> {
        match self.functions.contains(&0) {
            true => Err(ShapeError::EmptyBankFunction),
            false => Ok(()),
        }
    }

    /// Bytes from the begin of `memory` to its nodes: in each line the first place that
    /// is in the bank, if there is one. All of `memory` must have been touched.
    pub(super) fn nodes(&self, memory: &[u32], line_bytes: u64) -> Result<Vec<u64>, ShapeError> {
        let beyond_pages = self.functions.iter().find(|mask| **mask >= PAGE_BYTES);
        let frames = match beyond_pages {
            None => None,
            Some(&function) => {
                Some(Frames::of(memory).map_err(|source| ShapeError::Frames { function, source })?)
            }
        };
        let address = |offset: u64| match &frames {
            None => offset,
            Some(frames) => frames.physical(offset),
        };
        let lines = size_of_val(memory) as u64 / line_bytes;
        let places = (0..lines).filter_map(|line| {
            let mut offsets =
                (line * line_bytes..(line + 1) * line_bytes).step_by(NODE_BYTES as usize);
            offsets.find(|&offset| self.holds(address(offset)))
        });
        Ok(places.collect())
    }
}

/// Reads a bank function: a mask such as 0x2040, or the numbers of its bits, such as 6^13.
pub fn parse_function(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let mut bits = text.split('^').map(|bit| {
        let bit: u32 = bit.trim().parse().ok()?;
        1_u64.checked_shl(bit)
    });
    bits.try_fold(0, |mask, bit| bit.map(|bit| mask ^ bit))
}

/// Where the pages of some memory lie. They stay there as long as the system moves none:
/// it does not move pages that are locked or huge for want of memory.
struct Frames {
    page_bytes: u64,
    frames: Vec<u64>,
}

impl Frames {
    /// Asks the kernel (Documentation/admin-guide/mm/pagemap.rst).
    fn of(memory: &[u32]) -> std::io::Result<Self> {
        const PRESENT: u64 = 1 << 63;
        const FRAME: u64 = (1 << 55) - 1;
        let page_bytes = rustix::param::page_size() as u64;
        let first = memory.as_ptr().addr() as u64 / page_bytes;
        let pages = (size_of_val(memory) as u64).div_ceil(page_bytes);
        let mut entries = vec![0; pages as usize * 8];
        std::fs::File::open("/proc/self/pagemap")?.read_exact_at(&mut entries, first * 8)?;
        let entries = entries
            .as_chunks()
            .0
            .iter()
            .map(|bytes| u64::from_ne_bytes(*bytes));
        let frames = entries.map(|entry| match entry & FRAME {
            // Who may not see frames sees zeros.
            0 => Err(std::io::ErrorKind::PermissionDenied.into()),
            frame if entry & PRESENT != 0 => Ok(frame),
            _ => Err(std::io::Error::other("a page is not in memory")),
        });
        Ok(Self {
            page_bytes,
            frames: frames.collect::<std::io::Result<_>>()?,
        })
    }

    fn physical(&self, offset: u64) -> u64 {
        let frame = self.frames[(offset / self.page_bytes) as usize];
        frame * self.page_bytes + offset % self.page_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn functions_are_masks_or_lists_of_bits() {
        for (text, function) in [
            ("0x2040", Some(0x2040)),
            ("6^13", Some(0x2040)),
            ("6", Some(0x40)),
            ("6 ^ 13 ^ 63", Some(1 << 63 | 0x2040)),
            // A bit twice is a bit not at all.
            ("6^6", Some(0)),
            ("64", None),
            ("", None),
            ("6^", None),
            ("0x", None),
            ("forty", None),
        ] {
            assert_eq!(parse_function(text), function, "{text}");
        }
    }

    proptest! {
        /// The Jetson Nano's mask 0x70 and any other: the number stands in the bits.
        #[test]
        fn a_mask_of_contiguous_bits_is_a_number(shift in 4_u32..20, address: u64, number in 0_u64..8) {
            let bank = Bank::in_bits(7 << shift, number);
            prop_assert_eq!(bank.holds(address), address >> shift & 7 == number);
        }

        /// Every address lies in exactly one bank.
        #[test]
        fn banks_share_the_addresses(functions in prop::collection::vec(1_u64.., 1..4), address: u64) {
            let banks = 0..1_u64 << functions.len();
            let holding = banks.filter(|&number| {
                Bank { functions: functions.clone(), number }.holds(address)
            });
            prop_assert_eq!(holding.count(), 1);
        }
    }

    #[test]
    fn nodes_are_the_first_places_of_their_lines() {
        let memory = vec![0; 4 * 16];
        // Bits 4 to 6: within a line of 64 bytes, and one between two lines.
        let nodes = |number| Bank::in_bits(0x70, number).nodes(&memory, 64).unwrap();
        assert_eq!(nodes(1), [16, 144]);
        assert_eq!(nodes(6), [96, 224]);
        assert_eq!(Bank::in_bits(0x70, 0).parts_of_lines(64), 2);
    }

    /// Where the kernel shows frames, bits beyond a page select as bits of a page do.
    #[test]
    fn physical_addresses_are_seen_or_refused() {
        let mut memory = crate::large_pages::LargePages::new(1 << 16).unwrap();
        memory.fill(1);
        let nodes = |number| {
            let bank = Bank {
                functions: vec![1 << 13 | 1 << 6],
                number,
            };
            bank.nodes(&memory, 64)
        };
        match (nodes(0), nodes(1)) {
            (Ok(even), Ok(odd)) => {
                let mut all: Vec<u64> = even.into_iter().chain(odd).collect();
                all.sort_unstable();
                let lines: Vec<u64> = (0..4096).map(|line| line * 64).collect();
                assert_eq!(all, lines, "each line is in one of two banks");
            }
            (Err(error), _) => assert!(error.to_string().contains("0x2040"), "{error}"),
            (Ok(_), Err(error)) => panic!("{error}"),
        }
    }
}
