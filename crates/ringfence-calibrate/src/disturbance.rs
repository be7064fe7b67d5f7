//! What else ran on the machine during a measurement.

use serde::Serialize;

/// Other work that a measurement met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Disturbance {
    /// Time that a hypervisor gave to others while processors here had work, in milliseconds.
    pub stolen_ms: u64,
    /// Highest load average seen: threads that wanted to run, this measurement's included.
    pub load: f64,
    /// Slices that were thrown away because the system put other work on their processor.
    pub slices_dropped: u64,
    /// Slices that were kept.
    pub slices_kept: u64,
}

/// Looks at the counters of the system.
#[derive(Debug)]
pub struct Watch {
    stolen_ticks: u64,
    seen: Disturbance,
}

/// Kernels count times in `/proc/stat` in hundredths of a second on every common machine.
const TICK_MS: u64 = 10;

impl Watch {
    /// Starts to watch.
    pub fn start() -> Self {
        Self {
            stolen_ticks: stolen_now(),
            seen: Disturbance {
                load: load_now(),
                ..Disturbance::default()
            },
        }
    }

    /// Takes note of a slice and of the load beside it.
    pub fn slice(&mut self, is_kept: bool) {
        match is_kept {
            true => self.seen.slices_kept += 1,
            false => self.seen.slices_dropped += 1,
        }
        self.seen.load = self.seen.load.max(load_now());
    }

    /// What was seen since the start.
    pub fn stop(self) -> Disturbance {
        let ticks = stolen_now().saturating_sub(self.stolen_ticks);
        Disturbance {
            stolen_ms: ticks * TICK_MS,
            load: self.seen.load.max(load_now()),
            ..self.seen
        }
    }
}

/// How often the calling thread has had to leave its processor to other work so far.
pub fn involuntary_switches() -> u64 {
    switches_in("/proc/thread-self/status")
}

/// The same of the thread of this process that the system calls `thread`.
pub fn involuntary_switches_of_thread(thread: i32) -> u64 {
    switches_in(&format!("/proc/self/task/{thread}/status"))
}

fn switches_in(path: &str) -> u64 {
    let status = std::fs::read_to_string(path).unwrap_or_default();
    involuntary_switches_of(&status).unwrap_or(0)
}

fn involuntary_switches_of(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    let count = lines.find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    count.trim().parse().ok()
}

fn stolen_now() -> u64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    stolen_ticks_of(&stat).unwrap_or(0)
}

/// The eighth figure of the first line: user, nice, system, idle, iowait, irq, softirq, steal.
fn stolen_ticks_of(stat: &str) -> Option<u64> {
    let all = stat.lines().next()?.strip_prefix("cpu ")?;
    all.split_whitespace().nth(7)?.parse().ok()
}

fn load_now() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|load| load.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counters_are_read() {
        let stat =
            "cpu  2626712 2964780 318441 3455768 8452 0 2468 6027 0 0\ncpu0 1 2 3 4 5 6 7 8\n";
        assert_eq!(stolen_ticks_of(stat), Some(6027));
        assert_eq!(stolen_ticks_of("cpu  1 2 3\n"), None);
        assert_eq!(stolen_ticks_of(""), None);
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(involuntary_switches_of(status), Some(3));
        assert_eq!(involuntary_switches_of("Name:\tx\n"), None);
    }

    #[test]
    fn a_thread_is_found_by_its_number() {
        let here = ringfence_workloads::cpu::thread_number();
        let path = format!("/proc/self/task/{here}/status");
        assert!(
            std::fs::read_to_string(path)
                .unwrap()
                .contains("nonvoluntary_ctxt_switches:")
        );
        // It may be switched from between any two looks.
        let before = involuntary_switches();
        let by_number = involuntary_switches_of_thread(here);
        assert!((before..=involuntary_switches()).contains(&by_number));
    }

    #[test]
    fn slices_are_counted() {
        let mut watch = Watch::start();
        watch.slice(true);
        watch.slice(true);
        watch.slice(false);
        let seen = watch.stop();
        assert_eq!((seen.slices_kept, seen.slices_dropped), (2, 1));
    }
}
