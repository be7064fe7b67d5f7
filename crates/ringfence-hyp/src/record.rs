//! From what the hypervisor traced to a section of a record.
//!
//! The time of a record is that of the machine, from when it was turned on, so
//! that periods begin at multiples of their length in both. A vCPU is a thread that
//! never leaves its core. Its events are counted when a period begins, at the
//! refill, which comes a little later than its place on the clock: the sample and the end of the
//! throttling stand at that place if the refill is in the period that begins there,
//! and where they are if not, which the verdict then finds.

use ringfence_record::event::{
    self, Claims, CoreShare, Counters, Event, OffReason, ReservationClaim, UnthrottleReason,
};
use ringfence_record::{Section, WriteError};
use ringfence_scenario::model::{Case, Scenario};
use ringfence_scenario::vm::{ReservationBounds, Vm};

use crate::reserved::Reserved;
use crate::trace::{CoreTrace, Kind, Loan};

/// Bytes of a memory event: a cache line.
pub const EVENT_BYTES: u64 = 64;

/// What happened in a machine.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Of each core.
    pub cores: &'a [CoreTrace],
    /// Whether the machine turned itself off: after that nothing happens.
    pub is_off: bool,
}

/// What a run of `case` promises.
pub fn claims(scenario: &Scenario, case: &Case) -> Claims {
    let claim = |vm: &Vm| {
        let reservation = vm.reservation.as_ref()?;
        let share = |(&core, &share): (&u16, &u64)| CoreShare {
            core,
            bytes: share.saturating_mul(EVENT_BYTES),
        };
        Some(ReservationClaim {
            vm: vm.name.clone(),
            period_ns: reservation.period_ns,
            // The counter stops the core at the event that uses the share up.
            quantum_bytes: 0,
            shares: vm
                .cores
                .iter()
                .zip(&reservation.shares)
                .map(share)
                .collect(),
            lends: reservation.lends,
            borrows: reservation.borrows_events > 0,
            bounds: reservation.bounds.as_ref().map(bounds),
        })
    };
    let vms = case.vms.iter().map(|&vm| &scenario.vms[vm]);
    Claims {
        one_gang_at_a_time: false,
        hand_over_ns: 0,
        overlap_ns: None,
        instant_after_ns: None,
        share: None,
        budgets: None,
        reservations: match case.reservations {
            true => vms.filter_map(claim).collect(),
            false => Vec::new(),
        },
        reservations_bytes_per_second: scenario
            .reservations_bytes_per_second
            .filter(|_| case.reservations),
    }
}

fn bounds(bounds: &ReservationBounds) -> event::ReservationBounds {
    let bytes = |events: &u64| events.saturating_mul(EVENT_BYTES);
    event::ReservationBounds {
        bytes_min: bytes(bounds.budget_events.start()),
        bytes_max: bytes(bounds.budget_events.end()),
        period_min_ns: *bounds.period_ns.start(),
        period_max_ns: *bounds.period_ns.end(),
    }
}

/// The section of the record for `case`.
///
/// # Errors
/// [`WriteError::TooLong`]: a name fits no frame of a record.
pub fn section(scenario: &Scenario, case: &Case, seen: Seen<'_>) -> Result<Section, WriteError> {
    let declared = declare(scenario, case);
    let end_ns = declared.duration_ns;
    let mut events = Vec::new();
    let mut thread = 0;
    let reserved = Reserved::of(scenario, case, seen.cores);
    events.extend(reserved.iter().enumerate().flat_map(|(n, it)| it.told(n)));
    let mut reserved = reserved.iter();
    let trace = |core: u16| &seen.cores[usize::from(core)];
    for &vm in &case.vms {
        let vm = &scenario.vms[vm];
        let is_reserved = case.reservations && vm.reservation.is_some();
        let reserved = is_reserved.then(|| reserved.next()).flatten();
        for &core in &vm.cores {
            let course = Course {
                core,
                thread,
                reserved,
                end_ns,
                on_ns: 0,
                is_whole: is_whole(reserved, core, seen.cores),
                events: Vec::new(),
            };
            events.extend(course.told(trace(core), seen.is_off));
            thread += 1;
        }
    }
    events.retain(|event| event.time_ns() <= Some(end_ns));
    events.sort_by_key(Event::time_ns);
    let mut section = Section::new();
    section.write(&Event::CaseBegin(Box::new(declared)))?;
    for text in remarks(seen).into_iter().chain(colours(scenario, case)) {
        section.write(&Event::Message { time_ns: 0, text })?;
    }
    for event in &events {
        section.write(event)?;
    }
    section.write(&Event::CaseEnd { time_ns: end_ns })?;
    Ok(section)
}

/// Whether what a core used, and what it might use, is known at all times.
fn is_whole(reserved: Option<&Reserved>, core: u16, cores: &[CoreTrace]) -> bool {
    // Who lends, borrows or changes something is traced by other cores.
    let needs_all = reserved.is_some_and(Reserved::needs_all);
    let mut needed = cores.iter().zip(0..);
    needed.all(|(trace, number)| trace.lost == 0 || (!needs_all && number != core))
}

