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
        samples in vec((1..4_u64, 0..150_u64), 1..12),
    ) {
        let end_ns = PERIODS * PERIOD_NS;
        let mut changes = changes;
        changes.push((0, Some(20)));
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

        let (mut period, mut total, mut breaches, mut judged) = (0, 0, 0, 0);
        for (length, bytes) in samples {
            let to = period + length;
            if to > PERIODS {
                break;
            }
            total += bytes;
            events.push(sample(to * PERIOD_NS, total, 0));
            let allowed: Option<Vec<u64>> = (period..to)
                .map(|period| {
                    let start = (period * PERIOD_NS) as usize;
                    let budgets = &in_force[start..start + PERIOD_NS as usize];
                    let budgets: Option<Vec<u64>> = budgets.iter().copied().collect();
                    Some(budgets?.into_iter().max()? + QUANTUM_BYTES)
                })
                .collect();
            if let Some(allowed) = allowed {
                judged += 1;
                breaches += u64::from(bytes > allowed.iter().sum());
            }
            period = to;
        }
        events.push(Event::CaseEnd { time_ns: end_ns });

        let verdict = judge(&read(&in_order(events)).unwrap());
        let claim = verdict.claim(ClaimKind::Budgets).unwrap();
        prop_assert_eq!((claim.checked, claim.breaches), (judged, breaches));
    }
}
