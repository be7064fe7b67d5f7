//! Properties of the regulator under random sequences, against the reference
//! model and against what budget.h and regulator.h promise.

use std::collections::BTreeSet;

use proptest::prelude::*;
use ringfence_policy::CpuSet;
use ringfence_policy::regulator::{Budget, Charge, Domain, events_per_period};

use crate::reference::Reference;

const CPUS: [u16; 3] = [0, 63, 64];
const PARTITIONS: [u8; 3] = [0, 1, 63];

#[derive(Debug, Clone)]
enum Event {
    Running(u8, Budget),
    Stopped(u8),
    Charge(u16, u64, u64),
    Refill,
}

fn limit() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..9u64, 1 => Just(u64::MAX)]
}

fn tolerance() -> impl Strategy<Value = Budget> {
    (limit(), limit()).prop_map(|(reads, writes)| Budget { reads, writes })
}

fn partition() -> impl Strategy<Value = u8> {
    proptest::sample::select(&PARTITIONS)
}

fn cpu() -> impl Strategy<Value = u16> {
    proptest::sample::select(&CPUS)
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => (partition(), tolerance()).prop_map(|(p, t)| Event::Running(p, t)),
        2 => partition().prop_map(Event::Stopped),
        6 => (cpu(), 0..12u64, 0..12u64).prop_map(|(c, r, w)| Event::Charge(c, r, w)),
        2 => Just(Event::Refill),
    ]
}

fn domain() -> Domain {
    Domain::new(&CPUS.into_iter().collect()).unwrap()
}

fn set(cpus: &CpuSet) -> BTreeSet<u16> {
    cpus.iter().collect()
}

