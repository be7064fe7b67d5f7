//! One gang at a time, and none waits in vain.
//!
//! Both rules walk through a partition's time in steps between two changes of
//! who runs and who is runnable; inside a step nothing changes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use ringfence_record::event::ShareClaim;

use super::spans::Spans;
use super::{Breach, Findings};
use crate::case::{CaseRun, Interval, Occupation};

/// Judges that no two gangs of different priorities run in one partition at an
/// instant, that a lower gang is off the cores `hand_over_ns` after a higher
/// one became runnable, and that gangs stay inside their partitions.
pub(super) fn one_gang_at_a_time(run: &CaseRun) -> Findings {
    let mut findings = Findings::default();
    for partition in 0..run.case.partitions.len() {
        let members = Members::of(run, partition);
        findings.checked += members.occupations(run).count() as u64;
        findings.breaches.extend(outside(run, partition, &members));
        findings.breaches.extend(lower_gangs(run, &members));
    }
    findings
}

/// Judges that a runnable thread of a partition's highest runnable gang is not
/// kept waiting, for longer than `hand_over_ns`, while it could run.
pub(super) fn work_conservation(run: &CaseRun) -> Findings {
    let mut findings = Findings::default();
    for partition in 0..run.case.partitions.len() {
        let members = Members::of(run, partition);
        findings.checked += members
            .threads
            .keys()
            .map(|thread| run.threads[usize::from(*thread)].runnable.len() as u64)
            .sum::<u64>();
        findings.breaches.extend(waits(run, &members));
    }
    findings
}

/// The real-time threads of a partition and their priorities.
struct Members {
    threads: BTreeMap<u16, u8>,
}

impl Members {
    fn of(run: &CaseRun, partition: usize) -> Self {
        let threads = (0..)
            .take(run.threads.len())
            .filter_map(|thread| {
                let gang = run.gang_of(thread)?;
                (usize::from(gang.partition) == partition).then_some((thread, gang.priority))
            })
            .collect();
        Self { threads }
    }

    fn occupations<'a>(&'a self, run: &'a CaseRun) -> impl Iterator<Item = &'a Occupation> {
        self.threads
            .keys()
            .flat_map(|thread| &run.threads[usize::from(*thread)].occupations)
    }
}

/// A thread on a core.
#[derive(Debug, Clone, Copy)]
struct Running {
    thread: u16,
    priority: u8,
    since_ns: u64,
}

/// Who runs and who is runnable in a partition.
#[derive(Debug, Default)]
struct State {
    running: BTreeMap<u16, Running>,
    runnable: BTreeMap<u16, u8>,
}

impl State {
    /// The first of the most important runnable threads, and its priority.
    fn highest_runnable(&self) -> Option<(u16, u8)> {
        let highest = self
            .runnable
            .iter()
            .max_by_key(|(thread, priority)| (**priority, Reverse(**thread)));
        highest.map(|(&thread, &priority)| (thread, priority))
    }

    fn is_running(&self, thread: u16) -> bool {
        self.running
            .values()
            .any(|running| running.thread == thread)
    }
}

/// What changes a [`State`]. At one instant, what ends comes before what begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Off { core: u16 },
    Quiet { thread: u16 },
    Woke { thread: u16 },
    On { core: u16, thread: u16 },
}

/// Calls `step` for every stretch of time in which nothing changes.
fn walk(run: &CaseRun, members: &Members, mut step: impl FnMut(Interval, &State)) {
    let changes = changes(run, members);
    let mut state = State::default();
    for (index, &(time_ns, change)) in changes.iter().enumerate() {
        match change {
            Change::Off { core } => {
                state.running.remove(&core);
            }
            Change::Quiet { thread } => {
                state.runnable.remove(&thread);
            }
            Change::Woke { thread } => {
                state.runnable.insert(thread, members.threads[&thread]);
            }
            Change::On { core, thread } => {
                let running = Running {
                    thread,
                    priority: members.threads[&thread],
                    since_ns: time_ns,
                };
                state.running.insert(core, running);
            }
        }
        let next_ns = changes.get(index + 1).map_or(run.end_ns, |next| next.0);
        if next_ns > time_ns {
            let interval = Interval {
                from_ns: time_ns,
                to_ns: next_ns,
            };
            step(interval, &state);
        }
    }
}

