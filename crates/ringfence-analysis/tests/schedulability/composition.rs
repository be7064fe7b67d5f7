//! Virtual gangs against plain enumeration, and their effect on the analysis.

use std::cell::Cell;

use ringfence_analysis::schedulability::composition::{
    EXACT_TASKS, Member, Proposal, ProposedGang, Slowdowns, compose,
};
use ringfence_analysis::schedulability::problem::{MachineClaims, Problem};
use ringfence_analysis::schedulability::propose::propose;
use ringfence_scenario::Factors;
use ringfence_scenario::model::{Compute, Program, Scenario};

use crate::generate::{MS, Random, scenario};

/// A factor for every pair, drawn from a seed; some pairs have none.
struct Drawn(u64);

impl Slowdowns for Drawn {
    fn factor_milli(&self, task: &str, other: &str) -> Option<u32> {
        let seed = task
            .bytes()
            .chain(other.bytes())
            .fold(self.0, |seed, byte| {
                seed.wrapping_mul(31).wrapping_add(byte.into())
            });
        let mut random = Random::new(seed);
        (!random.one_in(10)).then(|| random.within(1_000, 2_500) as u32)
    }
}

fn members(random: &mut Random, count: usize) -> Vec<Member> {
    (0..count)
        .map(|index| Member {
            name: format!("task-{index}"),
            threads: random.within(1, 3),
            period_ns: random.pick(&[10 * MS, 20 * MS]),
            deadline_ns: 10 * MS,
            offset_ns: 0,
            execution_ns: random.within(MS, 5 * MS),
        })
        .collect()
}

/// The time that a gang needs is the most of its members'.
fn demand_ppm(members: &[Member], gangs: &[ProposedGang]) -> u64 {
    let gangs = gangs.iter().map(|gang| {
        let longest = gang
            .tasks
            .iter()
            .map(|task| task.execution_ns)
            .max()
            .unwrap();
        longest * 1_000_000 / members[gang.tasks[0].member].period_ns
    });
    gangs.sum()
}

/// Every way to put `0..count` into sets.
fn all_partitions(count: usize) -> Vec<Vec<Vec<usize>>> {
    let Some(last) = count.checked_sub(1) else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for partition in all_partitions(last) {
        for index in 0..partition.len() {
            let mut grown = partition.clone();
            grown[index].push(last);
            all.push(grown);
        }
        let mut apart = partition;
        apart.push(vec![last]);
        all.push(apart);
    }
    all
}

/// The least demand of all compositions that are allowed and below `limit_ppm`, found
/// without a shortcut.
fn least_ppm(members: &[Member], cores: u64, drawn: &Drawn, limit_ppm: u64) -> Option<u64> {
    let time_ns = |block: &[usize], member: usize| {
        let others = block.iter().filter(|&&other| other != member);
        others
            .copied()
            .try_fold(members[member].execution_ns, |ns, other| {
                let factor = drawn.factor_milli(&members[member].name, &members[other].name)?;
                Some((ns * u64::from(factor)).div_ceil(1000))
            })
    };
    let demand = |block: &Vec<usize>| {
        let period_ns = members[block[0]].period_ns;
        let threads: u64 = block.iter().map(|&member| members[member].threads).sum();
        let together = block
            .iter()
            .all(|&member| members[member].period_ns == period_ns);
        let times: Option<Vec<u64>> = block.iter().map(|&member| time_ns(block, member)).collect();
        let longest = times?.into_iter().max()?;
        // One task alone may have more threads than there are cores: they take turns.
        let fits = threads <= cores || block.len() == 1;
        (together && fits).then_some(longest * 1_000_000 / period_ns)
    };
    all_partitions(members.len())
        .iter()
        .filter_map(|partition| partition.iter().map(demand).sum::<Option<u64>>())
        .filter(|&ppm| ppm <= limit_ppm)
        .min()
}

fn compose_within(
    members: &[Member],
    cores: u64,
    drawn: &Drawn,
    limit_ppm: u64,
) -> (Proposal, u64) {
    let judged = Cell::new(0);
    let proposal = compose(members, cores, drawn, &|gangs| {
        judged.set(judged.get() + 1);
        demand_ppm(members, gangs) <= limit_ppm
    });
    (proposal.unwrap(), judged.get())
}

