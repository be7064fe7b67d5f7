//! Random changes at random times, against the list of all periods and what periods.h
//! promises.

use proptest::prelude::*;
use ringfence_policy::periods::Periods;
use ringfence_policy::reservation::{Reservation, Split};

use crate::reference::Reference;

fn length_ns() -> impl Strategy<Value = u64> {
    prop_oneof![20 => 1000..5000u64, 1 => 990..1000u64, 1 => any::<u64>()]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn periods_are_those_of_the_list(
        first_ns in 1000..5000u64,
        steps in proptest::collection::vec((0..6000u64, proptest::option::of(length_ns())), 1..60),
    ) {
        let mut vm = Periods::new(first_ns).unwrap();
        let mut reference = Reference::new(first_ns);
        let mut now_ns = 0;
        for (step_ns, change) in steps {
            now_ns += step_ns;
            if let Some(length_ns) = change {
                prop_assert_eq!(vm.change(now_ns, length_ns), reference.change(now_ns, length_ns));
            }
            prop_assert_eq!(vm.at(now_ns), reference.at(now_ns));
        }
    }

    /// Three vCPUs come at times of their own and begin what it is then, budgets and
    /// lengths change: nobody's budgets begin closer than the earlier one's length, and
    /// in a period all shares are of one budget.
    #[test]
    fn no_vcpu_gets_two_budgets_in_less_than_a_period(
        steps in proptest::collection::vec(
            (0..1500u64, 0..3u32, proptest::option::of((1000..3000u64, 3..40u64))), 1..80),
    ) {
        let mut periods = Periods::new(1500).unwrap();
        let mut vm = Reservation::new(30, Split::Balanced(3)).unwrap();
        let mut budgets = std::collections::BTreeMap::from([(0, (30, 1500))]);
        let mut last: [Option<(u64, u64)>; 3] = [None; 3];
        let mut now_ns = 0;
        for (step_ns, vcpu, change) in steps {
            now_ns += step_ns;
            if let Some((length_ns, budget)) = change {
                let mut after = periods.clone();
                if let Ok(from) = after.change(now_ns, length_ns)
                    && vm.change(from.number, budget).is_ok()
                {
                    periods = after;
                    budgets.insert(from.number, (budget, length_ns));
                }
            }
            let period = periods.at(now_ns);
            if vm.refill(vcpu, period.number).is_err() {
                continue;
            }
            let (budget, length_ns) = *budgets.range(..=period.number).next_back().unwrap().1;
            prop_assert_eq!(period.end_ns - period.begin_ns, length_ns);
            prop_assert_eq!(vm.share(vcpu).unwrap(), Reservation::new(budget, Split::Balanced(3))
                .and_then(|mut fresh| fresh.refill(vcpu, 0).and_then(|_| fresh.share(vcpu))).unwrap());
            if let Some((begin_ns, before_ns)) = last[vcpu as usize] {
                prop_assert!(period.begin_ns >= begin_ns + before_ns);
            }
            last[vcpu as usize] = Some((period.begin_ns, length_ns));
        }
    }
}
