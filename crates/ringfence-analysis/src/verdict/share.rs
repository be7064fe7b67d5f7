//! Real-time work leaves the rest of every window to others.

use super::gangs::Members;
use super::instants::Instants;
use super::{Breach, Findings};
use crate::case::{CaseRun, Interval};
use crate::duration::readable;

/// Judges that the real-time threads of a partition, one or several at a time,
/// run for at most `limit_ns + hand_over_ns` of every window. Windows begin at
/// multiples of `window_ns`. At the limit the cores are told to stop, which
/// takes them a hand-over. Instants of threads that have waited long do not count.
pub(super) fn share(run: &CaseRun) -> Findings {
    let mut findings = Findings::default();
    let Some(claim) = run.case.claims.share else {
        return findings;
    };
    let allowed_ns = claim.limit_ns.saturating_add(run.case.claims.hand_over_ns);
    for (index, partition) in run.case.partitions.iter().enumerate() {
        findings.checked += run.end_ns.div_ceil(claim.window_ns);
        let members = Members::of(run, index);
        let busy = members.busy_but(run, &Instants::of(run, &members));
        for (window, used_ns) in used(&busy, claim.window_ns) {
            if used_ns <= allowed_ns {
                continue;
            }
            let from_ns = window * claim.window_ns;
            findings.breaches.push(Breach {
                time_ns: from_ns,
                duration_ns: claim.window_ns.min(run.end_ns - from_ns),
                core: None,
                threads: Vec::new(),
                text: format!(
                    "real-time work of partition '{}' ran for {} of a window of {}, {} more than the limit of {} and a hand-over of {}",
                    partition.name,
                    readable(used_ns),
                    readable(claim.window_ns),
                    readable(used_ns - allowed_ns),
                    readable(claim.limit_ns),
                    readable(run.case.claims.hand_over_ns)
                ),
            });
        }
    }
    findings
}

/// Number of every window with work in it that may be too much, and how long
/// the work ran there, in the order of time. Windows that work fills end to end
/// are as one: the first stands for all.
fn used(busy: &[Interval], window_ns: u64) -> Vec<(u64, u64)> {
    let mut used: Vec<(u64, u64)> = Vec::new();
    let mut add = |window: u64, used_ns: u64| match used.last_mut() {
        Some(last) if last.0 == window => last.1 += used_ns,
        _ => used.push((window, used_ns)),
    };
    for on in busy {
        let (first, last) = (on.from_ns / window_ns, (on.to_ns - 1) / window_ns);
        if first == last {
            add(first, on.to_ns - on.from_ns);
            continue;
        }
        add(first, (first + 1) * window_ns - on.from_ns);
        if last > first + 1 {
            add(first + 1, window_ns);
        }
        add(last, on.to_ns - last * window_ns);
    }
    used
}
