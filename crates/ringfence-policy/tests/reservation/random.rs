//! Properties of reservations under random sequences, against the reference model and
//! against what reservation.h promises.

use proptest::prelude::*;
use ringfence_policy::reservation::{Reservation, Split, Verdict};

use crate::go_on::is_the_three_calls;
use crate::reference::Reference;

#[derive(Debug, Clone)]
enum Event {
    Change(u64, u64),
    Refill(u32, u64),
    Charge(u32, u64),
    GoOn(u32, u64),
}

fn vcpu() -> impl Strategy<Value = u32> {
    prop_oneof![20 => 0..4u32, 1 => Just(8), 1 => any::<u32>()]
}

fn budget() -> impl Strategy<Value = u64> {
    prop_oneof![20 => 0..40u64, 1 => u64::MAX - 1..=u64::MAX]
}

fn event() -> impl Strategy<Value = Event> {
    let step = || prop_oneof![20 => 0..5u64, 1 => Just(u64::MAX)];
    prop_oneof![
        2 => (step(), budget()).prop_map(|(p, b)| Event::Change(p, b)),
        5 => (vcpu(), step()).prop_map(|(v, p)| Event::Refill(v, p)),
        5 => (vcpu(), 0..30u64).prop_map(|(v, e)| Event::Charge(v, e)),
        5 => (0..4u32, 0..30u64).prop_map(|(v, e)| Event::GoOn(v, e)),
    ]
}

fn weights() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(0..9u32, 1..=8).prop_filter("some weight", |weights| {
        weights.iter().any(|&weight| weight > 0)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn the_compiled_policy_agrees_with_the_reference_model(
        budget in 0..40u64,
        weights in weights(),
        events in proptest::collection::vec(event(), 1..60),
    ) {
        let mut vm = Reservation::new(budget, Split::Weighted(&weights)).unwrap();
        let mut reference = Reference::new(budget, &weights);
        // Periods pass: what an event names lies around the one that is on.
        let mut now = 0u64;
        for (number, event) in events.into_iter().enumerate() {
            now += u64::from(number % 7 == 6);
            match event {
                Event::Change(p, b) => {
                    let p = now.saturating_add(p);
                    prop_assert_eq!(vm.change(p, b), reference.change(p, b));
                }
                Event::Refill(v, p) => {
                    let p = now.saturating_add(p).saturating_sub(2);
                    prop_assert_eq!(vm.refill(v, p), reference.refill(v as usize, p));
                }
                Event::Charge(v, e) => {
                    prop_assert_eq!(vm.charge(v, e), reference.charge(v as usize, e));
                }
                Event::GoOn(v, e) => {
                    if let Some(p) = reference.next_alike(v as usize) {
                        prop_assert!(is_the_three_calls(&mut vm, &mut reference, v, p, e));
                    }
                }
            }
            prop_assert!(reference.agrees_with(&vm), "{vm:?} {reference:?}");
        }
    }

    #[test]
    fn shares_add_up_and_are_less_than_an_event_off(
        budget in prop_oneof![0..100u64, any::<u64>().prop_map(|b| b.min(u64::MAX - 1))],
        weights in prop_oneof![weights(), proptest::collection::vec(1..1u32 << 29, 1..=8)],
    ) {
        let mut vm = Reservation::new(budget, Split::Weighted(&weights)).unwrap();
        let whole: u128 = weights.iter().copied().map(u128::from).sum();
        let mut sum = 0u64;
        for (vcpu, &weight) in (0..).zip(&weights) {
            vm.refill(vcpu, 0).unwrap();
            let share = vm.share(vcpu).unwrap();
            let exact = u128::from(budget) * u128::from(weight);
            prop_assert!((u128::from(share) * whole).abs_diff(exact) < whole);
            sum += share;
        }
        prop_assert_eq!(sum, budget);
    }

    /// A core that stops when told: in every period at most its share and one charge,
    /// over all periods at most all shares and one charge; skipped periods add nothing.
    #[test]
    fn use_exceeds_the_shares_by_at_most_one_charge(
        budget in 1..20u64,
        most in 1..60u64,
        periods in proptest::collection::vec(
            (1..4u64, proptest::collection::vec(0..60u64, 0..40), proptest::option::of(1..20u64)),
            1..20,
        ),
    ) {
        let mut vm = Reservation::new(budget, Split::Balanced(2)).unwrap();
        let (mut now, mut total, mut shares) = (0, 0, 0);
        for (step, charges, change) in periods {
            now += step;
            vm.refill(1, now).unwrap();
            let share = vm.share(1).unwrap();
            shares += share;
            let mut used = 0;
            for events in charges {
                if vm.remaining(1).unwrap() > 0 {
                    used += events.min(most);
                    vm.charge(1, events.min(most)).unwrap();
                }
            }
            total += used;
            prop_assert!(used <= share + most);
            prop_assert!(total <= shares + most);
            if let Some(budget) = change {
                vm.change(now + 1, budget).unwrap();
            }
        }
    }

    /// What remains arms a counter: one event less does not throttle, it does.
    #[test]
    fn what_remains_is_exactly_what_may_be_used(budget in 1..1000u64, used in 0..1000u64) {
        let mut vm = Reservation::new(budget, Split::Balanced(1)).unwrap();
        vm.refill(0, 0).unwrap();
        vm.charge(0, used % budget).unwrap();
        let left = vm.remaining(0).unwrap();
        prop_assert_eq!(left, budget - used % budget);
        prop_assert_eq!(vm.charge(0, left - 1).unwrap(), Verdict::Run);
        prop_assert_eq!(vm.charge(0, 1).unwrap(), Verdict::Throttle);
    }
}
