use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const LINE: u64 = 64;
const STRIDE: usize = 16;
/// What no walk writes in these tests.
const UNTOUCHED: u32 = u32::MAX;

fn lists(lists: usize, bank: Option<Bank>) -> Kind {
    Kind::LinkedLists { lists, bank }
}

fn shape(kind: Kind, access: Access, lines: u64) -> Shape {
    Shape {
        kind,
        access,
        size_bytes: lines * LINE,
        line_bytes: LINE,
    }
}

/// Lines of which `word` is as it was.
fn untouched(walk: &Walk, word: usize) -> BTreeSet<usize> {
    let lines = walk.memory.chunks(STRIDE).enumerate();
    lines
        .filter(|(_, words)| words[word] == UNTOUCHED)
        .map(|(line, _)| line)
        .collect()
}

proptest! {
    /// A pass of a writing walk changes every chosen line, and none but these.
    #[test]
    fn a_pass_visits_every_line_of_its_bank(
        lines in 1_u64..600,
        lists_wanted in 1_usize..9,
        bank in prop::option::of(0_u64..2),
    ) {
        let bank = bank.map(|number| Bank { functions: vec![0x4c0], number });
        let expected: BTreeSet<usize> = (0..lines as usize)
            .filter(|line| bank.as_ref().is_none_or(|bank| {
                // Address bits 6, 7 and 10 are bits 0, 1 and 4 of the line's number.
                u64::from((line & 0b1_0011).count_ones() % 2) == bank.number
            }))
            .collect();
        let made = Walk::new(&shape(lists(lists_wanted, bank), Access::Write, lines));
        if expected.len() < lists_wanted {
            let is_refused = matches!(made, Err(ShapeError::TooFewLines { .. }));
            prop_assert!(is_refused);
            return Ok(());
        }
        let mut walk = made.unwrap();
        prop_assert_eq!(walk.accesses_per_pass(), expected.len() as u64);
        for line in walk.memory.chunks_mut(STRIDE) {
            line[1] = UNTOUCHED;
        }
        // The longest list is one node longer than the shortest at most.
        let longest = (expected.len() as u64).div_ceil(lists_wanted as u64);
        let made = walk.run(longest * lists_wanted as u64);
        prop_assert_eq!(made, longest * lists_wanted as u64);
        let all: BTreeSet<usize> = (0..lines as usize).collect();
        let visited: BTreeSet<usize> = all.difference(&untouched(&walk, 1)).copied().collect();
        prop_assert_eq!(visited, expected);
    }

    /// Bandwidth walks go on where they stopped, whatever the pieces.
    #[test]
    fn pieces_of_a_bandwidth_walk_join(lines in 1_u64..200, pieces in prop::collection::vec(1_u64..300, 1..6)) {
        let mut walk = Walk::new(&shape(Kind::Bandwidth, Access::Write, lines)).unwrap();
        let mut next = 0;
        for piece in pieces {
            walk.memory.fill(UNTOUCHED);
            prop_assert_eq!(walk.run(piece), piece);
            let visited: BTreeSet<usize> = (next..next + piece).map(|at| (at % lines) as usize).collect();
            let left = untouched(&walk, 0);
            prop_assert!(visited.is_disjoint(&left));
            prop_assert_eq!(visited.len() + left.len(), lines as usize);
            next += piece;
        }
    }
}

#[test]
fn a_list_is_one_cycle_over_its_share() {
    let walk = Walk::new(&shape(lists(3, None), Access::Read, 100)).unwrap();
    for head in [0, 33, 66] {
        let mut at = head * STRIDE;
        let mut seen = BTreeSet::new();
        while seen.insert(at) {
            at = walk.memory[at] as usize;
        }
        assert_eq!(at, head * STRIDE);
        assert!([33, 34].contains(&seen.len()), "{}", seen.len());
    }
}

#[test]
fn shapes_out_of_range_are_refused_with_what_is_in_it() {
    let bank = |functions: &[u64], number| {
        Some(Bank {
            functions: functions.to_vec(),
            number,
        })
    };
    let refused = |shape: &Shape| Walk::new(shape).map(|_| ()).unwrap_err().to_string();
    for (kind, lines, expected) in [
        (lists(0, None), 10, "0 lists; expected 1 to 64"),
        (lists(65, None), 100, "65 lists; expected 1 to 64"),
        (lists(2, None), 1, "1 lines in bank 0, for 2 lists"),
        (lists(1, bank(&[0], 0)), 10, "the bank function 0x0"),
        (lists(1, bank(&[0x40], 2)), 10, "0 lines in bank 2"),
        // Places in a line are 16 bytes apart.
        (lists(1, bank(&[0x8], 1)), 10, "0 lines in bank 1"),
        (Kind::Bandwidth, 0, "an array of 0 bytes"),
    ] {
        let message = refused(&shape(kind, Access::Read, lines));
        assert!(message.starts_with(expected), "{message}");
    }
    let odd_line = Shape {
        line_bytes: 48,
        ..shape(Kind::Bandwidth, Access::Read, 10)
    };
    assert!(refused(&odd_line).starts_with("a line of 48 bytes"));
}
