//! What each mode of the load consists of.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringfence_linux::scheduler::Share;

/// Partitions, gangs and what runs beside them.
#[derive(Clone)]
pub struct Setup {
    /// The CPUs of each partition.
    pub partitions: Vec<Vec<u16>>,
    pub gangs: Vec<Gang>,
    /// Nice values of best-effort loops.
    pub hogs: Vec<i32>,
    /// Threads of the kernel's own real-time class.
    pub fifo: Vec<Fifo>,
    /// What best-effort work has budgets of, if it has any.
    pub budgets: Option<Budgets>,
    /// The share limit of each partition; `None` lets gangs run for ever.
    pub share: Option<Share>,
}

/// A thread of the kernel's own real-time class.
#[derive(Clone, Copy)]
pub struct Fifo {
    pub cpu: u16,
    /// After each piece of work; without one it never leaves the CPU.
    pub sleep: Option<Duration>,
}

/// How the use of time is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Budgets {
    /// By a counter on each CPU, as traffic is where there is a PMU.
    Counted,
    /// By the scheduler's timers.
    Timed,
}

/// A gang of the load: each of its threads works and sleeps in turns.
#[derive(Clone)]
pub struct Gang {
    pub partition: u32,
    pub priority: u32,
    /// The CPU of each thread; `None` leaves it free.
    pub threads: Vec<Option<u16>>,
    pub period: Duration,
    pub work: Duration,
    /// What else each job does.
    pub extra: Extra,
}

#[derive(Clone)]
pub enum Extra {
    Nothing,
    /// Sleeps in the middle of its work.
    Blocks,
    /// Starts a process and waits for it.
    Forks,
    /// Starts a process that never sleeps, and kills it while both run.
    Kills,
    /// Works with this mutex held.
    Locks(Arc<Mutex<()>>),
    /// Changes its priority from job to job between its own and the next.
    ChangesPriority,
    /// Never sleeps, and yields after each job.
    Yields,
    /// Leaves the gang while it runs, and goes on as a thread of the scheduler's agent.
    Leaves,
    /// May run on other CPUs from job to job, at times on none of its partition.
    ChangesAffinity,
    /// Waits for a kernel thread that may run on any CPU.
    WaitsForKernel,
}

impl Setup {
    /// The setup of a mode, or `None` if there is no such mode.
    pub fn of(mode: &str) -> Option<Self> {
        Some(match mode {
            "hand-overs" => machine(three()),
            "blocking" => machine(with(0, Extra::Blocks)),
            "forks" => machine(with(1, Extra::Forks)),
            // Two, and what they start: one on each CPU.
            "kills" => {
                let mut gangs = with(1, Extra::Kills);
                gangs[1].threads = vec![FREE; 2];
                machine(gangs)
            }
            "priority" => machine(with(1, Extra::ChangesPriority)),
            "leaving" => {
                let mut gangs = three();
                gangs.push(Gang {
                    extra: Extra::Leaves,
                    ..gang(40, &[Some(3)], 1, 1)
                });
                Self {
                    hogs: vec![],
                    ..machine(gangs)
                }
            }
            "yields" => machine(vec![Gang {
                extra: Extra::Yields,
                ..gang(30, &[Some(0), Some(0), Some(0)], 1, 1_000)
            }]),
            "mutex" => {
                let shared = Extra::Locks(Arc::default());
                // Those who wait for each other need longer: a slow machine must keep up.
                let mut gangs = vec![
                    gang(30, &[Some(0), Some(1), Some(2), Some(3)], 40_000, 400),
                    gang(20, &[Some(0), Some(1)], 25_000, 800),
                    gang(10, &[Some(1), Some(2), FREE], 45_000, 800),
                ];
                gangs[0].extra = shared.clone();
                gangs[2].extra = shared;
                machine(gangs)
            }
            "free" => machine(vec![
                gang(30, &[FREE; 2], 10_000, 700),
                gang(20, &[FREE; 4], 7_000, 800),
                gang(10, &[FREE; 3], 9_000, 1_500),
            ]),
            "many" => machine((1..=64).map(one_of_many).collect()),
            "all-cpus" => machine(vec![gang(
                30,
                &[Some(0), Some(1), Some(2), Some(3)],
                1,
                400_000,
            )]),
            // Those below it wait to the end, on a CPU that they share with it and on an idle one.
            "endless" => Self {
                hogs: vec![],
                ..machine(vec![
                    gang(30, &[Some(0), Some(1), Some(2)], 1, 400_000),
                    gang(20, &[Some(3), FREE], 9_000, 1_500),
                    gang(10, &[Some(0), Some(3), FREE], 9_000, 1_500),
                ])
            },
            // More wait than could one after the other; with a budget of next to nothing, loops do as well.
            "unlimited" => {
                let mut gangs = vec![gang(60, &[Some(0), Some(1), Some(2), Some(3)], 1, 400_000)];
                gangs.extend((1..=50).map(|priority| {
                    let cpu = (priority % 4) as u16;
                    gang(priority, &[(cpu > 0).then_some(cpu)], 9_000, 1_500)
                }));
                Self {
                    share: None,
                    budgets: Some(Budgets::Timed),
                    ..machine(gangs)
                }
            }
            "counted" => endless(Budgets::Counted),
            // The gang of the other partition comes and goes, and tolerates everything.
            "apart" => Setup {
                partitions: vec![vec![0, 1], vec![2, 3]],
                gangs: [
                    endless(Budgets::Counted).gangs,
                    vec![Gang {
                        partition: 1,
                        ..gang(20, &[Some(2)], 25_000, 2_000)
                    }],
                ]
                .concat(),
                ..endless(Budgets::Counted)
            },
            "timed" => endless(Budgets::Timed),
            "fifo" => Self {
                fifo: vec![Fifo {
                    cpu: 1,
                    sleep: Some(Duration::from_micros(2_700)),
                }],
                ..machine(three())
            },
            // Only one CPU is left, for a gang, for what it waits for, and for one that never sleeps.
            "outranked" => {
                let waits = Gang {
                    extra: Extra::WaitsForKernel,
                    ..gang(30, &[Some(3)], 20_000, 1_000)
                };
                let never_sleeps = gang(20, &[Some(3)], 1, 400_000);
                Self {
                    fifo: [0, 1, 2].map(|cpu| Fifo { cpu, sleep: None }).to_vec(),
                    ..machine(vec![waits, never_sleeps])
                }
            }
            "crowd" => Self {
                hogs: vec![0, 0, 0, 0, 0, 0, 5, 5],
                ..machine(vec![gang(30, &[Some(0)], 10_000, 700)])
            },
            "small" => Self {
                partitions: vec![vec![1, 2]],
                ..machine(small())
            },
            "affinity" => {
                let mut gangs = small();
                gangs[0].extra = Extra::ChangesAffinity;
                gangs[2].extra = Extra::ChangesAffinity;
                Self {
                    partitions: vec![vec![1, 2]],
                    ..machine(gangs)
                }
            }
            "partitions" => {
                let other = [
                    gang(25, &[Some(0), Some(3)], 8_000, 600),
                    gang(15, &[FREE, FREE], 7_000, 1_000),
                ];
                let other = other.map(|gang| Gang {
                    partition: 1,
                    ..gang
                });
                Self {
                    partitions: vec![vec![1, 2], vec![0, 3]],
                    ..machine(small().into_iter().chain(other).collect())
                }
            }
            _ => return None,
        })
    }
}

