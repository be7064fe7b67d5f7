//! The events of a case, in the order of time.

use std::path::{Path, PathBuf};

use ringfence_record::accuracy::{self, Accuracy, Alignment, Quantity};
use ringfence_record::event::{self, Claims, Event, MAX_CASE_NS};
use toml::Spanned;

use crate::description::{Case, Measure, Rows, Task, Text, Trajectory};
use crate::error::ImportError;
use crate::table::{self, Row, Table};
use crate::tum::{self, Position};
use crate::{FileKind, Source};

/// Largest number of which a double tells every whole one.
const MOST_WHOLE: f64 = (1_u64 << 53) as f64;

/// Where tables lie.
pub struct Files<'a> {
    pub text: &'a Text<'a>,
    pub folder: &'a Path,
    pub source: &'a dyn Source,
}

impl Files<'_> {
    fn read(&self, given: &Spanned<PathBuf>) -> Result<Vec<u8>, ImportError> {
        let path = given.get_ref();
        let read = self.source.read(FileKind::Table, self.folder, path);
        read.map_err(|error| {
            let what = format!("{}: {error}", path.display());
            self.text.error(given.span(), what)
        })
    }
}

/// The section of a case.
pub fn case(case: &Case, files: &Files) -> Result<Vec<Event>, ImportError> {
    let duration_ns = duration_ns(case, files.text)?;
    let mut gangs: Vec<event::Gang> = Vec::new();
    let mut tasks = Vec::new();
    let mut threads = Vec::new();
    let mut course = Vec::new();
    for (index, task) in numbered("tasks", &case.tasks, case, files.text)? {
        tasks.push(declare_task(task, &mut gangs, files)?);
        threads.push(event::Thread {
            name: task.name.clone(),
            task: Some(index),
        });
        course.extend(jobs(index, &task.jobs, files)?);
    }
    course.sort_by_key(|(rank, event)| (event.time_ns(), *rank));
    let last_ns = course.last().and_then(|(_, event)| event.time_ns());
    let end_ns = last_ns.map_or(duration_ns, |last_ns| last_ns.max(duration_ns));
    let mut told = Vec::new();
    let mut accuracy = Accuracy::default();
    for (index, trajectory) in numbered("trajectories", &case.trajectories, case, files.text)? {
        accuracy
            .trajectories
            .push(declare_trajectory(trajectory, files)?);
        told.extend(positions(index, trajectory, end_ns, files)?);
    }
    for (index, measure) in numbered("measures", &case.measures, case, files.text)? {
        accuracy.measures.push(declare_measure(measure, files)?);
        told.extend(values(index, measure, end_ns, files)?);
    }
    let declared = event::Case {
        name: case.name.get_ref().clone(),
        duration_ns,
        // Nobody knows who ran where.
        cores: 0,
        claims: Claims::default(),
        partitions: vec![event::Partition {
            name: "all".into(),
            cores: Vec::new(),
        }],
        threads,
        gangs,
        tasks,
        classes_of_service: Vec::new(),
        accuracy,
    };
    let mut events = vec![Event::CaseBegin(Box::new(declared))];
    events.extend(course.into_iter().map(|(_, event)| event));
    events.extend(told);
    events.push(Event::CaseEnd { time_ns: end_ns });
    Ok(events)
}

fn duration_ns(case: &Case, text: &Text) -> Result<u64, ImportError> {
    let duration_ns = text.time_ns(&case.duration)?;
    if duration_ns > MAX_CASE_NS {
        let found = case.duration.get_ref();
        let what = format!("found {found:?}, expected {}", table::at_most());
        return Err(text.error(case.duration.span(), what));
    }
    Ok(duration_ns)
}

