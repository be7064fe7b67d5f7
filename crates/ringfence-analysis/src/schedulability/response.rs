//! Response-time analysis of one gang at a time, with arbitrary deadlines.
//!
//! One gang at a time makes a partition a single processor whose tasks are the
//! gangs (RT-Gang, RTAS 2019, section III-B). The longest response of a task is
//! found in its longest busy window, job by job (Lehoczky, "Fixed priority
//! scheduling of periodic task sets with arbitrary deadlines", RTSS 1990; with
//! release jitter and blocking: Tindell, Burns, Wellings, "An extendible approach
//! for analyzing fixed priority hard real-time tasks", Real-Time Systems 6(2),
//! 1994; Audsley et al., Software Engineering Journal 8(5), 1993). What is
//! charged beside execution is in [`super::demand`] and [`super::system::Costs`].
//!
//! All arithmetic is in whole nanoseconds and saturates; a window longer than
//! [`LONGEST_WINDOW_NS`] counts as without bound.

use super::demand::{self, Spent, Stream};
use super::system::{Partition, Share, Task};

/// Longest busy window that is looked at: ten days, longer than any run.
pub const LONGEST_WINDOW_NS: u64 = 10 * 86_400_000_000_000;

/// Most steps towards a fixed point in one window. A window that needs more is
/// without a bound for all practical purposes: its gangs use up the processor.
const MAX_STEPS: u32 = 1_000_000;

/// The longest response of a task, and where the time goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Response {
    /// From nominal release to finish.
    pub response_ns: u64,
    /// Which job of the busy window it is, from 0.
    pub job: u64,
    /// The job itself.
    pub own: Spent,
    /// Everything that has precedence: higher gangs, tasks of the same gang on the
    /// same cores, earlier jobs, interrupts.
    pub others: Spent,
    /// Waiting for the share limit's next window, and getting going again.
    pub share_ns: u64,
}

/// Bounds the response time of `task` when real-time work may use all time, or
/// `share` of it; `None` when there is no bound.
pub fn bound(partition: &Partition, task: &Task, share: Option<Share>) -> Option<Response> {
    let own = demand::job(partition, task)?;
    let others = demand::delaying(partition, task)?;
    if uses_up_the_processor(task, &own, &others) {
        return None;
    }
    let window = Window {
        own,
        others,
        share,
        resume_ns: share.map_or(0, |_| share_resume_ns(partition, task)),
    };
    let mut steps = MAX_STEPS;
    let mut worst: Option<Response> = None;
    let mut length_ns = 0;
    for job in 0.. {
        length_ns = window.length_ns(job, length_ns, &mut steps)?;
        // The first job comes as late as its jitter allows, later ones in time.
        let released_ns = i128::from(job) * i128::from(task.period_ns) - i128::from(task.jitter_ns);
        let response_ns = u64::try_from(i128::from(length_ns) - released_ns).ok()?;
        if worst.is_none_or(|worst| worst.response_ns < response_ns) {
            worst = Some(window.explain(job, length_ns, response_ns));
        }
        if i128::from(length_ns) <= released_ns + i128::from(task.period_ns) {
            break;
        }
    }
    worst
}

/// What one renewal of the share costs: cores are told, threads resume.
fn share_resume_ns(partition: &Partition, task: &Task) -> u64 {
    partition
        .costs
        .hand_over_ns()
        .saturating_add(partition.interrupt_ns())
        .saturating_add(partition.worst_resume_ns(task.priority, u8::MAX))
}

/// A cheap and safe way to see that no window ends: utilisation, rounded down, above one.
fn uses_up_the_processor(task: &Task, own: &Spent, others: &[Stream]) -> bool {
    const ONE: u128 = 1 << 40;
    let part =
        |work: &Spent, period_ns: u64| u128::from(work.total()) * ONE / u128::from(period_ns);
    let sum = others
        .iter()
        .map(|stream| part(&stream.work, stream.period_ns))
        .fold(part(own, task.period_ns), u128::saturating_add);
    sum > ONE
}

struct Window {
    own: Spent,
    others: Vec<Stream>,
    share: Option<Share>,
    resume_ns: u64,
}

impl Window {
    /// When job `job` of the window finishes, from the begin of the window. Starts
    /// to search at `from_ns`, which is not after it.
    fn length_ns(&self, job: u64, from_ns: u64, steps: &mut u32) -> Option<u64> {
        let own_ns = self.own.total().saturating_mul(job.saturating_add(1));
        let mut length_ns = from_ns.max(own_ns);
        loop {
            *steps = steps.checked_sub(1)?;
            let work_ns = self
                .others
                .iter()
                .map(|stream| {
                    stream
                        .work
                        .total()
                        .saturating_mul(stream.arrivals(length_ns))
                })
                .fold(own_ns, u64::saturating_add);
            let next_ns = work_ns.saturating_add(self.share_ns(work_ns)?);
            if next_ns > LONGEST_WINDOW_NS {
                return None;
            }
            if next_ns <= length_ns {
                return Some(length_ns);
            }
            length_ns = next_ns;
        }
    }

    /// How much longer `work_ns` take under the share limit.
    ///
    /// At worst the limit is used up, by lower gangs, when the window begins. From
    /// then on every share window begins with the whole limit, because work is
    /// pending: `n` times the limit is reached after `n` gaps (the supply of a
    /// periodic resource that serves as early as it can; compare Shin and Lee,
    /// "Periodic resource model for compositional real-time guarantees", RTSS
    /// 2003). Each gap is followed by a resumption, which is charged as work.
    fn share_ns(&self, work_ns: u64) -> Option<u64> {
        let Some(share) = self.share else {
            return Some(0);
        };
        let useful_ns = share
            .limit_ns
            .checked_sub(self.resume_ns)
            .filter(|&ns| ns > 0)?;
        let gap_ns = share.window_ns - share.limit_ns;
        let gaps = work_ns.div_ceil(useful_ns);
        Some(gaps.saturating_mul(gap_ns.saturating_add(self.resume_ns)))
    }

    fn explain(&self, job: u64, length_ns: u64, response_ns: u64) -> Response {
        let others = self
            .others
            .iter()
            .map(|stream| stream.work.times(stream.arrivals(length_ns)))
            .fold(self.own.times(job), |sum, work| sum.plus(&work));
        Response {
            response_ns,
            job,
            own: self.own,
            others,
            share_ns: length_ns
                .saturating_sub(others.total())
                .saturating_sub(self.own.total()),
        }
    }
}
