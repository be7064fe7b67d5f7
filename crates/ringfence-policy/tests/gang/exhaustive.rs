//! Every reachable state of the compiled policy under a correct shell, in small
//! configurations: all orders of all steps.

use crate::shell::{Policy, Setup, Shell, Slot, Step, Thread, cpu_set};
use ringfence_policy::gang::{Event, Outcome, Partition, ShareLimit};
use stateright::{Checker, Model, Property};

impl Policy for Partition {
    fn apply(&mut self, event: Event) -> Outcome {
        Partition::apply(self, event).expect("the shell reports only what can be")
    }

    fn next_timer_ns(&self) -> Option<u64> {
        Partition::next_timer_ns(self)
    }
}

/// Partitions side by side; a step is one of a partition.
struct Machine {
    partitions: Vec<Setup>,
    /// States later than this are not explored.
    end_ns: u64,
}

type State = Vec<Shell<Partition>>;

impl Machine {
    fn all(&self, state: &State, holds: impl Fn(&Shell<Partition>, &Setup) -> bool) -> bool {
        let mut partitions = state.iter().zip(&self.partitions);
        partitions.all(|(shell, setup)| holds(shell, setup))
    }
}

impl Model for Machine {
    type State = State;
    type Action = (usize, Step);

    fn init_states(&self) -> Vec<State> {
        let shells = self.partitions.iter().map(|setup| {
            let partition = Partition::new(&cpu_set(setup), setup.share, 0);
            Shell::new(setup, partition.expect("a valid partition"))
        });
        vec![shells.collect()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<(usize, Step)>) {
        for (partition, (shell, setup)) in state.iter().zip(&self.partitions).enumerate() {
            let threads = (0..setup.threads.len()).flat_map(|t| [Step::Wake(t), Step::Sleep(t)]);
            let cpus = (0..setup.cpus.len())
                .flat_map(|cpu| [Step::Reschedule(cpu), Step::Start(cpu), Step::Stop(cpu)]);
            let steps = threads.chain(cpus).chain([Step::Pass(1)]);
            let possible = steps.filter(|&step| shell.can(setup, step));
            actions.extend(possible.map(|step| (partition, step)));
        }
    }

    fn next_state(&self, state: &State, (partition, step): (usize, Step)) -> Option<State> {
        let mut next = state.clone();
        next[partition].step(&self.partitions[partition], step);
        Some(next)
    }

    fn within_boundary(&self, state: &State) -> bool {
        state.iter().all(|shell| shell.now_ns <= self.end_ns)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one gang at a time", |machine: &Machine, state: &State| {
                machine.all(state, Shell::one_gang_at_a_time)
            }),
            Property::always("no lost reschedule: stop", |machine: &Machine, state| {
                machine.all(state, Shell::whoever_must_stop_is_told)
            }),
            Property::always("no lost reschedule: start", |machine: &Machine, state| {
                machine.all(state, Shell::whoever_may_start_is_told)
            }),
            Property::always("work conservation", |machine: &Machine, state| {
                machine.all(state, Shell::settled_means_served)
            }),
            Property::always(
                "impossible events are refused",
                |machine: &Machine, state| machine.all(state, refuses_impossible_events),
            ),
            Property::sometimes("a settled state with work", |_: &Machine, state: &State| {
                let works = |shell: &Shell<Partition>| shell.runnable.contains(&true);
                state.iter().all(|shell| shell.is_settled() && works(shell))
            }),
        ]
    }
}

/// Reports what cannot be in this state; each is refused and changes nothing.
fn refuses_impossible_events(shell: &Shell<Partition>, setup: &Setup) -> bool {
    let now_ns = shell.now_ns;
    let outside = 7;
    let mut impossible = vec![
        Event::Runnable { priority: 0 },
        Event::Runnable { priority: 100 },
        Event::Decide {
            cpu: outside,
            priority: 1,
        },
        Event::Stopping {
            cpu: outside,
            now_ns,
        },
    ];
    let runs = |t: &usize| shell.runnable[*t];
    for priority in 1..=3 {
        let of_gang = |t: &usize| setup.threads[*t].priority == priority;
        if !(0..setup.threads.len()).filter(runs).any(|t| of_gang(&t)) {
            impossible.push(Event::Quiescent { priority });
        }
    }
    for (cpu, slot) in setup.cpus.iter().zip(&shell.slots) {
        impossible.push(match slot {
            Slot::Free => Event::Stopping { cpu: *cpu, now_ns },
            Slot::Running(thread) => Event::Running {
                cpu: *cpu,
                priority: setup.threads[*thread].priority,
                now_ns,
            },
            _ => continue,
        });
    }
    impossible.into_iter().all(|event| {
        let mut partition = shell.policy.clone();
        partition.apply(event).is_err() && partition == shell.policy
    })
}

/// Threads as (CPU, priority).
fn setup(cpus: &[u16], threads: &[(usize, u8)], share: ShareLimit) -> Setup {
    Setup {
        cpus: cpus.to_vec(),
        threads: threads
            .iter()
            .map(|&(cpu, priority)| Thread { cpu, priority })
            .collect(),
        share,
    }
}

fn explore(name: &str, partitions: Vec<Setup>, end_ns: u64) {
    let checker = Machine { partitions, end_ns }.checker().threads(2);
    let checker = checker.spawn_bfs().join();
    println!(
        "{name}: {} states, {} transitions",
        checker.unique_state_count(),
        checker.state_count()
    );
    checker.assert_properties();
}

#[test]
fn two_gangs_of_two_threads_on_three_cpus() {
    let threads = [(0, 1), (1, 1), (1, 2), (2, 2)];
    let setup = setup(&[0, 64, 511], &threads, ShareLimit::Off);
    explore("3 CPUs, 2 priorities, 4 threads", vec![setup], 0);
}

#[test]
fn three_gangs_on_two_cpus() {
    let threads = [(0, 1), (1, 2), (0, 3)];
    let setup = setup(&[63, 64], &threads, ShareLimit::Off);
    explore("2 CPUs, 3 priorities, 3 threads", vec![setup], 0);
}

#[test]
fn two_partitions() {
    let left = setup(&[0, 1], &[(0, 1), (1, 2)], ShareLimit::Off);
    let right = setup(&[2], &[(0, 1), (0, 2)], ShareLimit::Off);
    explore(
        "2 partitions of 2 + 1 CPUs, 2 priorities, 2 + 2 threads",
        vec![left, right],
        0,
    );
}

#[test]
fn share_limit() {
    let share = ShareLimit::Limited {
        limit_ns: 2,
        window_ns: 3,
    };
    let setup = setup(&[0, 511], &[(0, 1), (1, 2)], share);
    explore(
        "2 CPUs, 2 priorities, 2 threads, 2 of 3 ns, 3 windows",
        vec![setup],
        9,
    );
}