fn reads(reads: u64) -> Budget {
    Budget {
        reads,
        writes: u64::MAX,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn the_compiled_policy_agrees_with_the_reference_model(
        events in proptest::collection::vec(event(), 1..60)
    ) {
        let mut domain = domain();
        let mut reference = Reference::new(&CPUS);
        for event in events {
            match event {
                Event::Running(p, t) => {
                    prop_assert_eq!(set(&domain.gang_running(p, t)), reference.gang_running(p, t));
                }
                Event::Stopped(p) => {
                    prop_assert_eq!(set(&domain.gang_stopped(p)), reference.gang_stopped(p));
                }
                Event::Charge(c, r, w) => {
                    prop_assert_eq!(domain.charge(c, r, w), reference.charge(c, r, w));
                }
                Event::Refill => prop_assert_eq!(set(&domain.refill()), reference.refill()),
            }
            prop_assert!(reference.agrees_with(&domain), "{domain:?} {reference:?}");
        }
    }

    /// A core that stops when told: in every period at most the budget and one
    /// quantum, over all periods at most all budgets and one quantum.
    #[test]
    fn use_exceeds_the_budgets_by_at_most_one_quantum(
        budget in 1..20u64,
        quantum in 1..60u64,
        periods in proptest::collection::vec(proptest::collection::vec(0..60u64, 0..40), 1..20),
    ) {
        let mut domain = domain();
        domain.gang_running(0, reads(budget));
        let (mut total, mut budgets) = (0, 0);
        for charges in periods {
            let mut used = 0;
            for events in charges {
                if !domain.is_throttled(0) {
                    used += events.min(quantum);
                    domain.charge(0, events.min(quantum), 0);
                }
            }
            total += used;
            budgets += budget;
            prop_assert!(used <= budget + quantum);
            prop_assert!(total <= budgets + quantum);
            domain.refill();
        }
    }

    /// The same while gangs come and go: a budget is then the loosest threshold of
    /// its period; a start from rest can catch one more quantum under way.
    #[test]
    fn use_stays_bounded_while_gangs_come_and_go(
        quantum in 1..12u64,
        events in proptest::collection::vec(event(), 1..80),
    ) {
        let mut domain = domain();
        let (mut used, mut loosest, mut total, mut budgets, mut starts) = (0, 0, 0, 0, 0);
        for event in events {
            match event {
                Event::Running(p, t) => {
                    starts += u64::from(domain.threshold().is_none());
                    let under_way = if domain.is_throttled(0) { 0 } else { quantum };
                    if domain.gang_running(p, t).contains(0) {
                        used += under_way;
                        domain.charge(0, under_way, 0);
                    }
                }
                Event::Stopped(p) => {
                    domain.gang_stopped(p);
                }
                Event::Charge(_, events, _) => {
                    if domain.threshold().is_some() && !domain.is_throttled(0) {
                        used += events.min(quantum);
                        domain.charge(0, events.min(quantum), 0);
                    }
                }
                Event::Refill => {
                    domain.refill();
                    total += used;
                    budgets += u128::from(loosest);
                    (used, loosest) = (0, 0);
                }
            }
            loosest = loosest.max(domain.threshold().map_or(0, |threshold| threshold.reads));
            let allowance = u128::from(quantum * (1 + starts));
            prop_assert!(u128::from(used) <= u128::from(loosest) + allowance);
            prop_assert!(u128::from(total + used) <= budgets + u128::from(loosest) + allowance);
        }
    }

    #[test]
    fn cores_are_unthrottled_only_by_the_refill_or_when_no_gang_runs(
        events in proptest::collection::vec(event(), 1..60)
    ) {
        let mut domain = domain();
        for event in events {
            let before: Vec<u16> = CPUS.into_iter().filter(|&c| domain.is_throttled(c)).collect();
            let refill = matches!(event, Event::Refill);
            match event {
                Event::Running(p, t) => drop(domain.gang_running(p, t)),
                Event::Stopped(p) => drop(domain.gang_stopped(p)),
                Event::Charge(c, r, w) => drop(domain.charge(c, r, w)),
                Event::Refill => drop(domain.refill()),
            }
            let released = before.iter().any(|&cpu| !domain.is_throttled(cpu));
            prop_assert!(!released || refill || domain.threshold().is_none());
        }
    }

    #[test]
    fn what_one_core_does_changes_nothing_for_another(
        events in proptest::collection::vec(event(), 1..60)
    ) {
        let (mut with, mut without) = (domain(), domain());
        for event in events {
            match event {
                Event::Running(p, t) => {
                    with.gang_running(p, t);
                    without.gang_running(p, t);
                }
                Event::Stopped(p) => {
                    with.gang_stopped(p);
                    without.gang_stopped(p);
                }
                Event::Charge(63, r, w) => drop(with.charge(63, r, w)),
                Event::Charge(c, r, w) => prop_assert_eq!(with.charge(c, r, w), without.charge(c, r, w)),
                Event::Refill => {
                    with.refill();
                    without.refill();
                }
            }
            for cpu in [0, 64] {
                prop_assert_eq!(with.remaining(cpu), without.remaining(cpu));
            }
        }
    }

    /// The remaining budget arms a counter: one event less does not throttle, it does.
    #[test]
    fn the_remaining_budget_is_exactly_what_may_be_used(budget in 1..1000u64, used in 0..1000u64) {
        let mut domain = domain();
        domain.gang_running(0, reads(budget));
        domain.charge(0, used % budget, 0);
        let left = domain.remaining(0).reads;
        prop_assert_eq!(left, budget - used % budget);
        prop_assert_eq!(domain.charge(0, left - 1, 0), Charge::Continue);
        prop_assert_eq!(domain.charge(0, 1, 0), Charge::Throttle);
    }

    #[test]
    fn the_conversion_is_the_exact_quotient(
        rate in prop_oneof![any::<u64>(), 0..1u64 << 40, Just(u64::MAX)],
        period_ns in prop_oneof![1_000..=1_000_000_000u64, any::<u64>(), Just(999), Just(1_000),
                                 Just(1_000_000_000), Just(1_000_000_001)],
        event in prop_oneof![any::<u32>(), Just(64), 0..3u32],
    ) {
        let valid = (1_000..=1_000_000_000).contains(&period_ns) && event > 0 && rate < u64::MAX;
        let exact = valid.then(|| {
            let quotient = u128::from(rate) * u128::from(period_ns) / (1_000_000_000 * u128::from(event));
            u64::try_from(quotient).unwrap()
        });
        prop_assert_eq!(events_per_period(rate, period_ns, event), exact);
    }
}

/// A product in 32 bits, as in MemGuard, wraps from 2048 us on.
#[test]
fn periods_of_2048_us_and_more_do_not_overflow() {
    for (period_us, lines) in [
        (1000, 16_384),
        (2047, 33_538),
        (2048, 33_554),
        (4096, 67_108),
    ] {
        assert_eq!(
            events_per_period(1000 << 20, period_us * 1000, 64),
            Some(lines)
        );
    }
}
