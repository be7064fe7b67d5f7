//! What the threads of the load do.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ringfence_linux::scheduler::Membership;
use ringfence_linux::sys;

use crate::setups::{Extra, Fifo, Gang};
use crate::{CPUS, Load, POLL};

/// A member until the end; how many jobs it did.
pub fn member(load: &Load, gang: &Gang, cpu: Option<u16>) -> u64 {
    if let Some(cpu) = cpu {
        sys::set_affinity(0, &[cpu]).unwrap();
    }
    let member = Member {
        load,
        gang,
        tid: this_thread(),
    };
    if matches!(gang.extra, Extra::Leaves) {
        return member.leave();
    }
    member.join(gang.priority);
    load.members
        .lock()
        .unwrap()
        .push((gang.clone(), member.tid, cpu));
    load.join();
    if matches!(gang.extra, Extra::Yields) {
        return member.take_turns();
    }
    let mut next = Instant::now();
    let mut jobs = 0;
    while load.goes_on() {
        member.job(jobs);
        jobs += 1;
        // A slow machine misses releases; it must not work without end for that.
        let now = Instant::now();
        let missed = now.saturating_duration_since(next).as_nanos() / gang.period.as_nanos();
        next += gang.period * (missed as u32 + 1);
        thread::sleep(next - now);
    }
    jobs
}

struct Member<'a> {
    load: &'a Load,
    gang: &'a Gang,
    tid: i32,
}

impl Member<'_> {
    fn join(&self, priority: u32) {
        let member = Membership {
            partition: self.gang.partition,
            priority,
        };
        self.load.scheduler.join(self.tid, member).unwrap();
    }

    /// Joins the gang, leaves it, and goes on until the end without ever sleeping.
    fn leave(&self) -> u64 {
        self.load.join();
        self.join(self.gang.priority);
        work(Duration::from_millis(1));
        self.join(0);
        while self.load.goes_on() {
            work(Duration::from_millis(1));
        }
        0
    }

    /// Works without ever sleeping, and yields after each job.
    fn take_turns(&self) -> u64 {
        let mut jobs = 0;
        while self.load.goes_on() {
            work(self.gang.work);
            jobs += 1;
            thread::yield_now();
        }
        jobs
    }

    /// Works for so long, but not beyond the end: on a slow machine a long job would go on without the
    /// others, and best-effort work beside it.
    fn work_on(&self, time: Duration) {
        let end = cpu_time() + time;
        while cpu_time() < end && self.load.goes_on() {
            std::hint::spin_loop();
        }
    }

    fn job(&self, number: u64) {
        let half = self.gang.work / 2;
        match &self.gang.extra {
            Extra::Nothing => self.work_on(self.gang.work),
            Extra::ChangesPriority => {
                work(self.gang.work);
                self.join(self.gang.priority + (number % 2) as u32);
            }
            Extra::Blocks => {
                work(half);
                thread::sleep(Duration::from_micros(300));
                work(half);
            }
            Extra::Forks => {
                work(half);
                let shell = PathBuf::from("/bin/sh");
                let status = Command::new(shell).args(["-c", ":"]).status();
                assert!(status.is_ok_and(|status| status.success()));
            }
            Extra::Kills => kill(half),
            Extra::Locks(mutex) => {
                let _held = mutex.lock().unwrap();
                work(self.gang.work);
            }
            Extra::WaitsForKernel => {
                work(self.gang.work);
                wait_for_grace_period();
            }
            Extra::Leaves | Extra::Yields => unreachable!("it has a loop of its own"),
            Extra::ChangesAffinity => {
                let cpus: [&[u16]; 5] = [&[1], &[0, 1, 2, 3], &[2], &[3], &[0, 3]];
                work(half);
                sys::set_affinity(0, cpus[(number % 5) as usize]).unwrap();
                work(half);
            }
        }
    }
}

/// Works beside a member that never sleeps, and kills it.
fn kill(time: Duration) {
    let shell = Command::new("/bin/sh")
        .args(["-c", "while :; do :; done"])
        .spawn();
    let mut endless = shell.unwrap();
    work(time);
    endless.kill().unwrap();
    endless.wait().unwrap();
}

fn this_thread() -> i32 {
    // SAFETY: the call takes no arguments.
    unsafe { libc::gettid() }
}

/// Sleeps until the kernel's thread for RCU has seen a grace period begin and end: that is
/// how membarrier(2) waits for all threads.
fn wait_for_grace_period() {
    let (flags, cpu) = (0, 0);
    // SAFETY: the call takes numbers only.
    let status = unsafe {
        libc::syscall(
            libc::SYS_membarrier,
            libc::MEMBARRIER_CMD_GLOBAL,
            flags,
            cpu,
        )
    };
    assert_eq!(status, 0, "{}", std::io::Error::last_os_error());
}

/// A thread of the kernel's own real-time class until the end.
pub fn fifo(load: &Load, Fifo { cpu, sleep }: Fifo) {
    sys::set_affinity(0, &[cpu]).unwrap();
    sys::set_class(0, libc::SCHED_FIFO, 10).unwrap();
    while load.goes_on() {
        work(Duration::from_micros(400));
        // Until the load begins it must not keep others from getting ready.
        if let Some(sleep) = sleep.or(load.end.get().is_none().then_some(POLL)) {
            thread::sleep(sleep);
        }
    }
}

/// Best-effort loops of these nice values, from when `FOLDER/hogs` appears until
/// `FOLDER/stop` does; what they did since `FOLDER/go` counts. In a crowd every second one changes
/// its nice value all the time, by one: what a thread has used must not be charged again for that.
pub fn hogs(folder: &Path, nice_values: &[i32]) -> Result<(), Box<dyn Error>> {
    // Killed, the load cannot tell them to stop.
    // SAFETY: the call takes numbers only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let (go, stop) = (folder.join("go"), folder.join("stop"));
    for old in [&go, &stop] {
        let _ = fs::remove_file(old);
    }
    let is_crowd = nice_values.len() > CPUS.len();
    let hogs = nice_values.iter().enumerate().map(|(index, &nice)| {
        let (go, stop) = (go.clone(), stop.clone());
        let changes = i32::from(is_crowd && index % 2 == 1);
        let hog = move || {
            let mut milliseconds = 0_u64;
            let mut round = 0;
            while !stop.exists() {
                if round == 0 || changes > 0 {
                    set_nice(nice + round % 2 * changes);
                }
                work(Duration::from_millis(1));
                milliseconds += u64::from(go.exists());
                round += 1;
            }
            milliseconds
        };
        thread::Builder::new().name("hog".into()).spawn(hog)
    });
    let hogs: Vec<_> = hogs.collect::<Result<_, _>>()?;
    fs::write(folder.join("hogs"), "")?;
    let each: Vec<u64> = hogs.into_iter().map(|hog| hog.join().unwrap()).collect();
    println!("best-effort milliseconds {each:?}");
    Ok(())
}

/// Of this thread.
fn set_nice(nice: i32) {
    // SAFETY: the call takes numbers only.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, this_thread() as u32, nice) };
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
