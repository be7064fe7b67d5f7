//! The budget rule against a recomputation nanosecond by nanosecond.

use crate::common::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use ringfence_analysis::verdict::{ClaimKind, judge};
use ringfence_record::event::*;

const PERIOD_NS: u64 = 7;
const QUANTUM_BYTES: u64 = 3;
const PERIODS: u64 = 20;

proptest! {
    #[test]
    fn breaches_are_those_of_a_plain_recomputation(
        changes in vec((0..PERIODS * PERIOD_NS, option::weighted(0.9, 0..40_u64)), 0..12),
        from_the_start in any::<bool>(),
        samples in vec((1..2 * PERIOD_NS, 0..60_u64), 1..40),
    ) {
        let end_ns = PERIODS * PERIOD_NS;
        let mut changes = changes;
        if from_the_start {
            changes.push((0, Some(20)));
        }
        changes.sort_by_key(|change| change.0);

        let mut in_force = vec![None; end_ns as usize];
        let mut events = good()[..1].to_vec();
        declare(&mut events, |case| {
            case.claims.budgets = Some(BudgetClaim {
                period_ns: PERIOD_NS,
                quantum_bytes: QUANTUM_BYTES,
            });
        });
        for (time_ns, bytes) in changes {
            events.push(Event::BudgetSet {
                time_ns,
                core: 3,
                read_bytes: bytes,
                write_bytes: None,
            });
            in_force[time_ns as usize..].fill(bytes);
        }

        let (mut now_ns, mut total) = (0, 0);
        let mut totals = vec![(0, 0)];
        for (length, bytes) in samples {
            now_ns += length;
            if now_ns > end_ns {
                break;
            }
            total += bytes;
            events.push(sample(now_ns, total, 0));
            totals.push((now_ns, total));
        }
        let (mut breaches, mut judged) = (0, 0);
        for period in 0..PERIODS {
            let (from_ns, to_ns) = (period * PERIOD_NS, (period + 1) * PERIOD_NS);
            let budgets: Option<Vec<u64>> =
                in_force[from_ns as usize..to_ns as usize].iter().copied().collect();
            let inside = |(time_ns, _): &&(u64, u64)| (from_ns..=to_ns).contains(time_ns);
            let first = totals.iter().find(inside);
            let last = totals.iter().rev().find(inside);
            let (Some(budgets), Some(first), Some(last)) = (budgets, first, last) else {
                continue;
            };
            let allowed = budgets.into_iter().max().unwrap() + QUANTUM_BYTES;
            let broken = last.1 - first.1 > allowed;
            breaches += u64::from(broken);
            judged += u64::from(broken || (first.0, last.0) == (from_ns, to_ns));
        }
        events.push(Event::CaseEnd { time_ns: end_ns });

        let verdict = judge(&read(&in_order(events)).unwrap());
        let claim = verdict.claim(ClaimKind::Budgets).unwrap();
        prop_assert_eq!((claim.checked, claim.breaches), (judged, breaches));
    }
}
