//! Every reachable state of small VMs, through the compiled policy.

use std::fmt::Debug;
use std::hash::Hash;

use ringfence_policy::reservation::{Reservation, Split, Verdict};
use stateright::{Checker, Model, Property};

use crate::go_on::is_the_three_calls;
use crate::reference::Reference;

/// Debt is explored up to here; it has no bound when charges ignore throttling.
const MOST_DEBT: u64 = 3;
/// The most events of one charge.
const MOST_CHARGED: u64 = 2;

struct Small {
    weights: Vec<u32>,
    budgets: Vec<u64>,
    last_period: u64,
}

/// What was charged to a vCPU in the period that it is in, while it might run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Use {
    period: Option<u64>,
    allowed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    vm: Reservation,
    reference: Reference,
    uses: Vec<Use>,
    /// The last answer of the policy was the reference's, as is all that can be asked.
    agrees: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Event {
    Change(u64, u64),
    Refill(u32, u64),
    Charge(u32, u64),
    GoOn(u32, u64),
}

impl Small {
    fn vcpus(&self) -> impl Iterator<Item = u32> {
        0..u32::try_from(self.weights.len()).unwrap()
    }
}

impl Model for Small {
    type State = State;
    type Action = Event;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            vm: Reservation::new(self.budgets[0], Split::Weighted(&self.weights)).unwrap(),
            reference: Reference::new(self.budgets[0], &self.weights),
            uses: vec![Use::default(); self.weights.len()],
            agrees: true,
        }]
    }

    fn actions(&self, state: &State, events: &mut Vec<Event>) {
        for period in 0..=self.last_period {
            let budgets = self.budgets.iter();
            events.extend(budgets.map(|&budget| Event::Change(period, budget)));
            events.extend(self.vcpus().map(|vcpu| Event::Refill(vcpu, period)));
        }
        for events_charged in 0..=MOST_CHARGED {
            events.extend(self.vcpus().map(|vcpu| Event::Charge(vcpu, events_charged)));
            let go_on = self.vcpus().filter(|&vcpu| {
                let next = state.reference.next_alike(vcpu as usize);
                next.is_some_and(|next| next <= self.last_period)
            });
            events.extend(go_on.map(|vcpu| Event::GoOn(vcpu, events_charged)));
        }
    }

    fn next_state(&self, state: &State, event: Event) -> Option<State> {
        let mut next = state.clone();
        let (vm, reference) = (&mut next.vm, &mut next.reference);
        let same = match event {
            Event::Change(period, budget) => {
                vm.change(period, budget) == reference.change(period, budget)
            }
            Event::Refill(vcpu, period) => {
                let answer = vm.refill(vcpu, period);
                if answer.is_ok() {
                    next.uses[vcpu as usize] = Use {
                        period: Some(period),
                        allowed: 0,
                    };
                }
                answer == reference.refill(vcpu as usize, period)
            }
            Event::Charge(vcpu, events) => {
                if vm.remaining(vcpu) != Ok(0) {
                    next.uses[vcpu as usize].allowed += events;
                }
                vm.charge(vcpu, events) == reference.charge(vcpu as usize, events)
            }
            Event::GoOn(vcpu, events) => {
                let period = reference.next_alike(vcpu as usize)?;
                let left = vm.remaining(vcpu).unwrap();
                if events < left {
                    next.uses[vcpu as usize] = Use {
                        period: Some(period),
                        allowed: 0,
                    };
                }
                is_the_three_calls(vm, reference, vcpu, period, events)
            }
        };
        next.agrees = same && next.reference.agrees_with(&next.vm);
        Some(next)
    }

    fn within_boundary(&self, state: &State) -> bool {
        self.vcpus()
            .all(|vcpu| state.vm.debt(vcpu).unwrap() <= MOST_DEBT)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "the policy agrees with the reference",
                |_, state: &State| state.agrees,
            ),
            Property::always(
                "the shares of a period that all vCPUs are in add up to its budget",
                |model: &Self, state: &State| {
                    let period = state.uses[0].period;
                    let together = state.uses.iter().all(|of| of.period == period);
                    let shares = model.vcpus().map(|vcpu| state.vm.share(vcpu).unwrap());
                    !together
                        || period.is_none_or(|period| {
                            shares.sum::<u64>() == state.reference.budget(period)
                        })
                },
            ),
            Property::always(
                "use of a period is within the share and one charge",
                |model: &Self, state: &State| {
                    model.vcpus().zip(&state.uses).all(|(vcpu, of)| {
                        let share = state.vm.share(vcpu).unwrap();
                        // The charge that uses the share up began with an event left.
                        of.allowed == 0 || of.allowed < share + MOST_CHARGED
                    })
                },
            ),
            Property::always("nothing is hoarded", |model: &Self, state: &State| {
                model
                    .vcpus()
                    .all(|vcpu| state.vm.remaining(vcpu).unwrap() <= state.vm.share(vcpu).unwrap())
            }),
            Property::always(
                "what has some left owes nothing",
                |model: &Self, state: &State| {
                    model.vcpus().all(|vcpu| {
                        state.vm.remaining(vcpu) == Ok(0) || state.vm.debt(vcpu) == Ok(0)
                    })
                },
            ),
            Property::sometimes("a change takes effect", |model: &Self, state: &State| {
                let budgets = state.uses.iter().filter_map(|of| of.period);
                let mut budgets = budgets.map(|period| state.reference.budget(period));
                budgets.any(|budget| budget != model.budgets[0])
            }),
            Property::sometimes(
                "a vCPU pays its debt over two periods",
                |_, state: &State| {
                    state.uses[0].period.is_some()
                        && state.uses[0].allowed == 0
                        && state.vm.debt(0) != Ok(0)
                        && state.vm.clone().charge(0, 0) == Ok(Verdict::Throttle)
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
fn two_vcpus_with_changes() {
    explore(
        "2 vCPUs, budgets 1 to 3, periods 0 to 2, charges 0 to 2",
        Small {
            weights: vec![1, 1],
            budgets: vec![3, 1],
            last_period: 2,
        },
    );
}

#[test]
fn one_vcpu_over_more_periods() {
    explore(
        "1 vCPU, budgets 0 to 3, periods 0 to 4, charges 0 to 2",
        Small {
            weights: vec![1],
            budgets: vec![2, 0, 1, 3],
            last_period: 4,
        },
    );
}

#[test]
fn three_vcpus_with_unequal_shares() {
    explore(
        "3 vCPUs of weights 1, 2 and 0, budgets 3 and 2, periods 0 and 1, charges 0 to 2",
        Small {
            weights: vec![1, 2, 0],
            budgets: vec![3, 2],
            last_period: 1,
        },
    );
}
