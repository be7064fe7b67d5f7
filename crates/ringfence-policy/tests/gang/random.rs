//! Random events, and random steps of a correct shell, next to the reference model.

use crate::reference::Reference;
use crate::shell::{Policy, Setup, Shell, Slot, Step, Thread, cpu_set};
use proptest::prelude::*;
use ringfence_policy::CpuSet;
use ringfence_policy::gang::{Event, GangError, Outcome, Partition, ShareLimit};

/// The policy and its reference model, which have to agree after every event.
struct Compared {
    partition: Partition,
    reference: Reference,
}

impl Compared {
    fn new(cpus: &CpuSet, share: ShareLimit) -> Self {
        Self {
            partition: Partition::new(cpus, share, 0).expect("a valid partition"),
            reference: Reference::new(cpus, share, 0),
        }
    }

    fn apply(&mut self, event: Event) -> Result<Outcome, GangError> {
        let before = self.partition.clone();
        let outcome = self.partition.apply(event);
        assert_eq!(outcome, self.reference.apply(event), "{event:?}");
        assert_eq!(self.partition.active_priority(), self.reference.active());
        assert_eq!(
            self.partition.next_timer_ns(),
            self.reference.next_timer_ns()
        );
        assert_eq!(
            self.partition.is_share_exhausted(),
            self.reference.exhausted()
        );
        if outcome.is_err() {
            assert!(
                self.partition == before,
                "{event:?} was refused, but left a trace"
            );
        }
        outcome
    }
}

impl Policy for Compared {
    fn apply(&mut self, event: Event) -> Outcome {
        Compared::apply(self, event).expect("the shell reports only what can be")
    }

    fn next_timer_ns(&self) -> Option<u64> {
        self.partition.next_timer_ns()
    }
}

/// CPUs at the edges of the words of a set, some inside the partition.
const CPUS: [u16; 8] = [0, 1, 63, 64, 255, 511, 512, u16::MAX];

fn partition_cpus() -> impl Strategy<Value = CpuSet> {
    prop::sample::subsequence(&CPUS[..6], 1..=6).prop_map(CpuSet::from_iter)
}

/// Few priorities, so that gangs meet; and those at and beyond the limits.
fn priority() -> impl Strategy<Value = u8> {
    prop_oneof![8 => 1..4_u8, 1 => Just(99), 1 => prop::sample::select(vec![0, 98, 100, 255])]
}

fn share() -> impl Strategy<Value = ShareLimit> {
    let limited = (2..20_u64).prop_flat_map(|window_ns| {
        (1..window_ns).prop_map(move |limit_ns| ShareLimit::Limited {
            limit_ns,
            window_ns,
        })
    });
    prop_oneof![1 => Just(ShareLimit::Off), 3 => limited]
}

/// Any event, possible or not; times go forward by little, much, or backwards.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let cpu = || prop::sample::select(CPUS.to_vec());
    let event = prop_oneof![
        3 => priority().prop_map(|priority| Event::Runnable { priority }),
        2 => priority().prop_map(|priority| Event::Quiescent { priority }),
        6 => (cpu(), priority()).prop_map(|(cpu, priority)| Event::Decide { cpu, priority }),
        4 => (cpu(), priority()).prop_map(|(cpu, priority)| Event::Running { cpu, priority, now_ns: 0 }),
        3 => cpu().prop_map(|cpu| Event::Stopping { cpu, now_ns: 0 }),
        3 => Just(Event::Timer { now_ns: 0 }),
    ];
    let step_ns = prop_oneof![6 => 0..4_i64, 1 => -3..0_i64, 1 => 0..60_i64];
    prop::collection::vec((event, step_ns), 0..150).prop_map(|steps| {
        let mut time_ns = 0_u64;
        let mut at = |step_ns| {
            time_ns = time_ns.saturating_add_signed(step_ns);
            time_ns
        };
        let timed = steps.into_iter().map(|(event, step_ns)| match event {
            Event::Running { cpu, priority, .. } => Event::Running {
                cpu,
                priority,
                now_ns: at(step_ns),
            },
            Event::Stopping { cpu, .. } => Event::Stopping {
                cpu,
                now_ns: at(step_ns),
            },
            Event::Timer { .. } => Event::Timer {
                now_ns: at(step_ns),
            },
            untimed => untimed,
        });
        timed.collect()
    })
}

fn setup() -> impl Strategy<Value = Setup> {
    (1..=4_usize).prop_flat_map(|cpus| {
        let thread = (0..cpus, 1..4_u8).prop_map(|(cpu, priority)| Thread { cpu, priority });
        (prop::collection::vec(thread, 1..8), share()).prop_map(move |(threads, share)| Setup {
            cpus: [0, 63, 64, 511][..cpus].to_vec(),
            threads,
            share,
        })
    })
}

