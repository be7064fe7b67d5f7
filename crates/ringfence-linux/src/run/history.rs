//! What happened, as the kernel, the programs and the scheduler told it, as a record.

use std::collections::{BTreeMap, HashMap};

use ringfence_record::event::{Case, Event, OffReason, UnthrottleReason};
use ringfence_record::{Section, WriteError};
use ringfence_workloads::job_log::{Kind, Mark};

use super::jobs::jobs;
use crate::recorder::{ThreadEvent, What};
use crate::scheduler;

/// All that was told, in no order.
#[derive(Debug, Default)]
pub struct Raw {
    /// By the kernel: who runs where.
    pub switches: Vec<ThreadEvent>,
    /// By the programs: their jobs.
    pub marks: Vec<Mark>,
    /// By the scheduler: what it did.
    pub scheduler: Vec<scheduler::Event>,
}

/// What is known of the case beside that.
#[derive(Debug)]
pub struct History {
    /// Who takes part, under which rules.
    pub case: Case,
    /// The start, in nanoseconds of CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// Index of each thread, by its number in the kernel.
    pub threads: HashMap<i32, u16>,
    /// What a reader should know.
    pub remarks: Vec<String>,
}

impl History {
    /// The section of the record.
    ///
    /// # Errors
    /// [`WriteError::TooLong`]: the case or a remark fits no frame of a record.
    pub fn section(&self, raw: Raw) -> Result<Section, WriteError> {
        let duration_ns = self.case.duration_ns;
        let (mut events, untold) = self.switches(raw.switches, &raw.marks);
        let marks = raw.marks.iter().filter_map(|mark| {
            let time_ns = self.since_start(mark.time_ns)?;
            Some(Mark { time_ns, ..*mark })
        });
        events.extend(jobs(&self.case, &self.threads, marks, &events));
        events.extend(self.decisions(raw.scheduler));
        events.retain(|event| {
            event
                .time_ns()
                .is_some_and(|time_ns| time_ns <= duration_ns)
        });
        events.sort_by_key(|event| (event.time_ns(), rank(event)));
        let mut section = Section::new();
        let untold = (untold > 0).then(|| {
            format!(
                "{untold} times the kernel did not tell that a thread came on the CPU which it then left; \
                 it is taken to have been there since it began a job, or as early as it can have been"
            )
        });
        let remarks = self
            .remarks
            .iter()
            .chain(&untold)
            .map(|text| Event::Message {
                time_ns: 0,
                text: text.clone(),
            });
        let begin = Event::CaseBegin(Box::new(self.case.clone()));
        let end = Event::CaseEnd {
            time_ns: duration_ns,
        };
        for event in [begin]
            .into_iter()
            .chain(remarks)
            .chain(events)
            .chain([end])
        {
            section.write(&event)?;
        }
        Ok(section)
    }

    /// Nanoseconds since the start; `None` before it.
    fn since_start(&self, time_ns: u64) -> Option<u64> {
        time_ns.checked_sub(self.start_ns)
    }

    /// Who runs where, from the start to the end; and how often the kernel did not tell that
    /// a thread came on a CPU which it then left.
    fn switches(&self, switches: Vec<ThreadEvent>, marks: &[Mark]) -> (Vec<Event>, usize) {
        let (switches, untold) = with_untold(switches, marks);
        let duration_ns = self.case.duration_ns;
        let mut on: BTreeMap<u16, u16> = BTreeMap::new();
        let mut events = Vec::new();
        let mut has_begun = false;
        for event in switches {
            let Some(&thread) = self.threads.get(&event.tid) else {
                continue;
            };
            let time_ns = self.since_start(event.time_ns);
            if time_ns.is_some_and(|time_ns| time_ns > duration_ns) {
                break;
            }
            if time_ns.is_some() && !has_begun {
                has_begun = true;
                events.extend(all_on(&on));
            }
            match event.what {
                What::On => drop(on.insert(thread, event.cpu)),
                What::Preempted | What::Sleeps => drop(on.remove(&thread)),
                What::Woke | What::Ended => {}
            }
            let told = time_ns.and_then(|time_ns| of_thread(event, time_ns, thread));
            events.extend(told);
        }
        if !has_begun {
            events.extend(all_on(&on));
        }
        events.extend(on.into_iter().map(|(thread, core)| Event::ThreadOff {
            time_ns: duration_ns,
            core,
            thread,
            reason: OffReason::Ended,
        }));
        (events, untold)
    }

    /// What the scheduler did, in the order in which it was decided, with the state that it
    /// had at the start.
    fn decisions(&self, mut decisions: Vec<scheduler::Event>) -> Vec<Event> {
        decisions.retain(|event| event.sequence > 0);
        decisions.sort_by_key(|event| event.sequence);
        let mut at_start: BTreeMap<(bool, u32), Event> = BTreeMap::new();
        let mut events = Vec::new();
        let mut last_ns = 0;
        for decision in decisions {
            let time_ns = self.since_start(decision.time_ns);
            // Who was told later may have looked at the clock before.
            last_ns = time_ns.unwrap_or(0).max(last_ns);
            let Some((key, event)) = of_scheduler(decision.what, last_ns) else {
                continue;
            };
            match time_ns {
                None => drop(at_start.insert(key, event)),
                Some(_) => events.push(event),
            }
        }
        let changed = |event: &Event| match event {
            Event::GangActive { priority, .. } => priority.is_some(),
            event => matches!(event, Event::Throttled { .. }),
        };
        let at_start = at_start.into_values().filter(changed);
        at_start.chain(events).collect()
    }
}