#[test]
fn small_sets_get_the_best_composition() {
    let mut joined = 0;
    for seed in 0..300 {
        let random = &mut Random::new(seed);
        let count = random.within(1, 7) as usize;
        let members = members(random, count);
        let (cores, limit_ppm) = (random.within(1, 6), random.within(400_000, 1_500_000));
        let drawn = Drawn(seed);
        let (proposal, _) = compose_within(&members, cores, &drawn, limit_ppm);
        assert!(proposal.exact);
        let least = least_ppm(&members, cores, &drawn, limit_ppm);
        assert_eq!(proposal.schedulable, least.is_some(), "seed {seed}");
        if let Some(least) = least {
            assert_eq!(demand_ppm(&members, &proposal.gangs), least, "seed {seed}");
        }
        joined += usize::from(proposal.gangs.len() < members.len());
    }
    assert!(joined > 50, "hardly a set in which joining helps: {joined}");
}

#[test]
fn large_sets_get_a_composition_that_is_allowed_and_no_worse_than_none() {
    for seed in 0..20 {
        let random = &mut Random::new(seed);
        let members = members(random, EXACT_TASKS + 5);
        let drawn = Drawn(seed);
        let (proposal, _) = compose_within(&members, 4, &drawn, u64::MAX);
        assert!(!proposal.exact && proposal.schedulable);
        let singles: u64 = members
            .iter()
            .map(|m| m.execution_ns * 1_000_000 / m.period_ns)
            .sum();
        assert!(demand_ppm(&members, &proposal.gangs) < singles);
        let mut placed: Vec<usize> = Vec::new();
        for gang in &proposal.gangs {
            let threads: u64 = gang
                .tasks
                .iter()
                .map(|task| members[task.member].threads)
                .sum();
            assert!(threads <= 4);
            placed.extend(gang.tasks.iter().map(|task| task.member));
        }
        placed.sort_unstable();
        assert_eq!(placed, (0..members.len()).collect::<Vec<_>>());
    }
}

/// Two tasks of one thread that take 6 ms of 10 ms each, on two cores.
fn pair(factor_milli: u32) -> Scenario {
    let mut scenario = scenario(0);
    scenario.platform.cores = 2;
    scenario.platform.os.context_switch_ns = 0;
    scenario.platform.os.interrupt_ns = 0;
    scenario.platform.os.reschedule_latency_ns = 0;
    scenario.partitions.truncate(1);
    scenario.partitions[0].cores = vec![0, 1];
    scenario.best_effort.clear();
    scenario.share = ringfence_scenario::model::ShareLimit::Off;
    let model = scenario.gangs[0].clone();
    scenario.gangs = ["a", "b"]
        .into_iter()
        .zip([2, 1])
        .map(|(name, priority)| {
            let mut gang = model.clone();
            gang.name = name.into();
            gang.partition = 0;
            gang.priority = priority;
            gang.tasks.truncate(1);
            let task = &mut gang.tasks[0];
            task.name = name.into();
            (task.period_ns, task.deadline_ns, task.offset_ns) = (10 * MS, 10 * MS, 0);
            (task.threads, task.cores) = (1, vec![0]);
            let other = if name == "a" { "b" } else { "a" };
            task.program = Program::Compute(Compute {
                time_ns: 6 * MS,
                slowed_by: vec![(other.into(), factor_milli)],
            });
            gang
        })
        .collect();
    scenario.cases[0].gangs = vec![0, 1];
    scenario.cases[0].best_effort.clear();
    scenario
}

fn proposal_for(scenario: &Scenario) -> Proposal {
    let problem = Problem {
        scenario,
        case: &scenario.cases[0],
        claims: MachineClaims {
            hand_over_ns: 0,
            quantum_bytes: 0,
        },
        measured: &Default::default(),
        factors: &Factors::default(),
    };
    let mut proposals = propose(&problem).unwrap();
    proposals.remove(0).proposal.unwrap()
}

#[test]
fn tasks_that_cannot_take_turns_run_together_if_they_bear_it() {
    let together = proposal_for(&pair(1_500));
    assert!(together.schedulable);
    assert_eq!(together.gangs.len(), 1);
    assert_eq!(together.gangs[0].tasks[0].execution_ns, 9 * MS);
    let apart = proposal_for(&pair(2_000));
    assert!(!apart.schedulable);
}
