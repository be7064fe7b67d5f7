//! Which jobs are released when, and which of them run.

use ringfence_scenario::model::Overrun;

/// Releases of a periodic task.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// Of job 0, on CLOCK_MONOTONIC.
    pub first_ns: u64,
    /// Time between two; positive.
    pub period_ns: u64,
    /// From here on nothing is released or begun.
    pub end_ns: u64,
    /// What happens to a release while the job before it still runs.
    pub overrun: Overrun,
}

impl Schedule {
    /// When job `job` is released, on CLOCK_MONOTONIC.
    pub fn release_ns(&self, job: u64) -> u64 {
        self.first_ns
            .saturating_add(job.saturating_mul(self.period_ns))
    }

    /// Jobs that are released at all.
    pub fn jobs(&self) -> u64 {
        self.end_ns
            .saturating_sub(self.first_ns)
            .div_ceil(self.period_ns)
    }

    /// The job to run after `job` has ended at `now_ns`; [`Self::jobs`] or more is none.
    /// With [`Overrun::Skip`] those released before that are dropped.
    pub fn after(&self, job: u64, now_ns: u64) -> u64 {
        match self.overrun {
            Overrun::Queue if now_ns >= self.end_ns => self.jobs().max(job + 1),
            Overrun::Queue => job + 1,
            Overrun::Skip => {
                let released = now_ns
                    .saturating_sub(self.first_ns)
                    .div_ceil(self.period_ns);
                released.max(job + 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Step by step: a job is dropped if it is released while another one runs.
        #[test]
        fn skipping_drops_what_is_released_while_a_job_runs(
            first_ns in 0_u64..50,
            period_ns in 1_u64..20,
            duration_ns in 0_u64..200,
            times in prop::collection::vec(0_u64..60, 20),
            skips: bool,
        ) {
            let overrun = if skips { Overrun::Skip } else { Overrun::Queue };
            let schedule = Schedule { first_ns, period_ns, end_ns: first_ns + duration_ns, overrun };
            let releases = (0..).map(|job| first_ns + job * period_ns);
            let releases: Vec<u64> = releases.take_while(|&at| at < first_ns + duration_ns).collect();
            prop_assert_eq!(schedule.jobs(), releases.len() as u64);
            let (mut job, mut now_ns) = (0, 0);
            for time_ns in times {
                let Some(&release_ns) = releases.get(job as usize) else { break };
                prop_assert_eq!(schedule.release_ns(job), release_ns);
                let begin_ns = release_ns.max(now_ns);
                now_ns = begin_ns + time_ns;
                let expected = match overrun {
                    Overrun::Queue if now_ns >= first_ns + duration_ns => {
                        schedule.jobs().max(job + 1)
                    }
                    Overrun::Queue => job + 1,
                    Overrun::Skip => {
                        let during = |at: u64| at < now_ns;
                        let mut next = job + 1;
                        while during(first_ns + next * period_ns) {
                            next += 1;
                        }
                        next
                    }
                };
                prop_assert_eq!(schedule.after(job, now_ns), expected);
                job = expected;
            }
        }
    }

    #[test]
    fn times_at_the_end_of_time_do_not_overflow() {
        let schedule = Schedule {
            first_ns: u64::MAX - 1,
            period_ns: u64::MAX,
            end_ns: u64::MAX,
            overrun: Overrun::Skip,
        };
        assert_eq!(schedule.jobs(), 1);
        assert_eq!(schedule.release_ns(u64::MAX), u64::MAX);
        assert_eq!(schedule.after(0, u64::MAX), 1);
    }
}
