//! Who has waited so long that it may have an instant on a core although a higher gang is
//! runnable.

use std::collections::BTreeSet;

use super::gangs::Members;
use crate::case::{CaseRun, Interval, ThreadRun};

/// The instants of a partition's real-time threads: the first `hand_over_ns` of each stay on
/// a core of a thread that was runnable and on none for `instant_after_ns`. The enforcer may
/// have counted a hand-over more of waiting than is seen.
#[derive(Debug, Default)]
pub(super) struct Instants {
    hand_over_ns: u64,
    /// The thread, and when it came.
    begins: BTreeSet<(u16, u64)>,
}

impl Instants {
    pub(super) fn of(run: &CaseRun, members: &Members) -> Self {
        let claims = &run.case.claims;
        let Some(after_ns) = claims.instant_after_ns else {
            return Self::default();
        };
        let least_ns = after_ns.saturating_sub(claims.hand_over_ns);
        let begins = members.threads().flat_map(|thread| {
            let waits = waits(&run.threads[usize::from(thread)]);
            let long = waits.filter(move |wait| wait.to_ns - wait.from_ns >= least_ns);
            long.map(move |wait| (thread, wait.to_ns))
        });
        Self {
            hand_over_ns: claims.hand_over_ns,
            begins: begins.collect(),
        }
    }

    /// Until when the thread may run that came to its core at `since_ns`; `None` if that is no
    /// instant.
    pub(super) fn ends_ns(&self, thread: u16, since_ns: u64) -> Option<u64> {
        let is_one = self.begins.contains(&(thread, since_ns));
        is_one.then(|| since_ns.saturating_add(self.hand_over_ns))
    }
}

/// Each time that the thread was runnable and on no core until it came to one.
fn waits(course: &ThreadRun) -> impl Iterator<Item = Interval> {
    let mut left_ns = 0;
    course.occupations.iter().filter_map(move |stay| {
        let before_ns = std::mem::replace(&mut left_ns, stay.to_ns);
        let runnable = course
            .runnable
            .partition_point(|runnable| runnable.to_ns <= stay.from_ns);
        let runnable = course.runnable.get(runnable)?;
        (runnable.from_ns <= stay.from_ns).then(|| Interval {
            from_ns: runnable.from_ns.max(before_ns),
            to_ns: stay.from_ns,
        })
    })
}
