//! Three gangs and four best-effort loops on CPUs 0 to 3, for the seconds given.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use ringfence_linux::counters::{CpuCounters, Source};
use ringfence_linux::scheduler::{Membership, Regulation, Scheduler, Share, Tolerance};
use ringfence_linux::sys;

fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` lives through the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn work(for_time: Duration) {
    let end = cpu_time() + for_time;
    while cpu_time() < end {
        std::hint::spin_loop();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds: u64 = std::env::args().nth(1).unwrap_or("5".into()).parse()?;
    let mut scheduler = Scheduler::load()?;
    let share = Share {
        limit_ns: 950_000_000,
        window_ns: 1_000_000_000,
    };
    scheduler.add_partition(0, &[0, 1, 2, 3], Some(share))?;
    scheduler.attach()?;
    let budget_ns: u64 = std::env::args().nth(2).unwrap_or("0".into()).parse()?;
    let time = CpuCounters::open(Source::Time, 50_000, &[0, 1, 2, 3])?;
    let tolerance = match budget_ns {
        0 => Tolerance::UNLIMITED,
        reads => Tolerance {
            reads,
            writes: u64::MAX,
        },
    };
    if budget_ns > 0 {
        scheduler.regulate(Regulation {
            cpus: &[0, 1, 2, 3],
            period_ns: 1_000_000,
            sample_every: 1,
            reads: &time,
            writes: None,
        })?;
    }
    for priority in [10, 20, 30] {
        scheduler.add_priority(0, priority, tolerance)?;
    }
    println!("attached");
    let scheduler = Arc::new(scheduler);
    let end = Instant::now() + Duration::from_secs(seconds);
    let jobs: Arc<[AtomicU64; 4]> = Arc::default();
    let mut threads = Vec::new();
    let joined = Arc::new(Barrier::new(10));
    for (gang, priority, period_ms, work_us, cpus) in [
        (1, 30, 10, 1000, &[0, 1, 2, 3][..]),
        (2, 20, 15, 3000, &[0, 1][..]),
        (3, 10, 25, 4000, &[1, 2, 99][..]),
    ] {
        for &cpu in cpus {
            let (scheduler, jobs) = (Arc::clone(&scheduler), Arc::clone(&jobs));
            let joined = Arc::clone(&joined);
            threads.push(
                thread::Builder::new()
                    .name(format!("gang{priority}"))
                    .spawn(move || {
                        if cpu < 99 {
                            sys::set_affinity(0, &[cpu]).unwrap();
                        }
                        // SAFETY: no arguments.
                        let tid = unsafe { libc::gettid() };
                        let member = Membership {
                            partition: 0,
                            priority,
                        };
                        scheduler.join(tid, member).unwrap();
                        joined.wait();
                        let mut next = Instant::now();
                        while Instant::now() < end {
                            work(Duration::from_micros(work_us));
                            jobs[gang].fetch_add(1, Ordering::Relaxed);
                            next += Duration::from_millis(period_ms);
                            thread::sleep(next.saturating_duration_since(Instant::now()));
                        }
                    })?,
            );
        }
    }
    for _ in 0..4 {
        let jobs = Arc::clone(&jobs);
        threads.push(thread::Builder::new().name("hog".into()).spawn(move || {
            while Instant::now() < end {
                work(Duration::from_millis(1));
                jobs[0].fetch_add(1, Ordering::Relaxed);
            }
        })?);
    }
    joined.wait();
    std::fs::write("/tmp/ready", "")?;
    for thread in threads {
        thread.join().unwrap();
    }
    println!("jobs: {jobs:?}");
    println!("{:?} {:?}", scheduler.counters()?, scheduler.exit_note());
    Ok(())
}
