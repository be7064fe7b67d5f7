//! Every reachable state of short runs: all times to ask at, all changes.

use ringfence_policy::periods::{Period, Periods};
use stateright::{Checker, Model, Property};

use crate::reference::Reference;

/// Times between which nothing differs.
const STEP_NS: u64 = 500;
const LENGTHS_NS: [u64; 3] = [1000, 1500, 2500];
const STEPS: u64 = 14;

struct Short;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    now_ns: u64,
    vm: Periods,
    reference: Reference,
    last: Option<Period>,
    /// The policy answered as the reference did.
    agrees: bool,
    /// Two budgets began at least the earlier period's length apart.
    apart: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Event {
    Pass,
    Ask,
    Change(u64),
}

impl Model for Short {
    type State = State;
    type Action = Event;

    fn init_states(&self) -> Vec<State> {
        let start = |&length_ns: &u64| State {
            now_ns: 0,
            vm: Periods::new(length_ns).unwrap(),
            reference: Reference::new(length_ns),
            last: None,
            agrees: true,
            apart: true,
        };
        LENGTHS_NS.iter().map(start).collect()
    }

    fn actions(&self, state: &State, events: &mut Vec<Event>) {
        if state.now_ns < STEPS * STEP_NS {
            events.push(Event::Pass);
        }
        events.push(Event::Ask);
        events.extend(LENGTHS_NS.map(Event::Change));
    }

    fn next_state(&self, state: &State, event: Event) -> Option<State> {
        let mut next = state.clone();
        match event {
            Event::Pass => next.now_ns += STEP_NS,
            Event::Ask => {
                let period = next.vm.at(next.now_ns);
                next.agrees = period == next.reference.at(next.now_ns);
                let is_other = |last: Period| last.number != period.number;
                next.apart = next.last.is_none_or(|last| {
                    !is_other(last)
                        || period.begin_ns - last.begin_ns >= last.end_ns - last.begin_ns
                });
                next.last = Some(period);
            }
            Event::Change(length_ns) => {
                next.agrees = next.vm.change(next.now_ns, length_ns)
                    == next.reference.change(next.now_ns, length_ns);
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("periods are those of the list", |_, state: &State| {
                state.agrees
            }),
            Property::always(
                "budgets begin a period's length apart",
                |_, state: &State| state.apart,
            ),
            Property::sometimes("three lengths were in force", |_, state: &State| {
                state.last.is_some_and(|last| {
                    last.end_ns - last.begin_ns == 2500 && last.begin_ns == 1000 + 1500
                })
            }),
        ]
    }
}

#[test]
fn all_changes_at_all_times() {
    let checker = Short.checker().spawn_dfs().join();
    checker.assert_properties();
    println!(
        "lengths of 2, 3 and 5 steps, {STEPS} steps: {} states, {} transitions, depth {}",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth()
    );
}