fn remarks(seen: Seen<'_>) -> Vec<String> {
    let mut remarks =
        vec!["memory events are not told apart: each is shown as a line written".to_owned()];
    let lost: u64 = seen.cores.iter().map(|core| core.lost).sum();
    if lost > 0 {
        remarks.push(format!(
            "{lost} entries of the trace were overwritten before they were read"
        ));
    }
    let times = seen.cores.iter().flat_map(|core| &core.entries);
    if let Some(last) = times
        .map(|entry| entry.time_ns)
        .max()
        .filter(|_| seen.is_off)
    {
        remarks.push(format!("the machine was turned off after {last} ns"));
    }
    remarks
}

/// Which colours the memory of each VM has.
fn colours(scenario: &Scenario, case: &Case) -> Vec<String> {
    let vms = case.vms.iter().map(|&vm| &scenario.vms[vm]);
    let vms = vms.filter(|_| case.cache_allocation);
    let told = vms.filter_map(|vm| {
        let colours: Vec<String> = vm.colours.as_ref()?.iter().map(u16::to_string).collect();
        Some(format!(
            "the memory of the VM `{}` has the page colours {}",
            vm.name,
            colours.join(", ")
        ))
    });
    told.collect()
}

fn declare(scenario: &Scenario, case: &Case) -> event::Case {
    let vms = || case.vms.iter().map(|&vm| &scenario.vms[vm]);
    let partition = |vm: &Vm| {
        let mut cores = vm.cores.clone();
        cores.sort_unstable();
        event::Partition {
            name: vm.name.clone(),
            cores,
        }
    };
    let vcpu = |vm: &Vm, number: usize| event::Thread {
        name: format!("{}/{number}", vm.name),
        task: None,
    };
    event::Case {
        name: case.name.clone(),
        duration_ns: scenario.duration_ns,
        cores: scenario.platform.cores,
        claims: claims(scenario, case),
        partitions: vms().map(partition).collect(),
        gangs: Vec::new(),
        tasks: Vec::new(),
        threads: vms()
            .flat_map(|vm| (0..vm.cores.len()).map(|number| vcpu(vm, number)))
            .collect(),
        classes_of_service: Vec::new(),
        accuracy: Default::default(),
    }
}

/// What happened to one vCPU, as it is told.
struct Course<'a> {
    core: u16,
    thread: u16,
    /// Its VM's, if it is held to one.
    reserved: Option<&'a Reserved<'a>>,
    end_ns: u64,
    /// When it last came on its core.
    on_ns: u64,
    /// Whether its counts are known at all times: nothing was lost.
    is_whole: bool,
    events: Vec<Event>,
}

/// Where a vCPU is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Off,
    Running,
    /// Since the event with this index in [`Course::events`].
    Throttled(usize),
}

