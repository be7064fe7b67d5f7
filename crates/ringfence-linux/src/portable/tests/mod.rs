//! The arbiter on a machine without clocks and threads.

mod fake;
mod said;
mod shown;

use proptest::prelude::*;
use ringfence_policy::CpuSet;
use ringfence_policy::gang::ShareLimit;

use super::arbiter::{Arbiter, Gang};
use super::freezer::Version;
use fake::{Fake, Op};

const CPUS: u16 = 2;

/// Gangs of priorities 10, 20, 30, each with a thread on each CPU.
fn fake(version: Version, share: ShareLimit) -> Fake {
    let mut cpus = CpuSet::new();
    (0..CPUS).for_each(|cpu| cpus.insert(cpu));
    let gang = |priority| Gang {
        partition: 0,
        priority,
        cpus: (0..CPUS).collect(),
    };
    let gangs: Vec<Gang> = [10, 20, 30].map(gang).into();
    let arbiter = Arbiter::new(&[(cpus, share)], gangs.clone(), 0).unwrap();
    Fake::new(arbiter, &gangs, version)
}

fn any_version() -> impl Strategy<Value = Version> {
    prop::sample::select(vec![Version::V1, Version::V2])
}

fn any_op() -> impl Strategy<Value = Op> {
    let thread = 0..3 * usize::from(CPUS);
    prop_oneof![
        3 => thread.clone().prop_map(Op::Wake),
        3 => thread.prop_map(Op::Sleep),
        2 => Just(Op::React),
        4 => (0..3_usize).prop_map(Op::Settle),
        1 => Just(Op::Look),
    ]
}

/// As those of [`any_op`], and any event may be lost.
fn any_op_of_a_forgetful_kernel() -> impl Strategy<Value = Op> {
    prop_oneof![12 => any_op(), 1 => Just(Op::Forget)]
}

fn any_ops() -> impl Strategy<Value = Vec<(u64, Op)>> {
    prop::collection::vec((1..50_u64, any_op()), 0..120)
}

proptest! {
    /// When nothing happens any more, the highest gang with work goes on and all others with
    /// work are stopped. One without can be stopped below it, where it would have to wait.
    #[test]
    fn at_rest_the_highest_gang_alone_goes_on(
        version in any_version(),
        forgets: bool,
        ops in any_ops(),
    ) {
        let mut fake = fake(version, ShareLimit::Off);
        fake.forgets = forgets;
        fake.forgets_wakes = forgets;
        for (time_ns, op) in ops {
            fake.step(time_ns, op);
        }
        fake.rest();
        let with_work = fake.gangs_with_work();
        let highest = with_work.iter().copied().max();
        for gang in 0..3 {
            let is_lower = Some(gang) < highest;
            if with_work.contains(&gang) || !is_lower {
                prop_assert_eq!(fake.frozen[gang], is_lower, "gang {} of {:?}", gang, with_work);
            }
            prop_assert_eq!(fake.frozen[gang], fake.arbiter.is_stopped(gang));
        }
        prop_assert_eq!(fake.arbiter.running(0), highest);
    }

    /// Whatever is lost, looks at the threads find it: nobody is stopped for ever.
    #[test]
    fn lost_events_stop_nobody_for_ever(
        version in any_version(),
        ops in prop::collection::vec((1..50_u64, any_op_of_a_forgetful_kernel()), 0..120),
    ) {
        let mut fake = fake(version, ShareLimit::Off);
        for (time_ns, op) in ops {
            fake.step(time_ns, op);
        }
        fake.rest();
        let highest = fake.gangs_with_work().into_iter().max();
        prop_assert_eq!(fake.arbiter.running(0), highest);
        if let Some(highest) = highest {
            prop_assert!(!fake.frozen[highest]);
        }
    }

    /// A gang that was stopped goes on only when all others are off all CPUs.
    #[test]
    fn nobody_goes_on_beside_another_gang(version in any_version(), ops in any_ops()) {
        let mut fake = fake(version, ShareLimit::Off);
        for (time_ns, op) in ops {
            fake.step(time_ns, op);
        }
        fake.rest();
        prop_assert_eq!(fake.went_on_beside_lower, 0);
    }

    /// What is measured is never less than what was, also when the kernel leaves out who got a
    /// CPU that was idle, if the agent has read what there was when it decided.
    #[test]
    fn no_overlap_is_longer_than_the_measured_one(
        version in any_version(),
        forgets: bool,
        ops in any_ops(),
    ) {
        let mut fake = fake(version, ShareLimit::Off);
        fake.forgets = forgets;
        for (time_ns, op) in ops {
            let is_decision = matches!(op, Op::Settle(_));
            fake.step(time_ns, if is_decision { Op::Settle(0) } else { op });
        }
        fake.rest();
        let measured = fake.arbiter.hand_overs().overlaps(&(0..u64::MAX));
        prop_assert!(
            measured.longest_ns >= fake.longest_overlap_ns,
            "measured {measured:?}, was {}",
            fake.longest_overlap_ns
        );
    }
}

#[test]
fn a_gang_that_never_sleeps_is_stopped_for_the_rest_of_each_window() {
    let share = ShareLimit::Limited {
        limit_ns: 600,
        window_ns: 1000,
    };
    for version in [Version::V1, Version::V2] {
        let mut fake = fake(version, share);
        let mut stopped = Vec::new();
        fake.step(1, Op::Wake(4));
        fake.rest();
        while fake.now_ns < 5000 {
            fake.step(50, Op::Settle(0));
            fake.rest();
            stopped.push(fake.frozen.iter().all(|&frozen| frozen));
        }
        // A change is seen a step late at most.
        let share = stopped.iter().filter(|&&stopped| stopped).count() * 1000 / stopped.len();
        assert!(
            (300..500).contains(&share),
            "{share} of 1000 in {stopped:?}"
        );
    }
}

#[test]
fn a_lower_gang_waits_for_the_last_thread_of_the_higher_one() {
    let mut fake = fake(Version::V1, ShareLimit::Off);
    // Threads 0 and 1 are of the lowest gang, 4 and 5 of the highest.
    for (op, stopped) in [
        (Op::Wake(0), false),
        (Op::Wake(4), true),
        (Op::Wake(5), true),
        (Op::Sleep(4), true),
        (Op::Sleep(5), false),
    ] {
        fake.step(10, op);
        fake.rest();
        assert_eq!(fake.frozen[0], stopped, "{op:?}");
    }
    assert_eq!(fake.arbiter.running(0), Some(0));
}
