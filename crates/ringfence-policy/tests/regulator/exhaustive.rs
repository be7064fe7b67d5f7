//! Every reachable state of small domains, through the compiled policy.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;

use ringfence_policy::CpuSet;
use ringfence_policy::regulator::{Budget, Charge, Domain};
use stateright::{Checker, Model, Property};

use crate::reference::Reference;

/// Debt is explored up to here; it has no bound when charges ignore throttling.
const MOST_DEBT: u64 = 3;

struct Small {
    cpus: Vec<u16>,
    partitions: Vec<u8>,
    tolerances: Vec<Budget>,
    charges: Vec<(u64, u64)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    domain: Domain,
    reference: Reference,
    /// The last answer of the policy was the reference's.
    same_answer: bool,
    /// The last event released a core that only a refill or rest may release.
    wrongly_released: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Event {
    Running(u8, Budget),
    Stopped(u8),
    Charge(u16, u64, u64),
    Refill,
}

fn same(policy: &CpuSet, reference: &BTreeSet<u16>) -> bool {
    policy.iter().eq(reference.iter().copied())
}

impl Small {
    fn throttled(&self, domain: &Domain) -> Vec<u16> {
        let cpus = self.cpus.iter().copied();
        cpus.filter(|&cpu| domain.is_throttled(cpu)).collect()
    }
}

impl Model for Small {
    type State = State;
    type Action = Event;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            domain: Domain::new(&self.cpus.iter().copied().collect()).unwrap(),
            reference: Reference::new(&self.cpus),
            same_answer: true,
            wrongly_released: false,
        }]
    }

    fn actions(&self, _: &State, events: &mut Vec<Event>) {
        for &partition in &self.partitions {
            events.push(Event::Stopped(partition));
            let running = self.tolerances.iter();
            events.extend(running.map(|&tolerance| Event::Running(partition, tolerance)));
        }
        for &cpu in &self.cpus {
            let charges = self.charges.iter();
            events.extend(charges.map(|&(reads, writes)| Event::Charge(cpu, reads, writes)));
        }
        events.push(Event::Refill);
    }

    fn next_state(&self, state: &State, event: Event) -> Option<State> {
        let mut next = state.clone();
        let (domain, reference) = (&mut next.domain, &mut next.reference);
        let before = self.throttled(domain);
        let refill = event == Event::Refill;
        next.same_answer = match event {
            Event::Running(p, t) => same(&domain.gang_running(p, t), &reference.gang_running(p, t)),
            Event::Stopped(p) => same(&domain.gang_stopped(p), &reference.gang_stopped(p)),
            Event::Charge(c, r, w) => domain.charge(c, r, w) == reference.charge(c, r, w),
            Event::Refill => same(&domain.refill(), &reference.refill()),
        };
        let released = before.iter().any(|&cpu| !domain.is_throttled(cpu));
        next.wrongly_released = released && !refill && domain.threshold().is_some();
        Some(next)
    }

    fn within_boundary(&self, state: &State) -> bool {
        self.cpus.iter().all(|&cpu| {
            let debt = state.domain.debt(cpu);
            debt.reads <= MOST_DEBT && debt.writes <= MOST_DEBT
        })
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "the policy agrees with the reference",
                |_, state: &State| state.same_answer && state.reference.agrees_with(&state.domain),
            ),
            Property::always("only a refill or rest un-throttles", |_, state: &State| {
                !state.wrongly_released
            }),
            Property::always(
                "at rest nothing is throttled",
                |model: &Self, state: &State| {
                    state.domain.threshold().is_some() || model.throttled(&state.domain).is_empty()
                },
            ),
            Property::always(
                "a core that runs has budget and no debt",
                |model: &Self, state: &State| {
                    state.domain.threshold().is_none()
                        || model.cpus.iter().all(|&cpu| {
                            let left = state.domain.remaining(cpu);
                            let debt = state.domain.debt(cpu);
                            state.domain.is_throttled(cpu)
                                || (left.reads > 0
                                    && left.writes > 0
                                    && debt.reads + debt.writes == 0)
                        })
                },
            ),
            Property::sometimes(
                "a core pays its debt over two periods",
                |_, state: &State| {
                    state.domain.is_throttled(0)
                        && state.domain.debt(0).reads > 0
                        && state.domain.clone().charge(0, 0, 0) == Charge::Throttle
                },
            ),
        ]
    }
}

fn explore(name: &str, model: Small) {
    let checker = model.checker().spawn_dfs().join();
    checker.assert_properties();
    println!(
        "{name}: {} states, {} transitions, depth {}",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth()
    );
}

#[test]
fn two_cores_two_partitions_reads() {
    let tolerances = (0..=2).map(|reads| Budget {
        reads,
        writes: u64::MAX,
    });
    explore(
        "2 cores, 2 partitions, read tolerances 0 to 2, charges 0 to 2",
        Small {
            cpus: vec![0, 64],
            partitions: vec![0, 63],
            tolerances: tolerances.collect(),
            charges: vec![(0, 0), (1, 0), (2, 0)],
        },
    );
}

#[test]
fn one_core_two_partitions_reads_and_writes() {
    let pairs = (0..=2).flat_map(|reads| (0..=2).map(move |writes| Budget { reads, writes }));
    explore(
        "1 core, 2 partitions, read and write tolerances 0 to 2, charges 0 to 2",
        Small {
            cpus: vec![0],
            partitions: vec![0, 1],
            tolerances: pairs.collect(),
            charges: vec![(1, 0), (2, 0), (0, 1), (0, 2), (1, 1)],
        },
    );
}