impl Course<'_> {
    fn told(mut self, trace: &CoreTrace, machine_is_off: bool) -> Vec<Event> {
        let mut state = State::Off;
        // Until when it is sampled, and what it had counted then.
        let (mut sampled_ns, mut counted) = (0, 0);
        let mut resumes_ns = None;
        let mut has_borrowed = false;
        for entry in &trace.entries {
            if state == State::Off {
                self.sample_idle(&mut sampled_ns, entry.time_ns, counted);
            }
            let mut time_ns = entry.time_ns;
            match entry.kind {
                Kind::On => state = self.on(time_ns),
                Kind::Lend(loan) => self.lend(loan),
                Kind::Borrow(loan) => {
                    self.borrow(time_ns, loan);
                    has_borrowed = true;
                }
                Kind::Change(_) => {}
                // Its periods begin, for what it lends.
                _ if state == State::Off => {}
                Kind::Refill => {
                    time_ns = self.begin_of_period(time_ns, sampled_ns);
                    if let State::Throttled(at) = state {
                        self.no_later(at, time_ns);
                    }
                    self.sample(time_ns, entry.events);
                    sampled_ns = time_ns;
                    resumes_ns = Some(time_ns);
                }
                Kind::Throttle => {
                    state = self.throttle(time_ns);
                    (resumes_ns, has_borrowed) = (None, false);
                }
                Kind::Resume => {
                    match resumes_ns.take() {
                        None if has_borrowed => self.unthrottle(time_ns, UnthrottleReason::Loan),
                        refilled_ns => self
                            .unthrottle(refilled_ns.unwrap_or(time_ns), UnthrottleReason::Refill),
                    }
                    state = self.on(time_ns);
                }
                Kind::Off => {
                    self.off(state, time_ns);
                    state = State::Off;
                }
            }
            counted = entry.events;
            if time_ns >= self.end_ns && state != State::Off {
                break;
            }
        }
        let is_idle = state == State::Off || machine_is_off;
        if is_idle {
            self.sample_idle(&mut sampled_ns, self.end_ns, counted);
        }
        let reached_ns = trace.entries.last().map_or(0, |entry| entry.time_ns);
        let is_known = is_idle || reached_ns >= self.end_ns;
        self.cut(Some(counted).filter(|_| is_known))
    }

    /// The place of the refill at `time_ns` on the clock; its own if the period has begun before.
    fn begin_of_period(&self, time_ns: u64, sampled_ns: u64) -> u64 {
        let begin_ns = self.reserved.map(|reserved| reserved.begin_ns(time_ns));
        begin_ns
            .filter(|&begin_ns| begin_ns > sampled_ns && begin_ns >= self.on_ns)
            .unwrap_or(time_ns)
    }

    /// A vCPU that is off uses nothing: what it had counted is its count at all begins of periods.
    fn sample_idle(&mut self, sampled_ns: &mut u64, until_ns: u64, counted: u64) {
        let Some(reserved) = self.reserved else {
            return;
        };
        let mut next_ns = reserved.next_ns(*sampled_ns);
        while next_ns <= until_ns.min(self.end_ns) {
            self.sample(next_ns, counted);
            *sampled_ns = next_ns;
            next_ns = reserved.next_ns(next_ns);
        }
    }

    /// All who lend have periods of one length, for good.
    fn period_begin_ns(&self, loan: Loan) -> Option<u64> {
        let reserved = self.reserved.filter(|_| self.is_whole)?;
        loan.period.checked_mul(reserved.reservation.period_ns)
    }

    /// What it gives of a period it gives at its begin.
    fn lend(&mut self, loan: Loan) {
        if let Some(period_begin_ns) = self.period_begin_ns(loan) {
            self.events.push(Event::Lent {
                time_ns: period_begin_ns,
                core: self.core,
                period_begin_ns,
                bytes: loan.events.saturating_mul(EVENT_BYTES),
            });
        }
    }

    fn borrow(&mut self, time_ns: u64, loan: Loan) {
        if let Some(period_begin_ns) = self.period_begin_ns(loan) {
            self.events.push(Event::Borrowed {
                time_ns,
                core: self.core,
                period_begin_ns,
                bytes: loan.events.saturating_mul(EVENT_BYTES),
            });
        }
    }

    fn sample(&mut self, time_ns: u64, events: u64) {
        if !self.is_whole {
            return;
        }
        let bytes = events.saturating_mul(EVENT_BYTES);
        self.events.push(Event::Counters {
            time_ns,
            core: self.core,
            counters: Counters {
                write_bytes: bytes,
                best_effort_write_bytes: bytes,
                ..Counters::default()
            },
        });
    }

    fn on(&mut self, time_ns: u64) -> State {
        self.on_ns = time_ns;
        self.events.push(Event::ThreadOn {
            time_ns,
            core: self.core,
            thread: self.thread,
        });
        State::Running
    }

    fn throttle(&mut self, time_ns: u64) -> State {
        let at = self.events.len();
        self.events.push(Event::ThreadOff {
            time_ns,
            core: self.core,
            thread: self.thread,
            reason: OffReason::Throttled,
        });
        // Nobody can judge a core for standing still of which not all is known.
        self.events
            .extend(self.is_whole.then_some(Event::Throttled {
                time_ns,
                core: self.core,
            }));
        State::Throttled(at)
    }

    fn unthrottle(&mut self, time_ns: u64, reason: UnthrottleReason) {
        self.events
            .extend(self.is_whole.then_some(Event::Unthrottled {
                time_ns,
                core: self.core,
                reason,
            }));
    }

    fn off(&mut self, state: State, time_ns: u64) {
        match state {
            State::Off => {}
            State::Running => self.events.push(Event::ThreadOff {
                time_ns,
                core: self.core,
                thread: self.thread,
                reason: OffReason::Ended,
            }),
            State::Throttled(_) => self.unthrottle(time_ns, UnthrottleReason::NoGang),
        }
    }

    /// A throttling that began behind the place of the refill that ends its period.
    fn no_later(&mut self, at: usize, latest_ns: u64) {
        for event in &mut self.events[at..] {
            if let Event::ThreadOff { time_ns, .. } | Event::Throttled { time_ns, .. } = event {
                *time_ns = latest_ns.min(*time_ns);
            }
        }
    }

    /// What lies in the run, with a last sample at its end of what was counted there or soon after.
    fn cut(mut self, counted: Option<u64>) -> Vec<Event> {
        let end_ns = self.end_ns;
        let is_within = |event: &Event| event.time_ns().is_some_and(|time_ns| time_ns <= end_ns);
        self.events.retain(is_within);
        let last = self.events.iter().rev().find_map(|event| match event {
            Event::Counters { time_ns, .. } => Some(*time_ns),
            _ => None,
        });
        if let Some(counted) = counted.filter(|_| self.reserved.is_some() && last != Some(end_ns)) {
            self.sample(end_ns, counted);
        }
        self.events
    }
}
