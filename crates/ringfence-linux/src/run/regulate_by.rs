//! What best-effort work is held to budgets of: events that are counted, or time.

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use ringfence_scenario::model::{Gang, Tolerance as Rates};

use super::{CaseError, duty_cycle};
use crate::counters::CpuCounters;
use crate::doctor::machine_files::MachineFiles;
use crate::pmu::{Counts, Event, EventProbe, LOAD_LINES, Prover, UnknownEvent};
use crate::scheduler::{Tolerance, Use};
use crate::sys;

/// What best-effort work is to be held to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RegulateBy {
    /// Events that prove to count memory traffic here, or time if there are none.
    #[default]
    Auto,
    /// Time.
    Time,
    /// One event for all traffic, or one for reads and one for writes.
    Events(Vec<Event>),
}

impl FromStr for RegulateBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => return Ok(Self::Auto),
            "time" => return Ok(Self::Time),
            _ => {}
        }
        let events: Result<Vec<Event>, UnknownEvent> = text.split(',').map(str::parse).collect();
        let events = events.map_err(|error| format!("{error}, or auto, or time"))?;
        match events.as_slice() {
            [_] => Ok(Self::Events(events)),
            [reads, writes] if reads.counts == Counts::Reads && writes.counts == Counts::Writes => {
                Ok(Self::Events(events))
            }
            _ => Err(format!(
                "found {text}, expected one event, or one that counts reads and one that counts \
                 writes, such as l2d_cache_refill,l2d_cache_wb"
            )),
        }
    }
}

impl fmt::Display for RegulateBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Time => f.write_str("time"),
            Self::Events(events) => {
                let names: Vec<&str> = events.iter().map(|event| &*event.name).collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

/// What best-effort work is held to now.
pub enum Meter {
    /// Time, on a machine on which a core reads so many bytes per second at most.
    Time(u64),
    /// Counted events: of reads or everything, and of writes if they are counted apart.
    Events(Counted, Option<Counted>),
}

/// An event that is counted on each CPU, and what it is worth.
pub struct Counted {
    event: Event,
    /// So many events are `bytes` of traffic.
    events: u64,
    bytes: u64,
    counters: Option<CpuCounters>,
}

/// Events from one interrupt to the next are at least so many: a core that moves 10 GB/s then has
/// 40 a millisecond, and the kernel stops counters that interrupt more than 100 000 times a second.
const LEAST_QUANTUM: u64 = 4096;
/// Parts of a budget that are told apart, where that is possible.
const QUANTA_OF_A_BUDGET: u64 = 8;
/// A line of the known load.
const LINE_BYTES: u64 = 64;

impl Meter {
    /// Proves what is asked for on `cpus`.
    ///
    /// # Errors
    /// An event that was asked for does not count what it should.
    pub fn prove(wanted: &RegulateBy, cpus: &[u16]) -> Result<Self, CaseError> {
        let time = || Ok(Self::Time(duty_cycle::full_bytes_per_second()?));
        let (events, is_forced) = match wanted {
            RegulateBy::Time => return time(),
            RegulateBy::Events(events) => (events.clone(), true),
            RegulateBy::Auto => (Event::all().collect(), false),
        };
        let probed = prove_apart(&events, cpus)?;
        if is_forced && let Some(silent) = probed.iter().find(|probe| !probe.counts()) {
            return Err(refused(silent));
        }
        let good: Vec<String> = probed
            .iter()
            .filter(|probe| probe.counts() && probe.is_traffic)
            .map(|probe| probe.event.clone())
            .collect();
        let chosen = match is_forced {
            true => events,
            false => Event::preferred(&good),
        };
        let counted = |event: Event| {
            let probe = probed.iter().find(|probe| probe.event == event.name);
            probe.map(|probe| Counted::of(event, probe)).transpose()
        };
        let mut chosen = chosen.into_iter();
        let Some(first) = chosen.next().map(counted).transpose()?.flatten() else {
            return time();
        };
        let second = chosen.next().map(counted).transpose()?.flatten();
        Ok(Self::Events(first, second))
    }

    /// What gangs of one priority of a partition tolerate, which are scheduled as one: as little
    /// as the strictest of them.
    pub fn strictest(&self, gangs: &[&Gang], place: (usize, u8), period_ns: u64) -> Tolerance {
        let (first, second) = match self {
            Self::Time(full) => return duty_cycle::strictest(gangs, place, period_ns, *full),
            Self::Events(first, second) => (first, second.as_ref()),
        };
        let is_one = |gang: &&&Gang| (gang.partition, gang.priority) == place;
        let mut strictest = Tolerance::UNLIMITED;
        for gang in gangs.iter().filter(is_one) {
            let Rates {
                read_bytes_per_second: read,
                write_bytes_per_second: write,
            } = gang.tolerance;
            let (reads, writes) = match second {
                None => (read.into_iter().chain(write).min(), None),
                Some(second) => (read, write.map(|rate| second.budget(rate, period_ns))),
            };
            let reads = reads.map(|rate| first.budget(rate, period_ns));
            strictest.reads = strictest.reads.min(reads.unwrap_or(u64::MAX));
            strictest.writes = strictest.writes.min(writes.unwrap_or(u64::MAX));
        }
        strictest
    }

    /// Begins to count on `cpus`, finely enough for budgets of `tolerances`.
    ///
    /// # Errors
    /// The kernel refuses it, though it did not before.
    pub fn start(&mut self, cpus: &[u16], tolerances: &[Tolerance]) -> Result<(), CaseError> {
        let Self::Events(first, second) = self else {
            return Ok(());
        };
        first.start(cpus, tolerances.iter().map(|tolerance| tolerance.reads))?;
        let writes = tolerances.iter().map(|tolerance| tolerance.writes);
        second.as_mut().map_or(Ok(()), |it| it.start(cpus, writes))
    }

    /// As the scheduler is told, once it was started.
    pub fn used(&self) -> Use<'_> {
        match self {
            Self::Events(
                Counted {
                    counters: Some(reads),
                    ..
                },
                second,
            ) => Use::Events {
                reads,
                writes: second.as_ref().and_then(|it| it.counters.as_ref()),
            },
            _ => Use::Time,
        }
    }

    /// What the record says of it.
    pub fn remark(&self, tolerances: &[Tolerance]) -> String {
        let (first, second) = match self {
            Self::Time(full) => return duty_cycle::remark(*full),
            Self::Events(first, second) => (first, second),
        };
        let reads = first.remark(tolerances.iter().map(|tolerance| tolerance.reads));
        let writes = second.as_ref().map_or(String::new(), |second| {
            let writes = second.remark(tolerances.iter().map(|tolerance| tolerance.writes));
            format!("; and of {writes}")
        });
        let kind = match first.event.counts.is_traffic() {
            true => "budgets of events",
            false => "duty cycle: budgets of what is no traffic",
        };
        format!(
            "{kind}: best-effort work was held to budgets of {reads}{writes}; the record proves \
             nothing about budgets in bytes"
        )
    }
}

