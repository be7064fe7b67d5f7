//! Loads for the tests in `tests/kernel`: gangs on CPUs 0 to 3 under the sched_ext
//! scheduler, and best-effort loops beside them.
//!
//! `gang_load FOLDER NAME:MODE:MILLISECONDS[:BUDGET_NS]...` runs one load after the other, all
//! under one scheduler, so they must have the same partitions and kind of budgets. With a budget,
//! best-effort work of a CPU gets so much time of each period in which a gang of partition 0 runs. Each load writes to
//! `FOLDER/NAME`:
//!
//! - `gangs.json`: the assignment that `tests/sched-trace/check` reads, when all members have joined
//! - `go`: after it
//! - `trace`: the kernel's trace from then on, of the events that are switched on
//! - `result`: at the end
//!
//! `gang_load refusals` tells the scheduler what it must refuse.

mod refusals;
mod setups;
mod trace;
mod work;

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, exit};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringfence_linux::counters::{CpuCounters, Source};
use ringfence_linux::scheduler::{Regulation, Scheduler, Tolerance, Use};
use setups::{Budgets, Gang, Setup};

const CPUS: [u16; 4] = [0, 1, 2, 3];
/// Of regulation; long, as each quantum and refill is an interrupt and emulated CPUs are slow.
const PERIOD_NS: u64 = 10_000_000;
const QUANTUM_NS: u64 = 500_000;
const POLL: Duration = Duration::from_millis(10);

/// What the command line asks for.
struct Wanted {
    name: String,
    setup: Setup,
    lasts: Duration,
    budget_ns: Option<u64>,
}

impl Wanted {
    fn parse(text: &str) -> Result<Self, Box<dyn Error>> {
        let parts: Vec<&str> = text.split(':').collect();
        let [name, mode, milliseconds, rest @ ..] = parts.as_slice() else {
            return Err(
                format!("found {text}, expected NAME:MODE:MILLISECONDS[:BUDGET_NS]").into(),
            );
        };
        Ok(Self {
            name: (*name).to_owned(),
            setup: Setup::of(mode).ok_or(format!("found mode {mode}; see setups.rs"))?,
            lasts: Duration::from_millis(milliseconds.parse()?),
            budget_ns: rest.first().map(|text| text.parse()).transpose()?,
        })
    }
}

/// A load under way.
struct Load {
    scheduler: Arc<Scheduler>,
    /// Counted from when all have joined, however long a slow machine takes for that.
    end: OnceLock<Instant>,
    joined: AtomicUsize,
    /// Gang, thread id and CPU of each member.
    members: Mutex<Vec<(Gang, i32, Option<u16>)>>,
}

impl Load {
    /// Tells that a thread is ready, and sleeps until all are. A barrier would not do: a lower
    /// member that is stopped with its mutex held keeps the higher ones waiting.
    fn join(&self) {
        self.joined.fetch_add(1, Ordering::Relaxed);
        while self.end.get().is_none() {
            thread::park();
        }
    }

