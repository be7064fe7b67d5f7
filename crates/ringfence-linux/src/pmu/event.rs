//! Events by name, and by number.

use std::borrow::Cow;
use std::str::FromStr;

use crate::counters::{Generic, Source};

/// An event that best-effort work can be held to budgets of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// As it is asked for.
    pub name: Cow<'static, str>,
    /// How it is opened.
    pub source: Source,
    /// What it counts.
    pub counts: Counts,
}

/// What an event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// That the CPU is used, whatever it does.
    Use,
    /// What is read from memory, or from a lower cache.
    Reads,
    /// What is written to it.
    Writes,
    /// Both together.
    Both,
}

static EVERYWHERE: [Event; 3] = [
    known("cycles", Source::Generic(Generic::Cycles), Counts::Use),
    known(
        "instructions",
        Source::Generic(Generic::Instructions),
        Counts::Use,
    ),
    known(
        "cache-misses",
        Source::Generic(Generic::CacheMisses),
        Counts::Reads,
    ),
];

/// Nanoseconds that the CPU is used, by the kernel's own clock, which needs no PMU: what counters
/// do to budgets can be tried on any machine.
static STAND_IN: Event = known("cpu-clock", Source::Time, Counts::Use);

/// Common and recommended events of Arm's PMU (Arm Architecture Reference Manual for A-profile,
/// "PMU events" and "recommended IMPLEMENTATION DEFINED event numbers").
static ARM: [Event; 7] = [
    known("l2d_cache_refill", Source::Pmu(0x17), Counts::Reads),
    known("l2d_cache_wb", Source::Pmu(0x18), Counts::Writes),
    known("l3d_cache_refill", Source::Pmu(0x2a), Counts::Reads),
    known("l3d_cache_wb", Source::Pmu(0x2c), Counts::Writes),
    known("bus_access_rd", Source::Pmu(0x60), Counts::Reads),
    known("bus_access_wr", Source::Pmu(0x61), Counts::Writes),
    known("bus_access", Source::Pmu(0x19), Counts::Both),
];

/// What is chosen if nothing is asked for, the best first: reads and writes apart, at the last
/// cache that there is.
const PREFERRED: [&[&str]; 8] = [
    &["l3d_cache_refill", "l3d_cache_wb"],
    &["l2d_cache_refill", "l2d_cache_wb"],
    &["bus_access_rd", "bus_access_wr"],
    &["l3d_cache_refill"],
    &["l2d_cache_refill"],
    &["bus_access"],
    &["bus_access_rd"],
    &["cache-misses"],
];

const fn known(name: &'static str, source: Source, counts: Counts) -> Event {
    Event {
        name: Cow::Borrowed(name),
        source,
        counts,
    }
}

impl Counts {
    /// Whether it is memory traffic.
    pub fn is_traffic(self) -> bool {
        self != Self::Use
    }
}

impl Event {
    /// Those of the PMU that are known by name on this kind of machine.
    pub fn all() -> impl Iterator<Item = Self> {
        let arm: &[Self] = match cfg!(target_arch = "aarch64") {
            true => &ARM,
            false => &[],
        };
        EVERYWHERE.iter().chain(arm).cloned()
    }

    /// Of events that count, those to hold best-effort work to: one for all traffic, or one for
    /// reads and one for writes. None if no traffic is counted.
    pub fn preferred(counting: &[String]) -> Vec<Self> {
        let has = |name: &str| counting.iter().any(|it| it == name);
        let best = PREFERRED
            .iter()
            .find(|names| names.iter().all(|name| has(name)));
        let named = |name: &&str| Self::all().find(|event| event.name == **name);
        best.map_or(Vec::new(), |names| names.iter().filter_map(named).collect())
    }
}

/// There is no such event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "found event {found:?}, expected {names}, or a number of the CPU's manual such as raw:0x17, \
     raw:0x17=reads or raw:0x18=writes"
)]
pub struct UnknownEvent {
    found: String,
    names: String,
}

impl FromStr for Event {
    type Err = UnknownEvent;

    fn from_str(text: &str) -> Result<Self, UnknownEvent> {
        let mut all = Self::all().chain([STAND_IN.clone()]);
        if let Some(event) = all.find(|event| event.name == text) {
            return Ok(event);
        }
        raw(text).ok_or_else(|| {
            let names: Vec<String> = Self::all().map(|event| event.name.into_owned()).collect();
            UnknownEvent {
                found: text.to_owned(),
                names: names.join(", "),
            }
        })
    }
}

fn raw(text: &str) -> Option<Event> {
    let rest = text.strip_prefix("raw:")?;
    let (number, counts) = match rest.split_once('=') {
        None => (rest, Counts::Both),
        Some((number, "reads")) => (number, Counts::Reads),
        Some((number, "writes")) => (number, Counts::Writes),
        Some(_) => return None,
    };
    let code = match number.strip_prefix("0x") {
        Some(digits) if digits.starts_with(|first: char| first.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()?
        }
        Some(_) => return None,
        None if number.starts_with(|first: char| first.is_ascii_digit()) => number.parse().ok()?,
        None => return None,
    };
    Some(Event {
        name: Cow::Owned(text.to_owned()),
        source: Source::Pmu(code),
        counts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_names_are_found_and_raw_numbers_are_read() {
        for event in Event::all().chain([STAND_IN.clone()]) {
            assert_eq!(event.name.parse(), Ok(event.clone()));
        }
        for (text, code, counts) in [
            ("raw:0x17", 0x17, Counts::Both),
            ("raw:23=reads", 23, Counts::Reads),
            ("raw:0xffffffffffffffff=writes", u64::MAX, Counts::Writes),
        ] {
            let event: Event = text.parse().unwrap();
            assert_eq!((event.source, event.counts), (Source::Pmu(code), counts));
            assert_eq!(event.name, text);
        }
        for text in [
            "",
            "raw:",
            "raw:0x",
            "raw:+1",
            "raw:0x+1",
            "raw:1=all",
            "misses",
        ] {
            let error = text.parse::<Event>().unwrap_err().to_string();
            assert!(
                error.contains("cycles") && error.contains("raw:0x17"),
                "{error}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_an_event_or_an_error(text in "(raw:)?[0-9a-fx=+-]{0,20}(reads)?") {
            if let Ok(event) = text.parse::<Event>() {
                prop_assert_eq!(event.name, text);
            }
        }

        #[test]
        fn what_is_preferred_counts(names in prop::sample::subsequence(
            EVERYWHERE.iter().chain(&ARM).map(|event| event.name.to_string()).collect::<Vec<_>>(), 0..=10,
        )) {
            let chosen = Event::preferred(&names);
            prop_assert!(chosen.len() <= 2);
            for event in &chosen {
                prop_assert!(names.contains(&event.name.to_string()) && event.counts.is_traffic());
            }
        }
    }
}