impl Counted {
    /// An event that has proved to count, and what it counted then.
    fn of(event: Event, probe: &EventProbe) -> Result<Self, CaseError> {
        let counted = probe.missing.unwrap_or(0).max(1);
        let (events, bytes) = match event.counts {
            Counts::Use => full_rate(&event)?,
            Counts::Reads | Counts::Writes => (counted, LOAD_LINES * LINE_BYTES),
            // Each line is read, changed and written back.
            Counts::Both => (counted, 2 * LOAD_LINES * LINE_BYTES),
        };
        Ok(Self {
            event,
            events,
            bytes,
            counters: None,
        })
    }

    /// Events a period that are so much traffic.
    fn budget(&self, bytes_per_second: u64, period_ns: u64) -> u64 {
        let bytes = u128::from(bytes_per_second) * u128::from(period_ns);
        let events = bytes * u128::from(self.events) / (u128::from(self.bytes) * 1_000_000_000);
        u64::try_from(events).unwrap_or(u64::MAX)
    }

    fn quantum(budgets: impl Iterator<Item = u64>) -> u64 {
        let least = budgets.filter(|&budget| budget > 0).min();
        (least.unwrap_or(0) / QUANTA_OF_A_BUDGET).clamp(LEAST_QUANTUM, 1 << 30)
    }

    fn start(&mut self, cpus: &[u16], budgets: impl Iterator<Item = u64>) -> Result<(), CaseError> {
        let counters = CpuCounters::open(self.event.source, Self::quantum(budgets), cpus);
        self.counters = Some(counters.map_err(|source| CaseError::System {
            what: format!("counting {}", self.event.name),
            source,
        })?);
        Ok(())
    }

    fn remark(&self, budgets: impl Iterator<Item = u64>) -> String {
        format!(
            "`{}`, of which {} were counted for {} bytes before the case, with at most {} too \
             many a period on each CPU and what happens until it is interrupted",
            self.event.name,
            self.events,
            self.bytes,
            Self::quantum(budgets)
        )
    }
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}/{} bytes",
            self.event.name, self.events, self.bytes
        )
    }
}

/// Proves on a thread of its own: that goes from CPU to CPU, and ours is to stay.
fn prove_apart(events: &[Event], cpus: &[u16]) -> Result<Vec<EventProbe>, CaseError> {
    let prove = || {
        let machine = MachineFiles::below("/");
        let mut prover = Prover::of(&machine);
        let all = events.iter().map(|event| prover.prove(event, cpus));
        all.collect()
    };
    std::thread::scope(|scope| scope.spawn(prove).join()).map_err(|_| CaseError::System {
        what: "trying PMU events".into(),
        source: std::io::Error::other("it panicked"),
    })
}

fn refused(probe: &EventProbe) -> CaseError {
    let why = match (&probe.refusal, probe.computing, probe.missing) {
        (Some(refusal), ..) => refusal.clone(),
        (None, Some(computing), Some(missing)) => format!(
            "known loads do not move it as they should: it counted {computing} while computing and \
             {missing} while missing {LOAD_LINES} lines, on CPUs {}",
            probe.tried_on
        ),
        _ => "it cannot be read".to_owned(),
    };
    CaseError::Unsupported(format!(
        "best-effort work cannot be regulated by `{}`: {why}; `ringfence doctor` lists the events that \
         count here, and `--regulate-by time` needs none",
        probe.event
    ))
}

