//! From what a file says to what it means: cross-references, ranges that
//! depend on the platform, and defaults.
//!
//! Checks go on after a problem. A part that cannot be built is `None`; the
//! scenario is only handed out when there is no problem at all.

mod case;
mod channel;
mod class_of_service;
mod colours;
pub(crate) mod dram;
mod gang;
mod guest;
mod guest_addresses;
mod names;
mod network;
mod partition;
pub(crate) mod platform;
mod program;
mod reservation;
mod reservations;
mod statistics;
mod streams;
mod timing;
mod trace;
mod vm;
mod vm_case;
mod work;

use std::path::Path;

use crate::diagnostic::{Problems, Span};
use crate::file::rate::Share;
use crate::file::scenario::{ScenarioFile, ScenarioTable};
use crate::files::Files;
use crate::model::{Observe, Regulation, Scenario, ShareLimit};
use crate::platform::Platform;
use crate::quantity::TIME;

/// Shortest and longest regulation period, and shortest sampling period.
const REGULATION_PERIOD_NS: std::ops::RangeInclusive<u64> = 1_000..=1_000_000_000;
const DEFAULT_REGULATION_PERIOD_NS: u64 = 1_000_000;
const DEFAULT_COUNTERS_EVERY_NS: u64 = 1_000_000;
const DEFAULT_SEED: u64 = 1;
/// Linux's own default for real-time work (`sched_rt_runtime_us`, `sched_rt_period_us`).
const DEFAULT_SHARE: ShareLimit = ShareLimit::Limited {
    limit_ns: 950_000_000,
    window_ns: 1_000_000_000,
};

/// What the checks of one scenario share.
struct Checker<'a> {
    file: &'a ScenarioFile,
    platform: &'a Platform,
    /// Folder that relative paths start from.
    base: &'a Path,
    files: &'a dyn Files,
    /// Whether every table of the file could be read. Otherwise a name that is
    /// not found may stand in a table that was dropped: nothing is said about it.
    complete: bool,
    regulation: Regulation,
    problems: &'a mut Problems,
}

/// Checks `file` against `platform`; gives nothing when `problems` has or gets any.
pub(crate) fn scenario(
    file: &ScenarioFile,
    platform: &Platform,
    base: &Path,
    files: &dyn Files,
    problems: &mut Problems,
) -> Option<Scenario> {
    let complete = problems.is_empty();
    let mut checker = Checker {
        file,
        platform,
        base,
        files,
        complete,
        regulation: Regulation {
            period_ns: DEFAULT_REGULATION_PERIOD_NS,
        },
        problems,
    };
    let scenario = checker.scenario();
    scenario.filter(|_| problems.is_empty())
}

impl Checker<'_> {
    fn scenario(&mut self) -> Option<Scenario> {
        self.regulation = self.regulation();
        let has_vms = !self.file.vm.is_empty();
        let share = match has_vms {
            true => ShareLimit::Off,
            false => self.share(),
        };
        let observe = self.observe();
        let partitions = self.partitions();
        let classes_of_service = self.classes_of_service();
        let vms = self.vms();
        let (gangs, best_effort) = match has_vms {
            true => (Vec::new(), Vec::new()),
            false => (self.gangs(), self.best_effort()),
        };
        let channels = self.channels();
        let reservations_bytes_per_second = self.reservations_together(vms.as_ref());
        let cases = self.cases(vms.as_ref());
        self.work_as_a_whole();

        let vms = vms?;
        let (mut gangs, mut best_effort) = (all(gangs)?, all(best_effort)?);
        let mut classes_of_service = all(classes_of_service)?;
        classes_of_service.extend(vms.classes_of_service);
        gangs.extend(vms.gangs);
        best_effort.extend(vms.best_effort);
        let table: &ScenarioTable = &self.file.scenario.value;
        Some(Scenario {
            name: table.name.value.0.clone(),
            description: table
                .description
                .as_ref()
                .map(|text| text.value.0.clone())
                .unwrap_or_default(),
            platform: self.platform.clone(),
            duration_ns: table.duration.value.0,
            seed: table
                .seed
                .as_ref()
                .map_or(DEFAULT_SEED, |seed| seed.value.0),
            regulation: self.regulation,
            share,
            partitions: all(partitions)?,
            classes_of_service,
            gangs,
            best_effort,
            vms: vms.vms,
            channels: channels?,
            reservations_bytes_per_second,
            cases,
            observe,
        })
    }

    fn regulation(&mut self) -> Regulation {
        let Some(table) = &self.file.regulation else {
            return self.regulation;
        };
        let period = &table.value.period;
        if !REGULATION_PERIOD_NS.contains(&period.value.0) {
            self.problems.report(
                period.span,
                format!("a regulation period of {}", TIME.format(period.value.0)),
                "1 us to 1 s",
            );
            return self.regulation;
        }
        Regulation {
            period_ns: period.value.0,
        }
    }

    fn share(&mut self) -> ShareLimit {
        let table = match self.file.share.as_ref().map(|share| &share.value) {
            None => return DEFAULT_SHARE,
            Some(Share::Off) => return ShareLimit::Off,
            Some(Share::Limited(table)) => table,
        };
        let (limit_ns, window_ns) = (table.limit.value.0, table.window.value.0);
        if limit_ns == 0 || limit_ns >= window_ns {
            self.problems.report_with_help(
                table.limit.span,
                format!(
                    "a limit of {} in a window of {}",
                    TIME.format(limit_ns),
                    TIME.format(window_ns)
                ),
                "more than nothing and less than the window",
                "`share = \"off\"` above the first table removes the limit",
            );
        }
        ShareLimit::Limited {
            limit_ns,
            window_ns,
        }
    }

    fn observe(&mut self) -> Observe {
        let Some(table) = &self.file.observe else {
            return Observe {
                counters_every_ns: DEFAULT_COUNTERS_EVERY_NS,
            };
        };
        let every = &table.value.counters_every;
        if every.value.0 < *REGULATION_PERIOD_NS.start() {
            self.problems.report(
                every.span,
                format!("a sample every {}", TIME.format(every.value.0)),
                "1 us or more",
            );
        }
        Observe {
            counters_every_ns: every.value.0,
        }
    }

    /// Reports every core of `cores` that the platform does not have.
    fn refuse_missing_cores(&mut self, cores: &[u16], span: Span) {
        if let Some(core) = cores.iter().find(|&&core| core >= self.platform.cores) {
            self.problems.report(
                span,
                format!("core {core}"),
                format!(
                    "cores 0 to {} of {}",
                    self.platform.cores - 1,
                    self.platform.name
                ),
            );
        }
    }
}

/// All parts, when all could be built.
fn all<T>(parts: Vec<Option<T>>) -> Option<Vec<T>> {
    parts.into_iter().collect()
}
