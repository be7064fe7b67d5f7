//! Random parts, periods and use, against the reference and what lending.h promises.

use proptest::prelude::*;
use ringfence_policy::lending::{Pool, Vcpu};

use crate::machine::{Machine, Part};

fn part() -> impl Strategy<Value = Part> {
    (
        0..40u64,
        any::<bool>(),
        prop_oneof![Just(0), 1..20u64, Just(u64::MAX)],
    )
        .prop_map(|(share, lends, borrows)| Part {
            share,
            lends,
            borrows,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    /// Whatever cores do, also beyond what they may use.
    #[test]
    fn the_compiled_policy_agrees_with_the_reference_model(
        parts in proptest::collection::vec(part(), 1..5),
        events in proptest::collection::vec((0..4usize, 0..4u64, 0..30u64, any::<bool>()), 1..120),
    ) {
        let mut machine = Machine::new(&parts);
        let mut now = 0;
        for (vcpu, step, used, begins) in events {
            let vcpu = vcpu % parts.len();
            now += u64::from(step == 3);
            match begins {
                true => machine.begin(vcpu, now.saturating_sub(step / 2)),
                false => machine.uses(vcpu, used),
            }
            prop_assert!(machine.agrees, "{:?}", machine);
        }
        prop_assert!(machine.within_the_shares() && machine.nothing_is_made());
        prop_assert!(machine.guarantees_are_kept());
    }

    /// Cores that stop in time, in step: the use of all in a period is within all shares,
    /// and each has its own less what it gave.
    #[test]
    fn use_is_within_all_shares_in_each_period(
        parts in proptest::collection::vec(part(), 1..6),
        demands in proptest::collection::vec(proptest::collection::vec(0..100u64, 6), 1..20),
    ) {
        let mut machine = Machine::new(&parts);
        for (period, demands) in (0..).zip(demands) {
            for vcpu in 0..parts.len() {
                machine.begin(vcpu, period);
            }
            for (vcpu, demand) in (0..parts.len()).zip(demands) {
                let mut demand = demand;
                machine.uses(vcpu, 0);
                while demand > 0 && machine.may_use(vcpu) > 0 {
                    let used = demand.min(machine.may_use(vcpu));
                    machine.uses(vcpu, used);
                    demand -= used;
                }
                let of = &machine.accounts[&(vcpu, period)];
                prop_assert_eq!(machine.debt(vcpu), 0);
                prop_assert_eq!(of.own + of.gave, parts[vcpu].share);
                prop_assert!(demand == 0 || of.used >= of.own);
            }
            let used = (0..parts.len()).map(|vcpu| machine.accounts[&(vcpu, period)].used);
            prop_assert!(used.sum::<u64>() <= parts.iter().map(|part| part.share).sum());
        }
        prop_assert!(machine.agrees && machine.guarantees_are_kept());
    }

    /// Numbers of 64 bits: nothing wraps, nothing is made.
    #[test]
    fn nothing_wraps(
        shares in proptest::collection::vec(any::<u64>(), 1..5), used in any::<u64>(), most in any::<u64>(),
    ) {
        let mut pool = Pool::new();
        let mut given = 0u128;
        for &share in &shares {
            let mut lender = Vcpu::new();
            lender.begin(&mut pool, 7, share, true);
            lender.used(used, share);
            given += u128::from(lender.begin(&mut pool, 8, share, true));
        }
        prop_assert_eq!(u128::from(pool.events(8)), given);
        let mut borrower = Vcpu::new();
        borrower.begin(&mut pool, 8, 0, false);
        let taken = borrower.borrow(&mut pool, most);
        let taken = taken + borrower.borrow(&mut pool, u64::MAX - taken);
        prop_assert_eq!(u128::from(taken), given);
    }
}
