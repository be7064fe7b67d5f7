//! What a workload file says, as far as a scenario can say it.

use std::fmt;

use super::Error;
use super::events::{Turn, kind};
use super::json::Value;

/// A file.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) duration_s: u64,
    pub(super) tasks: Vec<Task>,
}

/// A thread object.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) name: String,
    /// Threads; at least 1.
    pub(super) instances: u16,
    pub(super) delay_us: u64,
    /// 1 to 99; `None` is no real-time task.
    pub(super) priority: Option<u8>,
    pub(super) deadline_us: Option<u64>,
    /// Ascending, none twice; empty is all.
    pub(super) cpus: Vec<u16>,
    pub(super) turn: Turn,
}

/// Where in the file something stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    before: Option<&'a Place<'a>>,
    key: &'a str,
}

impl<'a> Place<'a> {
    fn top(key: &'a str) -> Self {
        Self { before: None, key }
    }

    pub(super) fn at(&'a self, key: &'a str) -> Self {
        Self {
            before: Some(self),
            key,
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(before) = self.before {
            write!(formatter, "{before}.")?;
        }
        formatter.write_str(self.key)
    }
}

pub(super) fn refuse<T>(place: &Place<'_>, problem: impl Into<String>) -> Result<T, Error> {
    Err(Error::Key {
        key: place.to_string(),
        problem: problem.into(),
    })
}

/// Time in microseconds.
pub(super) fn microseconds(value: &Value, place: &Place<'_>) -> Result<u64, Error> {
    match value {
        Value::Integer(value) if *value >= 0 => Ok(*value as u64),
        value => refuse(
            place,
            format!("{value}; expected a whole number of microseconds, at least 0"),
        ),
    }
}

type Object = [(String, Value)];

fn object<'a>(value: &'a Value, place: &Place<'_>) -> Result<&'a Object, Error> {
    match value {
        Value::Object(entries) => Ok(entries),
        value => refuse(place, format!("{value}; expected an object")),
    }
}

fn text<'a>(value: &'a Value, place: &Place<'_>) -> Result<&'a str, Error> {
    match value {
        Value::Text(text) => Ok(text),
        value => refuse(place, format!("{value}; expected a text in quotes")),
    }
}

pub(super) fn read(file: &Value) -> Result<Workload, Error> {
    let top = Place::top("the file");
    let (mut duration_s, mut policy, mut tasks) = (None, "SCHED_OTHER".to_owned(), None);
    for (key, value) in object(file, &top)? {
        let place = Place::top(key);
        match key.as_str() {
            "global" => {
                for (key, value) in object(value, &place)? {
                    let place = place.at(key);
                    match key.as_str() {
                        "duration" => duration_s = Some(seconds(value, &place)?),
                        "default_policy" => policy = text(value, &place)?.to_owned(),
                        // How rt-app runs and what it writes down.
                        "calibration" | "pi_enabled" | "lock_pages" | "logdir" | "log_basename"
                        | "log_size" | "ftrace" | "gnuplot" | "io_device" | "mem_buffer_size"
                        | "cumulative_slack" => {}
                        _ => {
                            return refuse(
                                &place,
                                "rt-app's documentation has no such key: take it out",
                            );
                        }
                    }
                }
            }
            "tasks" if tasks.is_none() => tasks = Some(object(value, &place)?),
            "tasks" => return refuse(&place, "a second time; expected one object"),
            // Not needed by rt-app itself any more.
            "resources" => {}
            _ => return refuse(&place, "expected tasks, global or resources"),
        }
    }
    let place = Place::top("tasks");
    let Some(tasks) = tasks else {
        return refuse(&place, "missing; expected an object with the threads");
    };
    let Some(duration_s) = duration_s else {
        return refuse(&Place::top("global.duration"), FOR_EVER);
    };
    let mut read: Vec<Task> = Vec::new();
    for (name, value) in tasks {
        let task = task(
            name,
            object(value, &place.at(name))?,
            &policy,
            &place.at(name),
        )?;
        // An instance of 0 is only there to be forked.
        if let Some(mut task) = task {
            task.name = unique(&task.name, &read);
            read.push(task);
        }
    }
    if read.iter().all(|task| task.priority.is_none()) {
        return refuse(
            &place,
            "no task has a real-time policy, so there is no gang; give one \"policy\": \"SCHED_FIFO\" and a priority",
        );
    }
    Ok(Workload {
        duration_s,
        tasks: read,
    })
}

const FOR_EVER: &str = "a run here has an end: give the number of seconds";

fn seconds(value: &Value, place: &Place<'_>) -> Result<u64, Error> {
    match value {
        Value::Integer(value) if *value > 0 => Ok(*value as u64),
        Value::Integer(-1) => refuse(place, FOR_EVER),
        value => refuse(
            place,
            format!("{value}; expected a whole number of seconds"),
        ),
    }
}

/// The name, with a number after it if another task has it.
fn unique(name: &str, tasks: &[Task]) -> String {
    let is_free = |name: &str| tasks.iter().all(|task| task.name != name);
    let numbered = (1..).map(|number| format!("{name}{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| is_free(name)).unwrap_or_default()
}

/// Properties that a phase can change.
#[derive(Debug, Default)]
struct Properties {
    policy: Option<String>,
    priority: Option<i64>,
    deadline_us: Option<u64>,
    cpus: Vec<u16>,
}

fn task(
    name: &str,
    entries: &Object,
    policy: &str,
    place: &Place<'_>,
) -> Result<Option<Task>, Error> {
    let is_name = name.trim() == name && !name.chars().any(char::is_control);
    // Room for a number after it in the 64 characters of a scenario's names.
    if !is_name || !(1..=60).contains(&name.chars().count()) {
        return refuse(
            place,
            "expected a name of 1 to 60 characters without space around it",
        );
    }
    let mut properties = Properties::default();
    let (mut instances, mut delay_us) = (1, 0);
    let mut turn = Turn::default();
    let mut phase: Option<&(String, Value)> = None;
    for (key, value) in entries {
        let place = place.at(key);
        match key.as_str() {
            "instance" => instances = count(value, &place)?,
            "delay" => delay_us = microseconds(value, &place)?,
            "phases" => phase = Some(only_phase(value, &place)?),
            _ if property(&mut properties, key, value, &place, -1)? => {}
            _ => event(&mut turn, key, value, &place)?,
        }
    }
    if let Some((name, value)) = phase {
        let phases = place.at("phases");
        let place = phases.at(name);
        if turn != Turn::default() {
            return refuse(
                &place,
                "a phase beside events of the task itself: keep one of them",
            );
        }
        for (key, value) in object(value, &place)? {
            let place = place.at(key);
            // A phase that is repeated, in a task that is, is the same.
            if !property(&mut properties, key, value, &place, i64::MAX)? {
                event(&mut turn, key, value, &place)?;
            }
        }
    }
    if instances == 0 {
        return Ok(None);
    }
    let priority = priority(&properties, policy, place)?;
    check(&turn, priority, instances, delay_us, place)?;
    Ok(Some(Task {
        name: name.to_owned(),
        instances,
        delay_us,
        priority,
        deadline_us: properties.deadline_us,
        cpus: properties.cpus,
        turn,
    }))
}

fn count(value: &Value, place: &Place<'_>) -> Result<u16, Error> {
    let count = match value {
        Value::Integer(value) => u16::try_from(*value).ok(),
        _ => None,
    };
    match count {
        Some(count) => Ok(count),
        None => refuse(place, format!("{value}; expected 0 to 65535 threads")),
    }
}

fn only_phase<'a>(value: &'a Value, place: &Place<'_>) -> Result<&'a (String, Value), Error> {
    match object(value, place)? {
        [phase] => Ok(phase),
        phases => refuse(
            place,
            format!(
                "{} phases; every job of a task here does the same: keep one phase, or make a task of each",
                phases.len()
            ),
        ),
    }
}

fn event(turn: &mut Turn, key: &str, value: &Value, place: &Place<'_>) -> Result<(), Error> {
    match kind(key) {
        Some(kind) => turn.add(kind, value, place),
        None => refuse(place, "rt-app's documentation has no such key: take it out"),
    }
}

/// Reads a property; false when the key is none. A `loop` goes on for ever when it is -1,
/// and any number of turns will do up to `turns`.
fn property(
    properties: &mut Properties,
    key: &str,
    value: &Value,
    place: &Place<'_>,
    turns: i64,
) -> Result<bool, Error> {
    match key {
        "loop" => match value {
            Value::Integer(-1) => {}
            Value::Integer(loops) if (1..=turns).contains(loops) => {}
            _ => {
                return refuse(
                    place,
                    "jobs here go on until the run ends: take it out, or give -1",
                );
            }
        },
        "policy" => properties.policy = Some(text(value, place)?.to_owned()),
        "priority" => match value {
            Value::Integer(priority) => properties.priority = Some(*priority),
            value => return refuse(place, format!("{value}; expected a whole number")),
        },
        "dl-deadline" | "deadline" => properties.deadline_us = Some(microseconds(value, place)?),
        "cpus" => properties.cpus = cpus(value, place)?,
        "dl-runtime" | "dl-period" | "period" => {
            return refuse(
                place,
                "belongs to SCHED_DEADLINE, which a scenario does not have: give a timer with this period and a fixed priority",
            );
        }
        "util_min" | "util_max" => {
            return refuse(
                place,
                "a scenario does not set clock frequencies: take it out",
            );
        }
        "taskgroup" => {
            return refuse(
                place,
                "gangs come from priorities and not from groups: take it out",
            );
        }
        "membind_nodes" => {
            return refuse(place, "a scenario has one memory: take it out");
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn cpus(value: &Value, place: &Place<'_>) -> Result<Vec<u16>, Error> {
    let items = match value {
        Value::List(items) => &items[..],
        _ => &[],
    };
    let numbers = items.iter().map(|item| match item {
        Value::Integer(cpu) => u16::try_from(*cpu).ok(),
        _ => None,
    });
    let mut cpus: Vec<u16> = numbers.collect::<Option<_>>().unwrap_or_default();
    cpus.sort_unstable();
    cpus.dedup();
    match cpus.is_empty() {
        true => refuse(place, "expected a list of processors such as [0, 2]"),
        false => Ok(cpus),
    }
}

/// The priority of a gang; `None` for best-effort work.
fn priority(
    properties: &Properties,
    default_policy: &str,
    place: &Place<'_>,
) -> Result<Option<u8>, Error> {
    let policy = properties.policy.as_deref().unwrap_or(default_policy);
    match policy {
        "SCHED_FIFO" | "SCHED_RR" => {
            let priority = properties.priority.unwrap_or(10);
            match u8::try_from(priority) {
                Ok(priority @ 1..=99) => Ok(Some(priority)),
                _ => refuse(
                    &place.at("priority"),
                    format!("{priority}; expected 1 to 99"),
                ),
            }
        }
        "SCHED_OTHER" | "SCHED_BATCH" | "SCHED_IDLE" => Ok(None),
        "SCHED_DEADLINE" => refuse(
            &place.at("policy"),
            "gangs have fixed priorities: give \"SCHED_FIFO\" and a priority, the higher the shorter the period",
        ),
        other => refuse(
            &place.at("policy"),
            format!(
                "{other:?}; expected SCHED_FIFO, SCHED_RR, SCHED_OTHER, SCHED_BATCH or SCHED_IDLE"
            ),
        ),
    }
}

/// Whether the turn is a job of a task, or endless work without priority.
fn check(
    turn: &Turn,
    priority: Option<u8>,
    instances: u16,
    delay_us: u64,
    place: &Place<'_>,
) -> Result<(), Error> {
    if turn.run_us == 0 {
        return refuse(place, "it never runs; expected a run or runtime event");
    }
    if priority.is_none() {
        if turn.timer.is_some() || turn.sleep_us > 0 {
            return refuse(
                place,
                "best-effort work here never sleeps: give the task \"policy\": \"SCHED_FIFO\" and a priority, or take its timer and sleep out",
            );
        }
        if delay_us > 0 {
            return refuse(
                &place.at("delay"),
                "best-effort work here begins with the run: take it out",
            );
        }
        return Ok(());
    }
    match &turn.timer {
        Some(_) if turn.sleep_us > 0 => refuse(
            &place.at("sleep"),
            "a job here does not sleep before it ends: keep the timer or the sleep",
        ),
        Some(timer) if instances > 1 && !timer.is_unique => refuse(
            &place.at("timer.ref"),
            "the instances share a timer, so that they take turns; give each its own: \"ref\": \"unique\"",
        ),
        None if turn.sleep_us == 0 => {
            refuse(place, "a real-time task that never sleeps: give it a timer")
        }
        _ => Ok(()),
    }
}
