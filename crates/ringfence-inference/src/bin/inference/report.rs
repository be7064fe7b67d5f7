//! What the jobs took.

use ringfence_analysis::distribution::Distribution;
use serde::Serialize;

use super::arguments::Arguments;

/// What was computed.
#[derive(Debug, Serialize)]
pub struct Report {
    format: u32,
    threads: u16,
    /// Whether times count from releases; otherwise from the begin of each job.
    periodic: bool,
    /// Jobs that were released while another one ran.
    pub dropped: u64,
    /// Of each job that ran.
    times_ns: Vec<u64>,
}

impl Report {
    pub fn new(arguments: &Arguments) -> Self {
        // Written, so that nothing of it is made between two jobs.
        let mut times_ns = vec![1; arguments.jobs as usize];
        times_ns.clear();
        Self {
            format: 1,
            threads: arguments.threads,
            periodic: arguments.period.is_some(),
            dropped: 0,
            times_ns,
        }
    }

    /// One more job.
    pub fn add(&mut self, time_ns: u64) {
        self.times_ns.push(time_ns);
    }
}

impl ringfence_workloads::report::Report for Report {
    fn text(&self) -> String {
        let Some(times) = Distribution::of(self.times_ns.clone()) else {
            return "no job ran\n".to_owned();
        };
        let what = match self.periodic {
            true => "from its release",
            false => "each",
        };
        let [min, median, p99, max] =
            [times.min_ns, times.median_ns, times.p99_ns, times.max_ns].map(|ns| ns as f64 / 1e6);
        format!(
            "{} jobs, {} dropped; {what}: {min:.3} to {max:.3} ms, median {median:.3} ms, 99 % within {p99:.3} ms\n",
            times.count, self.dropped,
        )
    }
}
