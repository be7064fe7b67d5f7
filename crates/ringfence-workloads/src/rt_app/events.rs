//! What a thread of rt-app does in a turn of its loop, and what period that comes to.

use super::Error;
use super::json::Value;
use super::workload::{Place, microseconds, refuse};

/// A turn of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Turn {
    /// Of all `run` and `runtime` events.
    pub(super) run_us: u64,
    /// Of all `sleep` events.
    pub(super) sleep_us: u64,
    pub(super) timer: Option<Timer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Timer {
    /// Positive.
    pub(super) period_us: u64,
    /// Whether a late turn leaves the later ones where they are.
    pub(super) is_absolute: bool,
    /// Whether each instance has its own.
    pub(super) is_unique: bool,
}

/// The kinds of event: a key is the first of them that it begins with, as workgen and
/// people append numbers to tell several apart.
const KINDS: [&str; 17] = [
    "lock", "unlock", "wait", "signal", "broad", "sync", "sleep", "runtime", "run", "timer",
    "suspend", "resume", "mem", "iorun", "yield", "barrier", "fork",
];

/// The kind of event that `key` is.
pub(super) fn kind(key: &str) -> Option<&'static str> {
    KINDS.into_iter().find(|kind| key.starts_with(kind))
}

impl Turn {
    /// One event more.
    pub(super) fn add(
        &mut self,
        kind: &str,
        value: &Value,
        place: &Place<'_>,
    ) -> Result<(), Error> {
        match kind {
            "run" | "runtime" => {
                let run_us = microseconds(value, place)?;
                self.run_us = sum(self.run_us, run_us, place)?;
            }
            "sleep" => {
                let sleep_us = microseconds(value, place)?;
                self.sleep_us = sum(self.sleep_us, sleep_us, place)?;
            }
            "timer" => match timer(value, place)? {
                None => {}
                Some(_) if self.timer.is_some() => {
                    return refuse(
                        place,
                        "a second timer in one turn, but a job here has one release: make a task of each part",
                    );
                }
                timer => self.timer = timer,
            },
            other => return refuse(place, reason(other)),
        }
        Ok(())
    }
}

fn sum(one: u64, other: u64, place: &Place<'_>) -> Result<u64, Error> {
    match one.checked_add(other) {
        Some(sum) => Ok(sum),
        None => refuse(place, "more microseconds than fit 64 bits together"),
    }
}

/// The timer; a period of 0 is none.
fn timer(value: &Value, place: &Place<'_>) -> Result<Option<Timer>, Error> {
    let Value::Object(entries) = value else {
        return refuse(
            place,
            "expected an object such as {\"ref\": \"unique\", \"period\": 10000}",
        );
    };
    let (mut period_us, mut is_absolute, mut is_unique) = (None, false, false);
    for (key, value) in entries {
        let place = place.at(key);
        match (key.as_str(), value) {
            ("period", value) => period_us = Some(microseconds(value, &place)?),
            ("ref", Value::Text(name)) => is_unique = name.starts_with("unique"),
            ("mode", Value::Text(mode)) if mode == "absolute" => is_absolute = true,
            ("mode", Value::Text(mode)) if mode == "relative" => is_absolute = false,
            ("mode", _) => return refuse(&place, "expected \"relative\" or \"absolute\""),
            ("ref", _) => return refuse(&place, "expected a name in quotes"),
            _ => return refuse(&place, "a timer has ref, period and mode"),
        }
    }
    match period_us {
        None => refuse(place, "expected a period in microseconds"),
        Some(0) => Ok(None),
        Some(period_us) => Ok(Some(Timer {
            period_us,
            is_absolute,
            is_unique,
        })),
    }
}

/// Why an event cannot be imported, and what to do.
fn reason(kind: &str) -> &'static str {
    match kind {
        "lock" | "unlock" => {
            "tasks of a scenario share no mutexes: take it out, and add the time that the task waits for the others to its run"
        }
        "wait" | "signal" | "broad" | "sync" | "barrier" | "suspend" | "resume" => {
            "tasks of a scenario do not wake each other: give each a timer, with a delay that keeps their order"
        }
        "mem" => {
            "a job of compute time has no accesses: take it out, and use program = { kind = \"phases\" } in the scenario"
        }
        "iorun" => "a scenario has no devices: take it out",
        "yield" => "a gang has its cores until its job ends: take it out",
        _ => {
            "all tasks of a scenario are there from its start: take it out, and give the task a delay"
        }
    }
}