/// A decision as an event, with what it is about: a partition, or a CPU.
fn of_scheduler(what: scheduler::What, time_ns: u64) -> Option<((bool, u32), Event)> {
    Some(match what {
        scheduler::What::GangActive {
            partition,
            priority,
        } => {
            let event = Event::GangActive {
                time_ns,
                partition: partition as u16,
                priority: Some(priority as u8).filter(|&priority| priority > 0),
            };
            ((true, partition), event)
        }
        scheduler::What::Throttled { cpu } => {
            let event = Event::Throttled { time_ns, core: cpu };
            ((false, cpu.into()), event)
        }
        scheduler::What::Unthrottled { cpu, no_gang } => {
            let event = Event::Unthrottled {
                time_ns,
                core: cpu,
                reason: match no_gang {
                    true => UnthrottleReason::NoGang,
                    false => UnthrottleReason::Refill,
                },
            };
            ((false, cpu.into()), event)
        }
        scheduler::What::Used { .. } => return None,
    })
}

/// Those who run when the case begins.
fn all_on(on: &BTreeMap<u16, u16>) -> Vec<Event> {
    let on = on.iter().map(|(&thread, &core)| Event::ThreadOn {
        time_ns: 0,
        core,
        thread,
    });
    on.collect()
}

/// Nothing is told of an end: the thread leaves its CPU after it.
fn of_thread(event: ThreadEvent, time_ns: u64, thread: u16) -> Option<Event> {
    let core = event.cpu;
    let off = |reason| Event::ThreadOff {
        time_ns,
        core,
        thread,
        reason,
    };
    Some(match event.what {
        What::Woke => Event::ThreadWoke { time_ns, thread },
        What::On => Event::ThreadOn {
            time_ns,
            core,
            thread,
        },
        What::Preempted => off(OffReason::Preempted),
        What::Sleeps => off(OffReason::Sleeping),
        What::Ended => return None,
    })
}

/// The events in the order of time, with those that the kernel did not tell: some kernels
/// leave out switches away from the idle thread. Who leaves a CPU was on it: since it said
/// that it began a job; or else since the CPU had its last thread and the thread woke, at the
/// earliest. The second answer counts them.
fn with_untold(mut events: Vec<ThreadEvent>, marks: &[Mark]) -> (Vec<ThreadEvent>, usize) {
    let mut begun_ns: HashMap<i32, Vec<u64>> = HashMap::new();
    for mark in marks.iter().filter(|mark| mark.kind == Kind::Begin) {
        let thread = mark.thread.thread.cast_signed();
        begun_ns.entry(thread).or_default().push(mark.time_ns);
    }
    events.sort_by_key(|event| event.time_ns);
    let mut on: HashMap<i32, u16> = HashMap::new();
    let mut since_ns: HashMap<i32, u64> = HashMap::new();
    let mut free_ns: HashMap<u16, u64> = HashMap::new();
    let mut untold = Vec::new();
    for event in &events {
        let ThreadEvent {
            time_ns, cpu, tid, ..
        } = *event;
        match event.what {
            What::On => drop(on.insert(tid, cpu)),
            What::Woke => drop(since_ns.insert(tid, time_ns)),
            What::Ended => {}
            What::Preempted | What::Sleeps => {
                if on.remove(&tid).is_none() {
                    let earliest_ns = since_ns.get(&tid).max(free_ns.get(&cpu)).copied();
                    let earliest_ns = earliest_ns.unwrap_or(time_ns.saturating_sub(1));
                    // In the order of time, as one thread said it.
                    let begun_ns = begun_ns.get(&tid).map_or(&[][..], Vec::as_slice);
                    let next = begun_ns.partition_point(|&begun_ns| begun_ns < earliest_ns);
                    let begun_ns = begun_ns.get(next).filter(|&&begun_ns| begun_ns < time_ns);
                    untold.push(ThreadEvent {
                        time_ns: begun_ns.copied().unwrap_or(earliest_ns),
                        what: What::On,
                        ..*event
                    });
                }
                free_ns.insert(cpu, time_ns);
                since_ns.insert(tid, time_ns);
            }
        }
    }
    let count = untold.len();
    events.extend(untold);
    events.sort_by_key(|event| event.time_ns);
    (events, count)
}

/// What comes first of events of one time.
fn rank(event: &Event) -> u8 {
    match event {
        Event::ThreadOff { .. } => 0,
        Event::JobFinished { .. } => 1,
        Event::JobReleased { .. } => 2,
        Event::JobDropped { .. } => 3,
        Event::ThreadWoke { .. } => 4,
        Event::ThreadOn { .. } => 5,
        Event::JobStarted { .. } => 6,
        _ => 7,
    }
}
