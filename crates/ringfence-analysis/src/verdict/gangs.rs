//! One gang at a time, and none waits in vain.
//!
//! Both rules walk through a partition's time in steps between two changes of
//! who runs and who is runnable; inside a step nothing changes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use ringfence_record::event::{Claims, ShareClaim};

use super::instants::Instants;
use super::spans::{Spans, union};
use super::{Breach, Findings};
use crate::case::{CaseRun, Interval, Occupation};
use crate::duration::readable;

/// Judges that no two gangs of different priorities run in one partition at an
/// instant, that a lower gang is off the cores `hand_over_ns` after a higher
/// one became runnable, and that gangs stay inside their partitions. Where
/// `overlap_ns` is claimed, a lower gang leaves so soon after a higher one became
/// runnable or it came itself; until then they may run side by side. Where
/// `instant_after_ns` is claimed, a lower thread that has waited so long may run for
/// `hand_over_ns`, alone.
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
pub(super) struct Members {
    threads: BTreeMap<u16, u8>,
}

impl Members {
    pub(super) fn of(run: &CaseRun, partition: usize) -> Self {
        let threads = (0..)
            .take(run.threads.len())
            .filter_map(|thread| {
                let gang = run.gang_of(thread)?;
                (usize::from(gang.partition) == partition).then_some((thread, gang.priority))
            })
            .collect();
        Self { threads }
    }

    pub(super) fn threads(&self) -> impl Iterator<Item = u16> {
        self.threads.keys().copied()
    }

    /// When any of them runs; disjoint, in the order of time.
    pub(super) fn busy(&self, run: &CaseRun) -> Vec<Interval> {
        self.busy_but(run, &Instants::default())
    }

