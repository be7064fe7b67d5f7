//! Against an analysis by others: `response-time-analysis`, which follows the proofs of
//! Bozhko and Brandenburg, "Abstract response-time analysis", ECRTS 2020.

use proptest::collection::vec;
use proptest::prelude::*;
use response_time_analysis::arrival::Sporadic;
use response_time_analysis::demand::RBF;
use response_time_analysis::fixed_priority::floating_nonpreemptive::{
    TaskUnderAnalysis, dedicated_uniproc_rta,
};
use response_time_analysis::time::{Duration, Service};
use response_time_analysis::wcet::Scalar;

use crate::closed_forms::{partition, responses_ns, task};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    /// Theirs counts from the release and ours from the nominal one, so the task
    /// itself has no jitter here; those above it have.
    #[test]
    fn both_find_the_same_responses(
        higher in vec((1_u64..20, 10_u64..200, 0_u64..50), 0..5),
        (own_ns, period_ns) in (1_u64..40, 10_u64..300),
        blocking_ns in 0_u64..10,
    ) {
        let load: u64 = higher.iter().map(|(c, t, _)| c * 1000 / t + 1).sum();
        prop_assume!(load + own_ns * 1000 / period_ns < 990);
        let mut tasks: Vec<_> = higher.iter().map(|&(execution_ns, period_ns, jitter_ns)| {
            let mut task = task(execution_ns, period_ns);
            task.jitter_ns = jitter_ns;
            task
        }).collect();
        tasks.push(task(own_ns, period_ns));
        let position = tasks.len() - 1;
        let mut partition = partition(tasks);

        let arrivals: Vec<_> = higher.iter()
            .map(|&(_, period, jitter)| Sporadic::new(Duration::from(period), Duration::from(jitter)))
            .collect();
        let costs: Vec<_> = higher.iter().map(|&(wcet, ..)| Scalar::new(Service::from(wcet))).collect();
        let interfering: Vec<_> = arrivals.iter().zip(&costs).map(|(a, c)| RBF::new(a, c)).collect();
        let rbf = RBF::new(
            Sporadic::new_zero_jitter(Duration::from(period_ns)),
            Scalar::new(Service::from(own_ns)),
        );
        let theirs = |blocking_ns| {
            let under_analysis = TaskUnderAnalysis { rbf: &rbf, blocking_bound: Service::from(blocking_ns) };
            let found = dedicated_uniproc_rta(&under_analysis, &interfering, Duration::from(1_000_000));
            u64::from(found.unwrap())
        };
        prop_assert_eq!(responses_ns(&partition)[position], Some(theirs(0)));

        // A gang can be blocked by each job that takes the partition over, not once.
        let mut lower = task(1, 1_000_000_000);
        lower.name = "lower".into();
        lower.priority = 1;
        lower.non_preemptive_ns = blocking_ns;
        partition.tasks.push(lower);
        let ours = responses_ns(&partition)[position];
        prop_assert!(ours.is_none_or(|ours| ours >= theirs(blocking_ns)));
    }
}