/// All of a kind with their numbers, if a record has numbers for so many.
fn numbered<'a, T>(
    kind: &str,
    all: &'a [T],
    case: &Case,
    text: &Text,
) -> Result<impl Iterator<Item = (u16, &'a T)> + use<'a, T>, ImportError> {
    let count = u16::try_from(all.len()).map_err(|_| {
        let (found, most) = (all.len(), u16::MAX);
        let what = format!("found {found} {kind} in this case, expected at most {most}");
        text.error(case.name.span(), what)
    })?;
    Ok((0..count).zip(all))
}

/// Declares a task, and its gang if it is the first of that.
fn declare_task(
    task: &Task,
    gangs: &mut Vec<event::Gang>,
    files: &Files,
) -> Result<event::Task, ImportError> {
    let priority = *task.priority.get_ref();
    if !(1..=99).contains(&priority) {
        let what = format!("found {priority}, expected a priority from 1 to 99");
        return Err(files.text.error(task.priority.span(), what));
    }
    let name = task.gang.as_ref().unwrap_or(&task.name);
    let known = gangs.iter().position(|gang| gang.name == *name);
    let of_gang = known.map_or(priority, |gang| gangs[gang].priority);
    if priority != of_gang {
        let what = format!(
            "found {priority}, but gang '{name}' has priority {of_gang} by a task above; \
             expected {of_gang}, or another gang"
        );
        return Err(files.text.error(task.priority.span(), what));
    }
    let gang = known.unwrap_or_else(|| {
        gangs.push(event::Gang {
            name: name.clone(),
            partition: 0,
            priority,
            tolerance_read_bytes_per_second: None,
            tolerance_write_bytes_per_second: None,
        });
        gangs.len() - 1
    });
    let period_ns = files.text.time_ns(&task.period)?;
    if period_ns == 0 {
        let what = "found a period of 0, expected a longer one";
        return Err(files.text.error(task.period.span(), what));
    }
    Ok(event::Task {
        name: task.name.clone(),
        gang: u16::try_from(gang).expect("a gang of each of some tasks"),
        period_ns,
        deadline_ns: files.text.time_ns(&task.deadline)?,
        offset_ns: 0,
        sporadic: task.sporadic,
    })
}

/// The events of a task's jobs, each with its rank among those at the same time.
fn jobs(task: u16, rows: &Rows, files: &Files) -> Result<Vec<(u8, Event)>, ImportError> {
    let bytes = files.read(&rows.table)?;
    let table = Table::read(rows.table.get_ref(), &bytes)?;
    let names = ["released_ns", "started_ns", "finished_ns", "dropped_ns"];
    let [released, started, finished, dropped] = names.map(|name| table.column(name));
    let columns = [released?, started?, finished?, dropped?];
    let mut events = Vec::new();
    let mut before_ns = 0;
    for (job, row) in (0..).zip(table.rows(&rows.r#where)?) {
        let times = job_times(row, columns, before_ns)?;
        before_ns = times[0].unwrap_or(before_ns);
        let made: [fn(u64, u16, u32) -> Event; 4] = [
            |time_ns, task, job| Event::JobReleased { time_ns, task, job },
            |time_ns, task, job| Event::JobStarted { time_ns, task, job },
            |time_ns, task, job| Event::JobFinished { time_ns, task, job },
            |time_ns, task, job| Event::JobDropped { time_ns, task, job },
        ];
        for ((rank, time_ns), made) in (0..).zip(times).zip(made) {
            events.extend(time_ns.map(|time_ns| (rank, made(time_ns, task, job))));
        }
    }
    Ok(events)
}

/// When a job was released, started, finished and dropped, in an order that can be.
fn job_times(
    row: Row<'_>,
    columns: [usize; 4],
    before_ns: u64,
) -> Result<[Option<u64>; 4], ImportError> {
    let mut times = [None; 4];
    for (time_ns, column) in times.iter_mut().zip(columns) {
        *time_ns = row.time_ns(column)?;
    }
    let [released_ns, started_ns, finished_ns, dropped_ns] = times;
    let wrong = |which: usize, what: &str| Err(row.error(columns[which], what));
    match released_ns {
        None => return wrong(0, "found nothing, expected when the job was released"),
        Some(released_ns) if released_ns < before_ns => {
            return wrong(
                0,
                "this job was released before that of the row above; sort the rows",
            );
        }
        Some(_) => {}
    }
    if started_ns.is_some_and(|started_ns| Some(started_ns) < released_ns) {
        return wrong(1, "this job started before it was released");
    }
    if finished_ns.is_some() && (started_ns.is_none() || finished_ns < started_ns) {
        return wrong(2, "this job finished before it started");
    }
    if dropped_ns.is_some() && started_ns.is_some() {
        return wrong(3, "this job was dropped, but it had started");
    }
    if dropped_ns.is_some() && dropped_ns < released_ns {
        return wrong(3, "this job was dropped before it was released");
    }
    Ok(times)
}

fn declare_trajectory(
    trajectory: &Trajectory,
    files: &Files,
) -> Result<accuracy::Trajectory, ImportError> {
    let limit = trajectory.median_limit_m.as_ref();
    let limit = limit.map(|limit| {
        let um = scaled(*limit.get_ref(), Quantity::Length).and_then(|um| u64::try_from(um).ok());
        let what = "expected metres, 0 or more";
        um.ok_or_else(|| files.text.error(limit.span(), what))
    });
    Ok(accuracy::Trajectory {
        name: trajectory.name.clone(),
        alignment: match trajectory.aligned {
            true => Alignment::Rigid,
            false => Alignment::Same,
        },
        median_limit_um: limit.transpose()?,
    })
}

/// The positions of a trajectory; nobody knows when they were found. Its clock begins with the first
/// of all positions, true or found.
fn positions(
    index: u16,
    trajectory: &Trajectory,
    end_ns: u64,
    files: &Files,
) -> Result<Vec<Event>, ImportError> {
    let read = |file: &Spanned<PathBuf>| tum::read(file.get_ref(), &files.read(file)?);
    let found = read(&trajectory.estimate)?;
    let truth = trajectory.truth.as_ref().map(read).transpose()?;
    let truth = truth.unwrap_or_default();
    let firsts = found.first().into_iter().chain(truth.first());
    let start_ns = firsts.map(|first| first.time_ns).min().unwrap_or(0);
    let true_position = |position: &Position| Event::TruePosition {
        time_ns: end_ns,
        trajectory: index,
        at_ns: position.time_ns - start_ns,
        position_um: position.um,
    };
    let found_position = |position: &Position| Event::Position {
        time_ns: end_ns,
        trajectory: index,
        at_ns: position.time_ns - start_ns,
        position_um: position.um,
    };
    let truth = truth.iter().map(true_position);
    Ok(truth.chain(found.iter().map(found_position)).collect())
}

fn declare_measure(measure: &Measure, files: &Files) -> Result<accuracy::Measure, ImportError> {
    let limit = measure.limit.as_ref().map(|limit| {
        let value = scaled(*limit.get_ref(), *measure.quantity.get_ref());
        let what = "expected a number of a size that a record can hold";
        value.ok_or_else(|| files.text.error(limit.span(), what))
    });
    Ok(accuracy::Measure {
        name: measure.name.clone(),
        quantity: *measure.quantity.get_ref(),
        limit: limit.transpose()?,
    })
}

fn values(
    index: u16,
    measure: &Measure,
    end_ns: u64,
    files: &Files,
) -> Result<Vec<Event>, ImportError> {
    let values = &measure.values;
    let bytes = files.read(&values.table)?;
    let table = Table::read(values.table.get_ref(), &bytes)?;
    let column = table.column(&values.column)?;
    let mut events = Vec::new();
    for row in table.rows(&values.r#where)? {
        let value = scaled(row.number(column)?, *measure.quantity.get_ref());
        let what = "expected a number of a size that a record can hold";
        events.push(Event::Measured {
            time_ns: end_ns,
            measure: index,
            value: value.ok_or_else(|| row.error(column, what))?,
        });
    }
    if events.is_empty() {
        let what = format!(
            "{} has no row that is wanted here",
            values.table.get_ref().display()
        );
        return Err(files.text.error(values.table.span(), what));
    }
    Ok(events)
}

/// Metres, seconds, shares of one or numbers, in the unit of the record.
fn scaled(value: f64, quantity: Quantity) -> Option<i64> {
    let scale = match quantity {
        Quantity::Length | Quantity::Share => 1e6,
        Quantity::Duration => 1e9,
        Quantity::Count => 1.0,
    };
    let scaled = (value * scale).round();
    (scaled.abs() <= MOST_WHOLE).then_some(scaled as i64)
}