    fn goes_on(&self) -> bool {
        self.end.get().is_none_or(|end| Instant::now() < *end)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((folder, rest)) = arguments.split_first() else {
        eprintln!("usage: gang_load FOLDER NAME:MODE:MILLISECONDS[:BUDGET_NS]... | refusals");
        exit(1);
    };
    if folder == "refusals" {
        return refusals::check();
    }
    let folder = Path::new(folder);
    if let Some(("hogs", nice)) = rest.split_first().map(|(mode, nice)| (mode.as_str(), nice)) {
        let nice: Result<Vec<i32>, _> = nice.iter().map(|text| text.parse()).collect();
        return work::hogs(folder, &nice?);
    }
    let wanted: Result<Vec<Wanted>, _> = rest.iter().map(|text| Wanted::parse(text)).collect();
    let wanted = wanted?;
    let first = wanted.first().ok_or("found no load")?;
    let is_counted = first.setup.budgets == Some(Budgets::Counted);
    let counters = is_counted.then(|| CpuCounters::open(Source::Time, QUANTUM_NS, &CPUS));
    let counters = counters.transpose()?;
    let counted = counters.as_ref().map(|reads| Use::Events {
        reads,
        writes: None,
    });
    let budgets = first.setup.budgets.map(|_| counted.unwrap_or(Use::Time));
    let mut scheduler = start(&first.setup, budgets)?;
    for wanted in &wanted {
        assert!(
            wanted.setup.partitions == first.setup.partitions
                && wanted.setup.budgets == first.setup.budgets
                && wanted.setup.share == first.setup.share,
            "one scheduler has them"
        );
        add_gangs(&mut scheduler, wanted)?;
        // Shared with the members until they have ended.
        let shared = Arc::new(scheduler);
        run(&shared, wanted, &folder.join(&wanted.name))?;
        scheduler = Arc::into_inner(shared).ok_or("a thread of the load still runs")?;
    }
    Ok(())
}

/// The scheduler with its partitions, attached.
fn start(setup: &Setup, budgets: Option<Use<'_>>) -> Result<Scheduler, Box<dyn Error>> {
    let mut scheduler = Scheduler::load()?;
    for (index, cpus) in (0..).zip(&setup.partitions) {
        scheduler.add_partition(index, cpus, setup.share)?;
    }
    scheduler.attach()?;
    if let Some(by) = budgets {
        scheduler.regulate(Regulation {
            cpus: &CPUS,
            period_ns: PERIOD_NS,
            sample_every: 1,
            by,
        })?;
    }
    Ok(scheduler)
}

fn add_gangs(scheduler: &mut Scheduler, wanted: &Wanted) -> Result<(), Box<dyn Error>> {
    for gang in &wanted.setup.gangs {
        // Gangs of other partitions tolerate everything.
        let budget_ns = wanted.budget_ns.filter(|_| gang.partition == 0);
        let tolerance = Tolerance {
            reads: budget_ns.unwrap_or(u64::MAX),
            ..Tolerance::UNLIMITED
        };
        scheduler.add_priority(gang.partition, gang.priority, tolerance)?;
        scheduler.add_priority(gang.partition, gang.priority + 1, tolerance)?;
    }
    Ok(())
}

/// Runs a load to its end.
fn run(scheduler: &Arc<Scheduler>, wanted: &Wanted, folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let mut result = File::create(folder.join("result"))?;
    let mut hogs = hogs(folder, &wanted.setup.hogs, result.try_clone()?)?;
    let threads = wanted.setup.gangs.iter().map(|gang| gang.threads.len());
    let threads: usize = threads.sum();
    let load = Arc::new(Load {
        scheduler: Arc::clone(scheduler),
        end: OnceLock::new(),
        joined: AtomicUsize::new(0),
        members: Mutex::default(),
    });
    let (members, fifo) = threads_of(&load, &wanted.setup)?;
    while load.joined.load(Ordering::Relaxed) < threads {
        thread::sleep(POLL);
    }
    fs::write(folder.join("gangs.json"), assignment(&load, &wanted.setup))?;
    trace::start()?;
    fs::write(folder.join("go"), "")?;
    load.end.get_or_init(|| Instant::now() + wanted.lasts);
    for thread in &members {
        thread.thread().unpark();
    }
    let jobs: Vec<u64> = members
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    for thread in fifo {
        thread.join().unwrap();
    }
    trace::stop()?;
    fs::write(folder.join("stop"), "")?;
    hogs.wait()?;
    // Late: it takes long, and what the hogs did meanwhile would count.
    trace::save(&folder.join("trace"))?;
    writeln!(result, "jobs {jobs:?}")?;
    if let Some(note) = scheduler.exit_note() {
        writeln!(result, "ejected: {} {}", note.reason, note.message)?;
    }
    let counters = scheduler.counters()?;
    writeln!(
        result,
        "refused starts {} policy errors {}",
        counters.refused_starts, counters.policy_errors
    )?;
    Ok(())
}

/// Best-effort loops, in a process of their own: ours is the scheduler's agent, which is never
/// throttled.
fn hogs(folder: &Path, nice: &[i32], output: File) -> Result<Child, Box<dyn Error>> {
    let hogs = Command::new("/proc/self/exe")
        .arg(folder)
        .arg("hogs")
        .args(nice.iter().map(i32::to_string))
        .stdout(output)
        .spawn()?;
    while !folder.join("hogs").exists() {
        thread::sleep(POLL);
    }
    Ok(hogs)
}

type Threads = (Vec<JoinHandle<u64>>, Vec<JoinHandle<()>>);

/// The members, and the threads of the real-time class.
fn threads_of(load: &Arc<Load>, setup: &Setup) -> Result<Threads, Box<dyn Error>> {
    let mut members = Vec::new();
    for gang in &setup.gangs {
        for &cpu in &gang.threads {
            let (load, gang) = (Arc::clone(load), gang.clone());
            let thread = thread::Builder::new().name(format!("gang{}", gang.priority));
            members.push(thread.spawn(move || work::member(&load, &gang, cpu))?);
        }
    }
    let fifo = setup.fifo.iter().map(|&fifo| {
        let load = Arc::clone(load);
        thread::spawn(move || work::fifo(&load, fifo))
    });
    Ok((members, fifo.collect()))
}

/// Which threads are of which gang, as the checker reads it.
fn assignment(load: &Load, setup: &Setup) -> String {
    let partitions = (0..)
        .zip(&setup.partitions)
        .map(|(index, cpus)| format!(r#"{{"name":"{index}","cpus":"{}"}}"#, list(cpus)));
    let members = load.members.lock().unwrap();
    let gangs = members.iter().map(|(gang, tid, cpu)| {
        let cpus = cpu.map_or(String::new(), |cpu| format!(r#","cpus":"{cpu}""#));
        format!(
            r#"{{"name":"gang{}","partition":"{}","priority":{},"members":[{{"pids":[{tid}]{cpus}}}]}}"#,
            gang.priority, gang.partition, gang.priority
        )
    });
    format!(
        r#"{{"partitions":[{}],"gangs":[{}]}}"#,
        partitions.collect::<Vec<_>>().join(","),
        gangs.collect::<Vec<_>>().join(",")
    )
}

/// The CPUs as the kernel lists them.
fn list(cpus: &[u16]) -> String {
    let cpus: Vec<String> = cpus.iter().map(u16::to_string).collect();
    cpus.join(",")
}
