//! Loads for the tests in `tests/kernel`: gangs on CPUs 0 to 3 under the sched_ext
//! scheduler, and best-effort loops beside them.
//!
//! `gang_load MODE SECONDS FOLDER [BUDGET_NS]` writes `FOLDER/gangs.json`, the assignment
//! that `tests/sched-trace/check` reads, when all members have joined, and `FOLDER/go`
//! after it. With a budget, best-effort work of a CPU gets so much time of each millisecond
//! in which a gang runs.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ringfence_linux::counters::{CpuCounters, Source};
use ringfence_linux::scheduler::{Membership, Regulation, Scheduler, Share, Tolerance};
use ringfence_linux::sys;

const CPUS: [u16; 4] = [0, 1, 2, 3];

/// A gang of the load: each of its threads works and sleeps in turns.
#[derive(Clone)]
struct Gang {
    priority: u32,
    /// The CPU of each thread; `None` leaves it free.
    threads: Vec<Option<u16>>,
    period: Duration,
    work: Duration,
    /// What else each job does.
    extra: Extra,
}

#[derive(Clone)]
enum Extra {
    Nothing,
    /// Sleeps in the middle of its work.
    Blocks,
    /// Starts a process and waits for it.
    Forks,
    /// Works with this mutex held.
    Locks(Arc<Mutex<()>>),
    /// Changes its priority from job to job between its own and the next.
    ChangesPriority,
}

fn gang(priority: u32, threads: &[u16], period_us: u64, work_us: u64) -> Gang {
    Gang {
        priority,
        threads: threads.iter().map(|&cpu| Some(cpu)).collect(),
        period: Duration::from_micros(period_us),
        work: Duration::from_micros(work_us),
        extra: Extra::Nothing,
    }
}

/// The gangs of a mode.
fn gangs(mode: &str) -> Result<Vec<Gang>, String> {
    let three = vec![
        gang(30, &[0, 1, 2, 3], 10_000, 700),
        gang(20, &[0, 1], 6_000, 800),
        Gang {
            threads: vec![Some(1), Some(2), None],
            ..gang(10, &[], 9_000, 1_500)
        },
    ];
    let with = |index: usize, extra: Extra| {
        let mut gangs = three.clone();
        gangs[index].extra = extra;
        gangs
    };
    Ok(match mode {
        "hand-overs" => three,
        "blocking" => with(0, Extra::Blocks),
        "forks" => with(1, Extra::Forks),
        "priority" => with(1, Extra::ChangesPriority),
        "mutex" => {
            let shared = Extra::Locks(Arc::default());
            let mut gangs = with(0, shared.clone());
            gangs[2].extra = shared;
            gangs
        }
        "many" => (1..=64)
            .map(|priority| {
                let first = (priority % 4) as u16;
                let threads: Vec<u16> = (0..3).map(|i| (first + i) % 4).collect();
                gang(
                    priority,
                    &threads,
                    200_000 + 1_000 * u64::from(priority),
                    300,
                )
            })
            .collect(),
        "endless" => vec![gang(30, &[0, 1], 1, 1_000_000)],
        other => return Err(format!("found mode {other}; see the source")),
    })
}

struct Load {
    scheduler: Scheduler,
    end: Instant,
    joined: Barrier,
    /// Thread ids of each gang's members.
    members: Mutex<Vec<(u32, i32)>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, mode, seconds, folder, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: gang_load MODE SECONDS FOLDER [BUDGET_NS]");
        exit(1);
    };
    if mode == "hogs" {
        return hogs(Path::new(folder));
    }
    let gangs = gangs(mode)?;
    let folder = Path::new(folder);
    // A process of its own: ours is the scheduler's agent, which is never throttled.
    let mut hogs = Command::new(&arguments[0])
        .args(["hogs", seconds])
        .arg(folder)
        .spawn()?;
    while !folder.join("hogs").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    let budget_ns: Option<u64> = rest.first().map(|text| text.parse()).transpose()?;
    let time = CpuCounters::open(Source::Time, 50_000, &CPUS)?;
    let scheduler = scheduler(&gangs, budget_ns.map(|reads| (reads, &time)))?;
    let threads: usize = gangs.iter().map(|gang| gang.threads.len()).sum();
    let load = Arc::new(Load {
        scheduler,
        end: Instant::now() + Duration::from_secs(seconds.parse()?),
        joined: Barrier::new(threads + 1),
        members: Mutex::default(),
    });
    let mut running: Vec<JoinHandle<u64>> = Vec::new();
    for gang in &gangs {
        for &cpu in &gang.threads {
            let (load, gang) = (Arc::clone(&load), gang.clone());
            let name = format!("gang{}", gang.priority);
            running.push(
                thread::Builder::new()
                    .name(name)
                    .spawn(move || member(&load, &gang, cpu))?,
            );
        }
    }
    load.joined.wait();
    tell_checker(&load, folder, mode)?;
    let jobs: u64 = running
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .sum();
    fs::write(folder.join("stop"), "")?;
    hogs.wait()?;
    let counters = load.scheduler.counters()?;
    println!("jobs {jobs}");
    println!(
        "refused starts {} policy errors {}",
        counters.refused_starts, counters.policy_errors
    );
    if let Some(note) = load.scheduler.exit_note() {
        println!("ejected: {} {}", note.reason, note.message);
    }
    Ok(())
}