fn changes(run: &CaseRun, members: &Members) -> Vec<(u64, Change)> {
    let mut changes = Vec::new();
    for &thread in members.threads.keys() {
        let course = &run.threads[usize::from(thread)];
        for runnable in course.runnable.iter().filter(|r| r.from_ns < r.to_ns) {
            changes.push((runnable.from_ns, Change::Woke { thread }));
            changes.push((runnable.to_ns, Change::Quiet { thread }));
        }
        for on in course.occupations.iter().filter(|on| on.from_ns < on.to_ns) {
            let core = on.core;
            changes.push((on.from_ns, Change::On { core, thread }));
            changes.push((on.to_ns, Change::Off { core }));
        }
    }
    changes.sort_unstable();
    changes
}

/// Real-time threads on cores that are not their partition's.
fn outside(run: &CaseRun, partition: usize, members: &Members) -> Vec<Breach> {
    let declared = &run.case.partitions[partition];
    let cores: BTreeSet<u16> = declared.cores.iter().copied().collect();
    members
        .occupations(run)
        .filter(|on| !cores.contains(&on.core))
        .map(|on| Breach {
            time_ns: on.from_ns,
            duration_ns: on.length_ns(),
            core: Some(on.core),
            threads: vec![run.thread_name(on.thread).into()],
            text: format!(
                "'{}' runs on core {}, which is not in its partition '{}'",
                run.thread_name(on.thread),
                on.core,
                declared.name
            ),
        })
        .collect()
}

/// How a lower gang breaks in; the field orders breaches of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LowerGang {
    /// Runs while a higher gang runs on another core.
    Beside,
    /// Still runs `hand_over_ns` after a higher gang became runnable.
    Stays,
    /// Starts later than `hand_over_ns` after a higher gang became runnable.
    Starts,
}

fn lower_gangs(run: &CaseRun, members: &Members) -> Vec<Breach> {
    let hand_over_ns = run.case.claims.hand_over_ns;
    let priorities: BTreeSet<u8> = members.threads.values().copied().collect();
    // For each priority, since when a higher one has been runnable without a gap.
    let mut higher_since_ns: BTreeMap<u8, u64> = BTreeMap::new();
    // The value is the higher thread.
    let mut spans: Spans<(u16, u16, LowerGang), u16> = Spans::default();
    walk(run, members, |step, state| {
        let highest = state.highest_runnable();
        for &priority in &priorities {
            if highest.is_some_and(|(_, highest)| highest > priority) {
                higher_since_ns.entry(priority).or_insert(step.from_ns);
            } else {
                higher_since_ns.remove(&priority);
            }
        }
        for (&core, lower) in &state.running {
            let higher = state
                .running
                .values()
                .find(|other| other.priority > lower.priority);
            if let Some(higher) = higher {
                spans.hold((lower.thread, core, LowerGang::Beside), higher.thread, step);
            }
            let (Some(&since_ns), Some((higher, _))) =
                (higher_since_ns.get(&lower.priority), highest)
            else {
                continue;
            };
            let limit_ns = since_ns.saturating_add(hand_over_ns);
            if limit_ns < step.to_ns {
                let how = if lower.since_ns > limit_ns {
                    LowerGang::Starts
                } else {
                    LowerGang::Stays
                };
                let late = Interval {
                    from_ns: limit_ns.max(step.from_ns),
                    to_ns: step.to_ns,
                };
                spans.hold((lower.thread, core, how), higher, late);
            }
        }
    });
    spans
        .finish()
        .map(|((lower, core, how), higher, span)| {
            let (lower, higher) = (run.thread_name(lower), run.thread_name(higher));
            let text = match how {
                LowerGang::Beside => format!(
                    "'{lower}' of a lower gang runs beside '{higher}' of a higher gang"
                ),
                LowerGang::Stays => format!(
                    "'{lower}' of a lower gang still runs although '{higher}' of a higher gang has been runnable for more than {hand_over_ns} ns"
                ),
                LowerGang::Starts => format!(
                    "'{lower}' of a lower gang starts although '{higher}' of a higher gang has been runnable for more than {hand_over_ns} ns"
                ),
            };
            breach(span, core, vec![lower.into(), higher.into()], text)
        })
        .collect()
}

