//! What others see of the agent's decisions.

use proptest::prelude::*;
use ringfence_policy::gang::ShareLimit;

use super::{CPUS, any_ops, any_version, fake};
use crate::live::{Board, Shape, read_board};

proptest! {
    /// At rest others see who has the CPUs, and all that have work.
    #[test]
    fn what_is_seen_is_what_was_decided(version in any_version(), ops in any_ops()) {
        let mut fake = fake(version, ShareLimit::Off);
        for (time_ns, op) in ops {
            fake.step(time_ns, op);
        }
        fake.rest();
        let shape = Shape { partitions: 1, cpus: CPUS, gangs: 3 };
        let board = Board::create(shape).unwrap();
        // What was there before is no news.
        board.set_held(0, 99);
        board.write(|board| fake.arbiter.show(board));
        let seen = read_board(&board.path(), shape).unwrap().unwrap();
        let priority = |gang: usize| 10 * (gang as u8 + 1);
        let with_work = fake.gangs_with_work();
        let holder = with_work.iter().copied().max().map_or(0, priority);
        prop_assert_eq!(seen.partitions[0].holder, holder);
        prop_assert!(seen.cpus.iter().all(|cpu| cpu.held == holder));
        for gang in 0..3 {
            let is_seen = seen.partitions[0].runnable.contains(priority(gang));
            prop_assert!(is_seen || !with_work.contains(&gang), "gang {gang} of {with_work:?}");
        }
    }
}
