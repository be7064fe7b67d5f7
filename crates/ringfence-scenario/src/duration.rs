//! How long a case may last.

use crate::model::{Scenario, Task};
use crate::quantity::TIME;

/// Longest duration of a case, in nanoseconds: a day. Records and their
/// analysis hold 2^48 ns, a little more than three days.
pub const MAX_DURATION_NS: u64 = 86_400_000_000_000;

impl Task {
    /// When the first job is due, in nanoseconds after the start.
    pub fn first_deadline_ns(&self) -> u64 {
        self.offset_ns.saturating_add(self.deadline_ns)
    }
}

impl Scenario {
    /// The scenario with another duration, such as one from the command line.
    ///
    /// It may be shorter than a period, but at least one job of every task that
    /// takes part in one of [`Scenario::cases`] must be due in it: a case in
    /// which a task has no result would pass without having tested anything.
    /// Select the cases first.
    ///
    /// # Errors
    ///
    /// What was found and what was expected, when the duration is longer than
    /// [`MAX_DURATION_NS`] or ends before a task's first deadline.
    pub fn with_duration(self, duration_ns: u64) -> Result<Self, String> {
        let found = TIME.format(duration_ns);
        if duration_ns > MAX_DURATION_NS {
            return Err(format!(
                "found a duration of {found}, expected at most {}, a day",
                TIME.format(MAX_DURATION_NS)
            ));
        }
        let last_due = self
            .selected_tasks()
            .max_by_key(|task| task.first_deadline_ns())
            .filter(|task| task.first_deadline_ns() > duration_ns);
        if let Some(task) = last_due {
            return Err(format!(
                "found a duration of {found}, expected at least {}, when the first job of `{}` is due",
                TIME.format(task.first_deadline_ns()),
                task.name
            ));
        }
        Ok(Self {
            duration_ns,
            ..self
        })
    }

    /// Tasks that take part in a case.
    fn selected_tasks(&self) -> impl Iterator<Item = &Task> {
        let takes_part = |gang: usize| self.cases.iter().any(|case| case.gangs.contains(&gang));
        self.gangs
            .iter()
            .enumerate()
            .filter(move |(index, _)| takes_part(*index))
            .flat_map(|(_, gang)| &gang.tasks)
    }
}