fn breach(span: Interval, core: u16, threads: Vec<String>, text: String) -> Breach {
    Breach {
        time_ns: span.from_ns,
        duration_ns: span.to_ns - span.from_ns,
        core: Some(core),
        threads,
        text,
    }
}

fn waits(run: &CaseRun, members: &Members) -> Vec<Breach> {
    let homes: BTreeMap<u16, BTreeSet<u16>> = members
        .threads
        .keys()
        .map(|&thread| {
            let occupations = &run.threads[usize::from(thread)].occupations;
            (thread, occupations.iter().map(|on| on.core).collect())
        })
        .collect();
    let mut spans: Spans<u16, ()> = Spans::default();
    walk(run, members, |step, state| {
        let Some((_, highest)) = state.highest_runnable() else {
            return;
        };
        if state.running.values().any(|r| r.priority < highest) {
            return;
        }
        for (&thread, &priority) in &state.runnable {
            if priority == highest && !state.is_running(thread) && could_run(&homes[&thread], state)
            {
                spans.hold(thread, (), step);
            }
        }
    });
    let hand_over_ns = run.case.claims.hand_over_ns;
    let share = run
        .case
        .claims
        .share
        .map(|share| Share::of(run, members, share));
    spans
        .finish()
        .filter_map(|(thread, (), span)| {
            let mut limit_ns = span.from_ns.saturating_add(hand_over_ns);
            if let Some(share) = &share {
                limit_ns = limit_ns.saturating_add(share.allowance_ns(span.from_ns, hand_over_ns));
            }
            (limit_ns < span.to_ns).then(|| Breach {
                time_ns: limit_ns,
                duration_ns: span.to_ns - limit_ns,
                core: homes[&thread].first().copied(),
                threads: vec![run.thread_name(thread).into()],
                text: format!(
                    "'{}' has waited since {} ns although no higher gang is runnable, no lower one runs, and a core that it may use has no real-time work; {} ns are allowed",
                    run.thread_name(thread),
                    span.from_ns,
                    limit_ns - span.from_ns
                ),
            })
        })
        .collect()
}

/// Whether a core on which the thread is known to run has no real-time thread.
/// A thread that never ran is known to run on some core of its partition, so
/// only when all are free.
fn could_run(homes: &BTreeSet<u16>, state: &State) -> bool {
    if homes.is_empty() {
        return state.running.is_empty();
    }
    homes.iter().any(|core| !state.running.contains_key(core))
}

/// A partition's share limit and its real-time work.
struct Share {
    claim: ShareClaim,
    /// When any real-time thread of the partition runs; disjoint, in the order of time.
    busy: Vec<Interval>,
}

impl Share {
    fn of(run: &CaseRun, members: &Members, claim: ShareClaim) -> Self {
        let mut busy: Vec<Interval> = Vec::new();
        walk(run, members, |step, state| {
            if state.running.is_empty() {
                return;
            }
            match busy.last_mut() {
                Some(last) if last.to_ns == step.from_ns => last.to_ns = step.to_ns,
                _ => busy.push(step),
            }
        });
        Self { claim, busy }
    }

    /// How long a thread may be held back from `time_ns` on. The record does
    /// not tell where windows begin, so the limit may have been reached when
    /// the last `window_ns` before have that much real-time work. Each stretch
    /// of work may have cost the scheduler `hand_over_ns` more than is seen.
    fn allowance_ns(&self, time_ns: u64, hand_over_ns: u64) -> u64 {
        let window_start_ns = time_ns.saturating_sub(self.claim.window_ns);
        let first = self
            .busy
            .partition_point(|busy| busy.to_ns <= window_start_ns);
        let mut used_ns: u64 = 0;
        for busy in self.busy[first..]
            .iter()
            .take_while(|busy| busy.from_ns < time_ns)
        {
            let seen_ns = busy.to_ns.min(time_ns) - busy.from_ns.max(window_start_ns);
            used_ns = used_ns.saturating_add(seen_ns).saturating_add(hand_over_ns);
        }
        if used_ns < self.claim.limit_ns {
            return 0;
        }
        self.claim.window_ns.saturating_sub(self.claim.limit_ns)
    }
}