    /// The same without their instants.
    pub(super) fn busy_but(&self, run: &CaseRun, instants: &Instants) -> Vec<Interval> {
        let occupied = self.occupations(run).map(|on| Interval {
            from_ns: match instants.ends_ns(on.thread, on.from_ns) {
                Some(end_ns) => end_ns.min(on.to_ns),
                None => on.from_ns,
            },
            to_ns: on.to_ns,
        });
        union(occupied.collect())
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

    /// The first thread that runs with a priority above `priority`.
    fn running_above(&self, priority: u8) -> Option<u16> {
        let mut running = self.running.values();
        Some(running.find(|other| other.priority > priority)?.thread)
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
    /// Still runs when its instant is over.
    Overstays,
}

impl LowerGang {
    fn text(self, lower: &str, higher: &str, claims: &Claims) -> String {
        let late = match claims.overlap_ns {
            None => format!(
                "more than {} after a higher gang became runnable, now with '{higher}'",
                readable(claims.hand_over_ns)
            ),
            Some(overlap_ns) => format!(
                "after more than {} although a higher gang is runnable, now with '{higher}'",
                readable(overlap_ns)
            ),
        };
        match self {
            Self::Beside => {
                format!("'{lower}' of a lower gang runs beside '{higher}' of a higher gang")
            }
            Self::Stays => format!("'{lower}' of a lower gang still runs {late}"),
            Self::Starts => format!("'{lower}' of a lower gang starts {late}"),
            Self::Overstays => format!(
                "'{lower}' of a lower gang still runs after an instant of {}, although a higher gang is runnable, now with '{higher}'",
                readable(claims.hand_over_ns)
            ),
        }
    }
}

/// For each priority of a partition below a runnable one, since when a higher
/// one has been runnable without a gap.
#[derive(Debug, Default)]
struct HigherRunnable {
    since_ns: BTreeMap<u8, u64>,
}

impl HigherRunnable {
    /// From `now_ns` on, `highest` is the highest runnable one of `priorities`.
    fn update(&mut self, priorities: &BTreeSet<u8>, highest: u8, now_ns: u64) {
        for &priority in priorities {
            if highest > priority {
                self.since_ns.entry(priority).or_insert(now_ns);
            } else {
                self.since_ns.remove(&priority);
            }
        }
    }
}

fn lower_gangs(run: &CaseRun, members: &Members) -> Vec<Breach> {
    let claims = &run.case.claims;
    let priorities: BTreeSet<u8> = members.threads.values().copied().collect();
    let instants = Instants::of(run, members);
    let mut higher_runnable = HigherRunnable::default();
    // The value is the higher thread.
    let mut spans: Spans<(u16, u16, LowerGang), u16> = Spans::default();
    walk(run, members, |step, state| {
        let Some((highest_thread, highest)) = state.highest_runnable() else {
            higher_runnable = HigherRunnable::default();
            return;
        };
        higher_runnable.update(&priorities, highest, step.from_ns);
        for (&core, lower) in &state.running {
            if let (Some(higher), None) = (state.running_above(lower.priority), claims.overlap_ns) {
                spans.hold((lower.thread, core, LowerGang::Beside), higher, step);
            }
            let Some(since_ns) = higher_runnable.since_ns.get(&lower.priority) else {
                continue;
            };
            let limit_ns = match claims.overlap_ns {
                None => since_ns.saturating_add(claims.hand_over_ns),
                Some(overlap_ns) => lower.since_ns.max(*since_ns).saturating_add(overlap_ns),
            };
            let instant_ns = instants.ends_ns(lower.thread, lower.since_ns);
            let instant_ns = instant_ns.filter(|&end_ns| end_ns > limit_ns);
            let how = match instant_ns {
                Some(_) => LowerGang::Overstays,
                None if lower.since_ns > limit_ns => LowerGang::Starts,
                None => LowerGang::Stays,
            };
            let limit_ns = instant_ns.unwrap_or(limit_ns);
            if limit_ns < step.to_ns {
                let late = Interval {
                    from_ns: limit_ns.max(step.from_ns),
                    to_ns: step.to_ns,
                };
                spans.hold((lower.thread, core, how), highest_thread, late);
            }
        }
    });
    spans
        .finish()
        .map(|((lower, core, how), higher, span)| {
            let (lower, higher) = (run.thread_name(lower), run.thread_name(higher));
            Breach {
                time_ns: span.from_ns,
                duration_ns: span.to_ns - span.from_ns,
                core: Some(core),
                threads: vec![lower.into(), higher.into()],
                text: how.text(lower, higher, claims),
            }
        })
        .collect()
}

fn waits(run: &CaseRun, members: &Members) -> Vec<Breach> {
    let homes = homes(run, members);
    let mut spans: Spans<u16, ()> = Spans::default();
    walk(run, members, |step, state| {
        let Some((_, highest)) = state.highest_runnable() else {
            return;
        };
        if state.running.values().any(|r| r.priority < highest) {
            return;
        }
        for (&thread, &priority) in &state.runnable {
            let home = &homes[&thread];
            if priority == highest && !state.is_running(thread) && could_run(home, state) {
                spans.hold(thread, (), step);
            }
        }
    });
    let hand_over_ns = run.case.claims.hand_over_ns;
    let claim = run.case.claims.share;
    let share = claim.map(|claim| Share::of(run, members, claim));
    let waits = spans.finish().filter_map(|(thread, (), span)| {
        let used_up = share
            .as_ref()
            .map_or(0, |share| share.allowance_ns(span.from_ns, hand_over_ns));
        let allowed_ns = hand_over_ns.saturating_add(used_up);
        let limit_ns = span.from_ns.saturating_add(allowed_ns);
        let name = run.thread_name(thread);
        (limit_ns < span.to_ns).then(|| Breach {
            time_ns: limit_ns,
            duration_ns: span.to_ns - limit_ns,
            core: homes[&thread].first().copied(),
            threads: vec![name.into()],
            text: format!(
                "'{name}' has waited for more than {} although its gang is the highest runnable one, no lower one runs, and a core that it may use has no real-time work",
                readable(allowed_ns)
            ),
        })
    });
    waits.collect()
}

/// The cores on which each thread is known to run.
fn homes(run: &CaseRun, members: &Members) -> BTreeMap<u16, BTreeSet<u16>> {
    let cores = |thread: u16| {
        let occupations = &run.threads[usize::from(thread)].occupations;
        occupations.iter().map(|on| on.core).collect()
    };
    members.threads.keys().map(|t| (*t, cores(*t))).collect()
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
        let busy = members.busy(run);
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