/// A step drawn for a setup: its kind, and a number to choose thread or CPU by.
fn draw(setup: &Setup, kind: u8, number: usize) -> Step {
    let thread = number % setup.threads.len();
    let cpu = number % setup.cpus.len();
    match kind {
        0 => Step::Wake(thread),
        1 => Step::Sleep(thread),
        2 | 3 => Step::Reschedule(cpu),
        4 | 5 => Step::Start(cpu),
        6 => Step::Stop(cpu),
        _ => Step::Pass(number as u64 % 5 + 1),
    }
}

fn check(setup: &Setup, shell: &Shell<Compared>) -> Result<(), TestCaseError> {
    prop_assert!(shell.one_gang_at_a_time(setup));
    prop_assert!(shell.whoever_must_stop_is_told(setup));
    prop_assert!(shell.whoever_may_start_is_told(setup));
    prop_assert!(shell.settled_means_served(setup));
    Ok(())
}

/// Serves what is under way, in a drawn order, until nothing is.
fn settle(setup: &Setup, shell: &mut Shell<Compared>, order: &[usize]) {
    let mut order = order.iter().cycle();
    while !shell.is_settled() {
        let cpu = order.next().expect("a cycle") % setup.cpus.len();
        let step = match shell.slots[cpu] {
            Slot::Leaving { .. } => Step::Stop(cpu),
            Slot::Granted(_) if !shell.pending[cpu] => Step::Start(cpu),
            _ => Step::Reschedule(cpu),
        };
        if shell.can(setup, step) {
            shell.step(setup, step);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn agrees_with_the_reference(cpus in partition_cpus(), share in share(), events in events()) {
        let mut compared = Compared::new(&cpus, share);
        for event in events {
            let _ = compared.apply(event);
        }
    }

    #[test]
    fn keeps_its_promises_to_a_correct_shell(
        setup in setup(),
        steps in prop::collection::vec((0..9_u8, any::<usize>()), 0..200),
        order in Just(vec![0, 1, 2, 3]).prop_shuffle(),
    ) {
        let policy = Compared::new(&cpu_set(&setup), setup.share);
        let mut shell = Shell::new(&setup, policy);
        for (kind, number) in steps {
            let step = draw(&setup, kind, number);
            if shell.can(&setup, step) {
                shell.step(&setup, step);
                check(&setup, &shell)?;
            }
        }
        settle(&setup, &mut shell, &order);
        check(&setup, &shell)?;
    }

    #[test]
    fn partitions_do_not_affect_each_other(
        first in events(),
        second in events(),
        share in share(),
        turns in prop::collection::vec(any::<bool>(), 300),
    ) {
        let cpus = |numbers: &[u16]| numbers.iter().copied().collect::<CpuSet>();
        let (left, right) = (cpus(&[0, 63, 255]), cpus(&[1, 64, 511]));
        let partition = |cpus| Partition::new(cpus, share, 0).expect("a valid partition");
        let alone = |cpus, events: &[Event]| -> Vec<_> {
            let mut partition = partition(cpus);
            events.iter().map(|&event| partition.apply(event)).collect()
        };
        let expected = [alone(&left, &first), alone(&right, &second)];

        let mut partitions = [partition(&left), partition(&right)];
        let mut events = [first.into_iter(), second.into_iter()];
        let mut outcomes = [Vec::new(), Vec::new()];
        for turn in turns {
            let side = usize::from(turn);
            if let Some(event) = events[side].next() {
                outcomes[side].push(partitions[side].apply(event));
            }
        }
        for (outcomes, expected) in outcomes.iter().zip(expected) {
            prop_assert_eq!(&outcomes[..], &expected[..outcomes.len()]);
        }
    }
}

#[test]
fn refuses_partitions_that_cannot_be() {
    let limited = |limit_ns, window_ns| ShareLimit::Limited {
        limit_ns,
        window_ns,
    };
    let new =
        |cpus: &[u16], share| Partition::new(&cpus.iter().copied().collect(), share, 0).map(|_| ());
    assert_eq!(new(&[], ShareLimit::Off), Err(GangError::NoCpus));
    for (limit_ns, window_ns) in [
        (0, 0),
        (1, 0),
        (0, 1),
        (1, 1),
        (2, 1),
        (1, u64::MAX / 2 + 1),
    ] {
        let share = limited(limit_ns, window_ns);
        assert_eq!(new(&[0], share), Err(GangError::BadShare), "{share:?}");
    }
    assert_eq!(new(&[511], ShareLimit::Off), Ok(()));
    assert_eq!(new(&[0], limited(1, 2)), Ok(()));
    assert_eq!(new(&[0], limited(1, u64::MAX / 2)), Ok(()));
}

#[test]
fn stands_the_end_of_time() {
    let share = ShareLimit::default();
    let start_ns = u64::MAX - 900_000_000;
    let mut partition =
        Partition::new(&[0].into_iter().collect(), share, start_ns).expect("a valid partition");
    partition.runnable(1);
    partition.decide(0, 1);
    partition.running(0, 1, start_ns);
    assert_eq!(partition.next_timer_ns(), None);
    partition.stopping(0, u64::MAX);
}