fn scheduler(
    gangs: &[Gang],
    budget: Option<(u64, &CpuCounters)>,
) -> Result<Scheduler, Box<dyn Error>> {
    let share = Share {
        limit_ns: 950_000_000,
        window_ns: 1_000_000_000,
    };
    let mut scheduler = Scheduler::load()?;
    scheduler.add_partition(0, &CPUS, Some(share))?;
    scheduler.attach()?;
    let mut tolerance = Tolerance::UNLIMITED;
    if let Some((reads, time)) = budget {
        tolerance.reads = reads;
        scheduler.regulate(Regulation {
            cpus: &CPUS,
            period_ns: 1_000_000,
            sample_every: 1,
            reads: time,
            writes: None,
        })?;
    }
    for gang in gangs {
        scheduler.add_priority(0, gang.priority, tolerance)?;
        scheduler.add_priority(0, gang.priority + 1, tolerance)?;
    }
    Ok(scheduler)
}

/// The assignment, then the sign to start.
fn tell_checker(load: &Load, folder: &Path, mode: &str) -> Result<(), Box<dyn Error>> {
    let members = load.members.lock().unwrap();
    let mut gangs: Vec<u32> = members.iter().map(|member| member.0).collect();
    gangs.sort_unstable();
    gangs.dedup();
    let gangs = gangs.iter().map(|gang| {
        let tids = members.iter().filter(|member| member.0 == *gang);
        let tids: Vec<String> = tids.map(|member| member.1.to_string()).collect();
        format!(
            r#"{{"name":"gang{gang}","partition":"all","priority":{gang},"members":[{{"pids":[{}]}}]}}"#,
            tids.join(",")
        )
    });
    let gangs: Vec<String> = gangs.collect();
    fs::write(
        folder.join("gangs.json"),
        format!(
            r#"{{"partitions":[{{"name":"all","cpus":"0-3"}}],"gangs":[{}]}}"#,
            gangs.join(",")
        ),
    )?;
    fs::write(folder.join("go"), mode)?;
    Ok(())
}

/// A member until the end; how many jobs it did.
fn member(load: &Load, gang: &Gang, cpu: Option<u16>) -> u64 {
    if let Some(cpu) = cpu {
        sys::set_affinity(0, &[cpu]).unwrap();
    }
    // SAFETY: the call takes no arguments.
    let tid = unsafe { libc::gettid() };
    let join = |priority| {
        let member = Membership {
            partition: 0,
            priority,
        };
        load.scheduler.join(tid, member).unwrap();
    };
    join(gang.priority);
    load.members.lock().unwrap().push((gang.priority, tid));
    load.joined.wait();
    let mut next = Instant::now();
    let mut jobs = 0;
    while Instant::now() < load.end {
        job(gang);
        jobs += 1;
        if matches!(gang.extra, Extra::ChangesPriority) {
            join(gang.priority + (jobs % 2) as u32);
        }
        // A slow machine misses releases; it must not work without end for that.
        let now = Instant::now();
        while next <= now {
            next += gang.period;
        }
        thread::sleep(next - now);
    }
    jobs
}

fn job(gang: &Gang) {
    match &gang.extra {
        Extra::Nothing | Extra::ChangesPriority => work(gang.work),
        Extra::Blocks => {
            work(gang.work / 2);
            thread::sleep(Duration::from_micros(300));
            work(gang.work / 2);
        }
        Extra::Forks => {
            work(gang.work / 2);
            let shell = PathBuf::from("/bin/sh");
            let status = Command::new(shell).args(["-c", ":"]).status();
            assert!(status.is_ok_and(|status| status.success()));
        }
        Extra::Locks(mutex) => {
            let _held = mutex.lock().unwrap();
            work(gang.work);
        }
    }
}

/// Best-effort loops, as many as CPUs, from when `FOLDER/hogs` appears until `FOLDER/stop` does.
fn hogs(folder: &Path) -> Result<(), Box<dyn Error>> {
    let stop = folder.join("stop");
    let _ = fs::remove_file(&stop);
    let hog = move || {
        let mut milliseconds = 0_u64;
        while !stop.exists() {
            work(Duration::from_millis(1));
            milliseconds += 1;
        }
        milliseconds
    };
    let hogs = CPUS.map(|_| thread::Builder::new().name("hog".into()).spawn(hog.clone()));
    fs::write(folder.join("hogs"), "")?;
    let mut sum = 0;
    for hog in hogs {
        sum += hog?.join().unwrap();
    }
    println!("best-effort milliseconds {sum}");
    Ok(())
}

/// Uses the CPU for so long; preemption does not count.
fn work(time: Duration) {
    let end = cpu_time() + time;
    while cpu_time() < end {
        std::hint::spin_loop();
    }
}

fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` lives through the call, which writes it.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}
