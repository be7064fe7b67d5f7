//! Random scenarios without memory, each from a seed of its own.

use ringfence_scenario::model::*;
use ringfence_scenario::platform::{OsCosts, Platform};

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform enough over `from..to`, which is not empty.
    pub fn within(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from)
    }

    /// True once in `count` times.
    pub fn one_in(&mut self, count: u64) -> bool {
        self.within(0, count) == 0
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.within(0, choices.len() as u64) as usize]
    }
}

/// Utilisations in millionths that add up to `total`, uniform over all such
/// sets, as UUniFast draws them (Bini, Buttazzo, "Measuring the performance of
/// schedulability tests", Real-Time Systems 30, 2005): the distances of sorted
/// uniform cuts.
pub fn utilizations_ppm(random: &mut Random, count: usize, total_ppm: u64) -> Vec<u64> {
    let mut cuts: Vec<u64> = (1..count)
        .map(|_| random.within(0, total_ppm + 1))
        .collect();
    cuts.extend([0, total_ppm]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// A scenario with one case, one gang at a time.
pub fn scenario(seed: u64) -> Scenario {
    let random = &mut Random::new(seed);
    let partitions = partitions(random);
    let cores: u16 = partitions.iter().map(|p| p.cores.len() as u16).sum();
    let gangs: Vec<Gang> = (0..partitions.len())
        .flat_map(|partition| gangs(random, partition, &partitions[partition]))
        .collect();
    let best_effort: Vec<BestEffort> = (0..random.within(0, 3))
        .map(|index| best_effort(random, index, cores))
        .collect();
    let regulation = random.one_in(2);
    Scenario {
        name: format!("random-{seed}"),
        description: String::new(),
        platform: platform(random, cores),
        duration_ns: 120 * MS,
        seed,
        regulation: Regulation {
            period_ns: random.pick(&[100 * US, MS, 10 * MS]),
        },
        share: share(random),
        classes_of_service: Vec::new(),
        vms: Vec::new(),
        channels: Vec::new(),
        reservations_bytes_per_second: None,
        cases: vec![Case {
            name: "gang".into(),
            scheduling: Scheduling::Gang,
            regulation,
            cache_allocation: false,
            interference: true,
            gangs: (0..gangs.len()).collect(),
            best_effort: (0..best_effort.len()).collect(),
            vms: Vec::new(),
            reservations: false,
        }],
        partitions,
        gangs,
        best_effort,
        observe: Observe {
            counters_every_ns: 60 * MS,
        },
    }
}

fn platform(random: &mut Random, cores: u16) -> Platform {
    let most_ns = random.pick(&[1, 2 * US, 20 * US]);
    let mut cost = || random.within(0, most_ns);
    let os = OsCosts {
        context_switch_ns: cost(),
        interrupt_ns: cost(),
        reschedule_latency_ns: cost(),
        tick_ns: 500 * US,
    };
    Platform {
        name: "cores".into(),
        description: String::new(),
        cores,
        frequency_hz: 1_000_000_000,
        os,
        hypervisor: None,
        stated_page_colours: None,
        memory: None,
    }
}

fn partitions(random: &mut Random) -> Vec<Partition> {
    let cores = random.within(1, 5) as u16;
    let middle = match random.one_in(4) {
        true => cores.div_ceil(2),
        false => cores,
    };
    [0..middle, middle..cores]
        .into_iter()
        .filter(|cores| !cores.is_empty())
        .map(|cores| Partition {
            name: format!("from-{}", cores.start),
            cores: cores.collect(),
        })
        .collect()
}

/// One to five tasks, some of which share a priority; the priorities by period or at random.
fn gangs(random: &mut Random, index: usize, partition: &Partition) -> Vec<Gang> {
    let count = random.within(1, 6) as usize;
    let total_ppm = random.within(100_000, 1_000_000);
    let by_period = !random.one_in(3);
    let synchronous = random.one_in(2);
    let mut tasks: Vec<Task> = utilizations_ppm(random, count, total_ppm)
        .into_iter()
        .enumerate()
        .map(|(number, ppm)| task(random, format!("{index}-{number}"), partition, ppm))
        .collect();
    let names: Vec<String> = tasks.iter().map(|task| task.name.clone()).collect();
    for task in &mut tasks {
        if synchronous {
            task.offset_ns = 0;
        }
        slow_down(random, task, &names);
    }
    if by_period {
        tasks.sort_by_key(|task| std::cmp::Reverse(task.period_ns));
    }
    let mut priority = 1;
    tasks
        .into_iter()
        .map(|task| {
            if !random.one_in(4) {
                priority += 1;
            }
            gang(random, index, priority, task)
        })
        .collect()
}

fn gang(random: &mut Random, partition: usize, priority: u8, task: Task) -> Gang {
    Gang {
        name: task.name.clone(),
        partition,
        priority,
        tolerance: match random.one_in(2) {
            true => Tolerance::NONE,
            false => Tolerance::UNLIMITED,
        },
        class_of_service: None,
        tasks: vec![task],
    }
}

fn task(random: &mut Random, name: String, partition: &Partition, ppm: u64) -> Task {
    let period_ns = match random.one_in(2) {
        true => random.pick(&[MS, 2 * MS, 4 * MS, 5 * MS, 10 * MS, 20 * MS]),
        false => random.within(MS, 20 * MS),
    };
    let count = partition.cores.len() as u64;
    let mut cores = partition.cores.clone();
    cores.rotate_left(random.within(0, count) as usize);
    cores.truncate(random.within(1, count + 1) as usize);
    let most_threads = cores.len() as u64 + random.pick(&[0, 0, 2]);
    let threads = random.within(1, most_threads + 1) as u16;
    let on_one = u64::from(threads).div_ceil(cores.len() as u64);
    Task {
        name,
        period_ns,
        deadline_ns: period_ns,
        offset_ns: random.within(0, period_ns),
        threads,
        cores,
        program: Program::Compute(Compute {
            time_ns: (period_ns * ppm / 1_000_000 / on_one).max(1),
            slowed_by: Vec::new(),
        }),
        overrun: match random.one_in(4) {
            true => Overrun::Skip,
            false => Overrun::Queue,
        },
        known: Known::default(),
    }
}

/// Half of the tasks suffer from another one, if it happens to run beside them.
fn slow_down(random: &mut Random, task: &mut Task, names: &[String]) {
    let other = &names[random.within(0, names.len() as u64) as usize];
    if random.one_in(2) && *other != task.name {
        let Program::Compute(compute) = &mut task.program else {
            unreachable!("all tasks are compute programs");
        };
        compute.slowed_by = vec![(other.clone(), random.within(1_000, 2_000) as u32)];
    }
}

fn best_effort(random: &mut Random, index: u64, cores: u16) -> BestEffort {
    BestEffort {
        name: format!("work-{index}"),
        threads: random.within(1, 5) as u16,
        cores: (0..cores).collect(),
        pinned: random.one_in(2),
        class_of_service: None,
        program: Program::Compute(Compute {
            time_ns: 0,
            slowed_by: Vec::new(),
        }),
    }
}

fn share(random: &mut Random) -> ShareLimit {
    if random.one_in(2) {
        return ShareLimit::Off;
    }
    let window_ns = random.pick(&[2 * MS, 10 * MS, 50 * MS]);
    ShareLimit::Limited {
        limit_ns: random.within(window_ns / 2, window_ns),
        window_ns,
    }
}
