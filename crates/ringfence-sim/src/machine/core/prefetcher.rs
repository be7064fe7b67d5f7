//! A stream prefetcher: follows walks over neighbouring lines.

use ringfence_scenario::platform::{PrefetchLevel, Prefetcher as Parameters};

/// A walk that the prefetcher follows.
#[derive(Debug, Clone, Copy)]
struct Walk {
    /// Line touched last.
    last: u64,
    /// Lines from one touch to the next: 1 or -1; 0 after the first touch.
    step: i64,
    /// Lines after `last` that have been asked for.
    ahead: u64,
    /// When it was touched last, in touches of the prefetcher; 0 is never.
    touched_at: u64,
}

/// The prefetcher of one core.
///
/// It sees the lines that miss the L1 and those that it fetched itself, when
/// they are touched first. Two touches of neighbouring lines in one page make a
/// walk; from then on the next `distance` lines are kept on their way, and none
/// beyond the page, because what follows there is unknown.
#[derive(Debug, Clone)]
pub(super) struct Prefetcher {
    walks: Vec<Walk>,
    distance: u64,
    /// Lines in a page, as a power of two.
    page_shift: u32,
    touches: u64,
    /// Walk that wants lines now.
    wanting: Option<usize>,
    pub(super) fills: PrefetchLevel,
}

impl Prefetcher {
    /// `page_lines`, lines in a page, is a power of two.
    pub(super) fn new(parameters: &Parameters, page_lines: u64) -> Self {
        let walk = Walk {
            last: u64::MAX,
            step: 0,
            ahead: 0,
            touched_at: 0,
        };
        Self {
            walks: vec![walk; parameters.streams as usize],
            distance: parameters.distance_lines.into(),
            page_shift: page_lines.trailing_zeros(),
            touches: 0,
            wanting: None,
            fills: parameters.fills,
        }
    }

    /// The core touched `line`; [`Self::wanted`] says what to fetch now.
    pub(super) fn touch(&mut self, line: u64) {
        self.touches += 1;
        let same_page = |walk: &Walk| walk.last >> self.page_shift == line >> self.page_shift;
        let follows = |walk: &Walk| {
            let step = line.wrapping_sub(walk.last) as i64;
            walk.touched_at > 0 && same_page(walk) && step.abs() <= 1 && {
                walk.step == 0 || step == walk.step || step == 0
            }
        };
        let number = match self.walks.iter().position(follows) {
            Some(number) => {
                let walk = &mut self.walks[number];
                let step = line.wrapping_sub(walk.last) as i64;
                if step != 0 {
                    walk.step = step;
                    walk.last = line;
                    walk.ahead = walk.ahead.saturating_sub(1);
                }
                number
            }
            None => {
                let oldest = |&number: &usize| self.walks[number].touched_at;
                let number = (0..self.walks.len()).min_by_key(oldest);
                let number = number.expect("there is a walk");
                self.walks[number] = Walk {
                    last: line,
                    step: 0,
                    ahead: 0,
                    touched_at: 0,
                };
                number
            }
        };
        self.walks[number].touched_at = self.touches;
        self.wanting = (self.walks[number].step != 0).then_some(number);
    }

    /// Whether [`Self::wanted`] may have something to say.
    #[inline]
    pub(super) fn is_wanting(&self) -> bool {
        self.wanting.is_some()
    }

    /// The next line to fetch, if one is wanted now; ask again until none is.
    pub(super) fn wanted(&mut self) -> Option<u64> {
        let walk = &mut self.walks[self.wanting?];
        let step = (walk.ahead + 1) as i64 * walk.step;
        let line = walk.last.wrapping_add_signed(step);
        if walk.ahead == self.distance || line >> self.page_shift != walk.last >> self.page_shift {
            self.wanting = None;
            return None;
        }
        walk.ahead += 1;
        Some(line)
    }

    /// The line that was wanted last found no room: it is wanted again after the next touch.
    pub(super) fn no_room(&mut self) {
        if let Some(number) = self.wanting.take() {
            self.walks[number].ahead -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE_LINES: u64 = 64;
    const NONE: [u64; 0] = [];

    fn prefetcher(streams: u32, distance_lines: u32) -> Prefetcher {
        let parameters = Parameters {
            streams,
            distance_lines,
            outstanding: distance_lines,
            fills: PrefetchLevel::L1,
        };
        Prefetcher::new(&parameters, PAGE_LINES)
    }

    fn touch(prefetcher: &mut Prefetcher, line: u64) -> Vec<u64> {
        prefetcher.touch(line);
        std::iter::from_fn(|| prefetcher.wanted()).collect()
    }

    #[test]
    fn a_walk_is_followed_at_its_distance_and_to_the_end_of_its_page() {
        let mut up = prefetcher(2, 3);
        assert_eq!(touch(&mut up, 100), NONE);
        assert_eq!(touch(&mut up, 101), [102, 103, 104]);
        assert_eq!(touch(&mut up, 102), [105]);
        assert_eq!(touch(&mut up, 102), NONE, "the same line again");
        let all: Vec<u64> = (103..PAGE_LINES * 2)
            .flat_map(|line| touch(&mut up, line))
            .collect();
        assert_eq!(all, (106..PAGE_LINES * 2).collect::<Vec<_>>());
        assert_eq!(touch(&mut up, PAGE_LINES * 2), NONE, "another page");
        let mut down = prefetcher(2, 2);
        assert_eq!(touch(&mut down, 101), NONE);
        assert_eq!(touch(&mut down, 100), [99, 98]);
    }

    #[test]
    fn what_found_no_room_is_wanted_again() {
        let mut prefetcher = prefetcher(1, 4);
        prefetcher.touch(10);
        prefetcher.touch(11);
        assert_eq!(prefetcher.wanted(), Some(12));
        assert_eq!(prefetcher.wanted(), Some(13));
        prefetcher.no_room();
        assert_eq!(prefetcher.wanted(), None);
        assert_eq!(touch(&mut prefetcher, 12), [13, 14, 15, 16]);
    }

    #[test]
    fn as_many_walks_as_streams_are_followed() {
        let interleaved = |streams| {
            let mut prefetcher = prefetcher(streams, 1);
            let lines =
                (0..32u64).flat_map(|line| (0..3).map(move |walk| walk * 1000 * PAGE_LINES + line));
            lines
                .map(|line| touch(&mut prefetcher, line).len())
                .sum::<usize>()
        };
        assert_eq!(interleaved(3), 3 * 31);
        assert_eq!(interleaved(2), 0);
    }

    proptest! {
        /// Whatever is touched: nothing is wanted twice without a touch between,
        /// nothing beyond the page or the distance, and no line that was touched last.
        #[test]
        fn it_stays_near_what_was_touched(
            lines in prop::collection::vec(0u64..256, 1..300),
            streams in 1u32..5,
            distance in 1u32..9,
        ) {
            let mut prefetcher = prefetcher(streams, distance);
            for line in lines {
                let wanted = touch(&mut prefetcher, line);
                for (n, &other) in wanted.iter().enumerate() {
                    prop_assert_eq!(other / PAGE_LINES, line / PAGE_LINES);
                    prop_assert!(other != line && other.abs_diff(line) <= u64::from(distance));
                    prop_assert!(!wanted[..n].contains(&other));
                }
            }
        }
    }
}
