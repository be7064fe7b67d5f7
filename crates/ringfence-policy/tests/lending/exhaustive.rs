//! Every reachable state of a lender, a borrower and a vCPU that is neither.

use stateright::{Checker, Model, Property};

use crate::machine::{Machine, Part};

const MOST_USED: u64 = 2;
const MOST_DEBT: u64 = 1;

struct Small {
    parts: Vec<Part>,
    last_period: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Event {
    Begin(usize, u64),
    Use(usize, u64),
}

impl Model for Small {
    type State = Machine;
    type Action = Event;

    fn init_states(&self) -> Vec<Machine> {
        vec![Machine::new(&self.parts)]
    }

    fn actions(&self, machine: &Machine, events: &mut Vec<Event>) {
        for vcpu in 0..self.parts.len() {
            let next = machine.periods[vcpu].map_or(0, |period| period + 1);
            // The next one, and one that is skipped to.
            let periods = next..=self.last_period.min(next + 1);
            events.extend(periods.map(|period| Event::Begin(vcpu, period)));
            // A core that stands still causes nothing; one that runs may overshoot by one.
            let most = match machine.may_use(vcpu) {
                0 => 0,
                may => MOST_USED.min(may + 1),
            };
            events.extend((0..=most).map(|used| Event::Use(vcpu, used)));
        }
    }

    fn next_state(&self, machine: &Machine, event: Event) -> Option<Machine> {
        let mut next = machine.clone();
        match event {
            Event::Begin(vcpu, period) => next.begin(vcpu, period),
            Event::Use(vcpu, used) => next.uses(vcpu, used),
        }
        Some(next)
    }

    fn within_boundary(&self, machine: &Machine) -> bool {
        (0..self.parts.len()).all(|vcpu| machine.debt(vcpu) <= MOST_DEBT)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "the policy agrees with the reference",
                |_, machine: &Machine| machine.agrees,
            ),
            Property::always(
                "what all may use of a period is within their shares",
                |_, machine: &Machine| machine.within_the_shares(),
            ),
            Property::always("events move and none is made", |_, machine: &Machine| {
                machine.nothing_is_made()
            }),
            Property::always(
                "who does not lend, or ran short, has its whole share",
                |_, machine: &Machine| machine.guarantees_are_kept(),
            ),
            Property::sometimes("a loan is used up", |_, machine: &Machine| {
                let mut accounts = machine.accounts.values();
                accounts.any(|of| of.borrowed > 0 && of.used >= of.own + of.borrowed)
            }),
            Property::sometimes(
                "a lender takes all back after a loan",
                |model: &Self, machine: &Machine| {
                    let share = model.parts[0].share;
                    let gave = |period| machine.accounts.get(&(0, period)).map(|of| of.gave);
                    (1..model.last_period).any(|period| {
                        gave(period).is_some_and(|gave| gave > 0)
                            && machine
                                .accounts
                                .get(&(0, period + 1))
                                .is_some_and(|of| of.own == share)
                    })
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

const LENDER: Part = Part {
    share: 3,
    lends: true,
    borrows: 0,
};
const BORROWER: Part = Part {
    share: 1,
    lends: false,
    borrows: 1,
};
const NEITHER: Part = Part {
    share: 2,
    lends: false,
    borrows: 0,
};

#[test]
fn a_lender_a_borrower_and_one_that_is_neither() {
    explore(
        "shares 3 (lends), 1 (borrows) and 2, 3 periods",
        Small {
            parts: vec![LENDER, BORROWER, NEITHER],
            last_period: 2,
        },
    );
}

#[test]
fn a_lender_and_one_that_does_both_over_more_periods() {
    let both = Part {
        share: 2,
        lends: true,
        borrows: 2,
    };
    explore(
        "shares 3 (lends) and 2 (lends, borrows), 4 periods",
        Small {
            parts: vec![LENDER, both],
            last_period: 3,
        },
    );
}