/// Events and bytes per second of a core that does nothing but read memory in sequence: what is
/// no traffic is shared out as time is.
fn full_rate(event: &Event) -> Result<(u64, u64), CaseError> {
    let failed = |source| CaseError::System {
        what: format!("counting {}", event.name),
        source,
    };
    let measure = || -> Result<(u64, u64), CaseError> {
        let cpu = *sys::affinity(0).map_err(failed)?.first().unwrap_or(&0);
        sys::set_affinity(0, &[cpu]).map_err(failed)?;
        let mut counters = CpuCounters::open(event.source, 1 << 30, &[cpu]).map_err(failed)?;
        let begin = Instant::now();
        let bytes = duty_cycle::full_bytes_per_second()?;
        let counted: u64 = counters
            .read()
            .map_err(failed)?
            .iter()
            .map(|(_, n)| n)
            .sum();
        let events = u128::from(counted) * 1_000_000_000 / begin.elapsed().as_nanos().max(1);
        Ok((u64::try_from(events).unwrap_or(u64::MAX).max(1), bytes))
    };
    std::thread::scope(|scope| scope.spawn(measure).join())
        .unwrap_or_else(|_| Err(failed(std::io::Error::other("it panicked"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(counts: Counts, missing: u64) -> Counted {
        let event = Event {
            counts,
            ..Event::all().next().unwrap()
        };
        let probe = EventProbe {
            event: event.name.clone().into_owned(),
            is_traffic: true,
            computing: Some(0),
            missing: Some(missing),
            counts_on: "0".into(),
            tried_on: "0".into(),
            refusal: None,
        };
        Counted::of(event, &probe).unwrap()
    }

    fn gang(priority: u8, read: Option<u64>, write: Option<u64>) -> Gang {
        Gang {
            name: "gang".into(),
            partition: 0,
            priority,
            tolerance: Rates {
                read_bytes_per_second: read,
                write_bytes_per_second: write,
            },
            class_of_service: None,
            tasks: vec![],
        }
    }

    #[test]
    fn what_may_be_asked_for() {
        assert_eq!("auto".parse(), Ok(RegulateBy::Auto));
        assert_eq!("time".parse(), Ok(RegulateBy::Time));
        let raw = "raw:0x17=reads,raw:0x18=writes".parse::<RegulateBy>();
        assert!(matches!(raw, Ok(RegulateBy::Events(events)) if events.len() == 2));
        for text in [
            "",
            "auto,time",
            "cycles,cycles",
            "raw:1=writes,raw:2=reads",
            "raw:1,raw:2,raw:3",
        ] {
            assert!(text.parse::<RegulateBy>().is_err(), "{text}");
        }
    }

    #[test]
    fn budgets_are_whole_events_by_what_was_counted() {
        // One a line: 64 MB/s in a millisecond are 1000 lines.
        assert_eq!(
            counted(Counts::Reads, LOAD_LINES).budget(64_000_000, 1_000_000),
            1000
        );
        // Four a line that is read and written: 2000 in 64000 bytes.
        assert_eq!(
            counted(Counts::Both, 4 * LOAD_LINES).budget(64_000_000, 1_000_000),
            2000
        );
        assert_eq!(counted(Counts::Reads, LOAD_LINES).budget(0, 1_000_000), 0);
    }

    #[test]
    fn one_event_is_held_to_the_stricter_direction_and_two_to_their_own() {
        let one = |second| Meter::Events(counted(Counts::Reads, LOAD_LINES), second);
        let two = one(Some(counted(Counts::Writes, LOAD_LINES)));
        let gangs = [
            gang(1, Some(64_000_000), Some(6_400_000)),
            gang(1, Some(32_000_000), None),
            gang(2, None, None),
        ];
        let gangs: Vec<&Gang> = gangs.iter().collect();
        let of = |meter: &Meter, priority| {
            let Tolerance { reads, writes } = meter.strictest(&gangs, (0, priority), 1_000_000);
            (reads, writes)
        };
        assert_eq!(of(&one(None), 1), (100, u64::MAX));
        assert_eq!(of(&two, 1), (500, 100));
        assert_eq!(of(&two, 2), (u64::MAX, u64::MAX));
    }

    proptest! {
        #[test]
        fn a_budget_grows_with_the_rate_and_is_never_more_than_it(
            rate in 0_u64..1 << 40,
            more in 0_u64..1 << 40,
            period_ns in 1_000_u64..1_000_000_000,
            missing in LOAD_LINES / 8..LOAD_LINES * 32,
        ) {
            let counted = counted(Counts::Reads, missing);
            let budget = counted.budget(rate, period_ns);
            prop_assert!(budget <= counted.budget(rate.saturating_add(more), period_ns));
            let bytes = u128::from(budget) * u128::from(counted.bytes) / u128::from(counted.events);
            prop_assert!(bytes * 1_000_000_000 <= u128::from(rate) * u128::from(period_ns));
        }
    }
}