const FREE: Option<u16> = None;

/// Gangs on a partition of all four CPUs, and a loop for each CPU.
fn machine(gangs: Vec<Gang>) -> Setup {
    Setup {
        partitions: vec![vec![0, 1, 2, 3]],
        gangs,
        hogs: vec![0; 4],
        fifo: vec![],
        budgets: None,
        share: Some(Share {
            limit_ns: 950_000_000,
            window_ns: 1_000_000_000,
            origin_ns: 0,
        }),
    }
}

/// A gang that never sleeps on half of the CPUs.
fn endless(budgets: Budgets) -> Setup {
    Setup {
        budgets: Some(budgets),
        ..machine(vec![gang(30, &[Some(0), Some(1)], 1, 1_000_000)])
    }
}

fn gang(priority: u32, threads: &[Option<u16>], period_us: u64, work_us: u64) -> Gang {
    Gang {
        partition: 0,
        priority,
        threads: threads.to_vec(),
        period: Duration::from_micros(period_us),
        work: Duration::from_micros(work_us),
        extra: Extra::Nothing,
    }
}

/// Of all CPUs, of two, and of two and a free thread.
fn three() -> Vec<Gang> {
    vec![
        gang(30, &[Some(0), Some(1), Some(2), Some(3)], 10_000, 700),
        gang(20, &[Some(0), Some(1)], 6_000, 800),
        gang(10, &[Some(1), Some(2), FREE], 9_000, 1_500),
    ]
}

fn with(index: usize, extra: Extra) -> Vec<Gang> {
    let mut gangs = three();
    gangs[index].extra = extra;
    gangs
}

/// On CPUs 1 and 2.
fn small() -> Vec<Gang> {
    vec![
        gang(30, &[Some(1), FREE], 10_000, 700),
        gang(20, &[Some(2)], 6_000, 800),
        gang(10, &[FREE, FREE], 9_000, 1_500),
    ]
}

/// Of 64 with 200 threads together.
fn one_of_many(priority: u32) -> Gang {
    let first = (priority % 4) as u16;
    let pinned = (0..3).map(|i| Some((first + i) % 4));
    let threads: Vec<_> = pinned
        .chain(priority.is_multiple_of(8).then_some(FREE))
        .collect();
    gang(
        priority,
        &threads,
        200_000 + 1_000 * u64::from(priority),
        300,
    )
}
