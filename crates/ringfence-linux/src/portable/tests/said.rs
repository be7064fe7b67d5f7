//! Members that say themselves when they have work, on kernels that do not tell.

use ringfence_policy::CpuSet;
use ringfence_policy::gang::ShareLimit;

use crate::portable::arbiter::{Action, Arbiter, Gang};
use crate::portable::news::Word;

const LOW: usize = 0;
const HIGH: usize = 1;

/// A low gang with thread 10 and a high one with thread 20, on CPUs of their own, that were seen
/// asleep at 100.
fn arbiter() -> Arbiter {
    let mut cpus = CpuSet::new();
    (0..2).for_each(|cpu| cpus.insert(cpu));
    let gang = |(priority, cpu)| Gang {
        partition: 0,
        priority,
        cpus: vec![cpu],
    };
    let gangs = [(10, 0), (20, 1)].map(gang).into();
    let mut arbiter = Arbiter::new(&[(cpus, ShareLimit::Off)], gangs, 0).unwrap();
    for (tid, gang) in [(10, LOW), (20, HIGH)] {
        arbiter.join(tid, gang, Some(gang as u16), 0);
        arbiter.looked(tid, Some(false), 100);
    }
    arbiter
}

fn say(arbiter: &mut Arbiter, tid: i32, has_work: bool, time_ns: u64) -> Vec<Action> {
    arbiter.said(&Word {
        time_ns,
        tid,
        has_work,
    });
    arbiter.settle(time_ns)
}

#[test]
fn a_lower_gang_is_stopped_while_a_higher_one_has_work_by_its_own_word() {
    let mut arbiter = arbiter();
    assert_eq!(say(&mut arbiter, 10, true, 200), []);
    assert_eq!(arbiter.running(0), Some(LOW));
    assert_eq!(say(&mut arbiter, 20, true, 300), [Action::Stop(LOW)]);
    // A look shows that it is frozen; until then it may have been on its CPU.
    arbiter.looked(10, Some(false), 1300);
    assert_eq!(arbiter.settle(1300), []);
    assert_eq!(arbiter.running(0), Some(HIGH));
    // The high one was seen asleep at 100, so it may have woken then.
    let overlaps = arbiter.hand_overs().overlaps(&(0..u64::MAX));
    assert_eq!((overlaps.count, overlaps.longest_ns), (1, 1200));
    assert_eq!(say(&mut arbiter, 20, false, 2000), [Action::Go(LOW)]);
    assert_eq!(arbiter.running(0), Some(LOW));
}

#[test]
fn a_word_that_comes_after_a_later_look_is_no_news() {
    let mut arbiter = arbiter();
    assert_eq!(say(&mut arbiter, 20, true, 50), []);
    assert_eq!(arbiter.running(0), None);
    // Nor is one of a thread that is no member.
    assert_eq!(say(&mut arbiter, 30, true, 200), []);
    assert_eq!(arbiter.running(0), None);
}
