//! Cases: presets, their settings, and who takes part.

use super::Checker;
use super::vm::Vms;
use crate::diagnostic::Span;
use crate::file::Located;
use crate::file::scenario::CaseTable;
use crate::file::value::{Flag, Names};
use crate::model::{Case, Scheduling};

/// A case that is known by its name.
struct Preset {
    name: &'static str,
    scheduling: Scheduling,
    regulation: bool,
    best_effort: bool,
    /// Whether each gang runs in a case of its own.
    one_gang_each: bool,
}

const PRESETS: [Preset; 3] = [
    Preset {
        name: "solo",
        scheduling: Scheduling::FixedPriority,
        regulation: false,
        best_effort: false,
        one_gang_each: true,
    },
    Preset {
        name: "co-run",
        scheduling: Scheduling::FixedPriority,
        regulation: false,
        best_effort: true,
        one_gang_each: false,
    },
    Preset {
        name: "rt-gang",
        scheduling: Scheduling::Gang,
        regulation: true,
        best_effort: true,
        one_gang_each: false,
    },
];

impl Checker<'_> {
    /// The cases in the order of the file, `solo` expanded.
    pub(super) fn cases(&mut self, vms: Option<&Vms>) -> Vec<Case> {
        let tables = &self.file.case;
        if tables.is_empty() && self.complete {
            self.problems.report_with_help(
                self.file.scenario.span,
                "no case in the file",
                "at least one [[case]]",
                "for example [[case]] with name = \"rt-gang\"",
            );
        }
        let mut cases: Vec<Case> = Vec::new();
        for table in tables {
            let found = match self.file.vm.is_empty() {
                true => self.case(&table.value),
                false => self.vm_case(&table.value, vms),
            };
            for case in found {
                self.refuse_second(&case, &cases, table.value.name.span);
                cases.push(case);
            }
        }
        cases
    }

    fn refuse_second(&mut self, case: &Case, earlier: &[Case], span: Span) {
        if earlier.iter().any(|other| other.name == case.name) {
            self.problems.report(
                span,
                format!("the case `{}` a second time", case.name),
                "a different name for each case",
            );
        }
    }

    /// One case of the file; several for `solo`, none when it cannot be built.
    fn case(&mut self, table: &CaseTable) -> Vec<Case> {
        self.refuse_vm_keys(table);
        let name = &table.name.value.0;
        let preset = PRESETS.iter().find(|preset| preset.name == name);
        let gangs = self.case_gangs(table.gangs.as_ref());
        let best_effort = self.case_best_effort(
            table.best_effort.as_ref(),
            preset.is_none_or(|preset| preset.best_effort),
        );
        let Some(scheduling) = self.case_scheduling(table, preset) else {
            return Vec::new();
        };
        let cache_allocation = self.cache_allocation(table, &gangs, &best_effort);
        let flag = |field: &Option<Located<Flag>>, default: bool| {
            field.as_ref().map_or(default, |flag| flag.value.0)
        };
        let case = Case {
            name: name.clone(),
            scheduling,
            regulation: flag(
                &table.regulation,
                preset.is_some_and(|preset| preset.regulation),
            ),
            cache_allocation,
            interference: flag(&table.interference, true),
            gangs,
            best_effort,
            vms: Vec::new(),
            reservations: false,
        };
        match preset {
            Some(preset) if preset.one_gang_each && self.file.gang.len() > 1 => {
                self.one_case_per_gang(&case)
            }
            _ => vec![case],
        }
    }

    /// Whether the case allocates the cache to the classes of service of its participants.
    fn cache_allocation(
        &mut self,
        table: &CaseTable,
        gangs: &[usize],
        best_effort: &[usize],
    ) -> bool {
        let Some(flag) = table.cache_allocation.as_ref().filter(|flag| flag.value.0) else {
            return false;
        };
        let file = self.file;
        let of_gangs = gangs
            .iter()
            .map(|&gang| &file.gang[gang].value.class_of_service);
        let of_best_effort = best_effort
            .iter()
            .map(|&entry| &file.best_effort[entry].value.class_of_service);
        if file.class_of_service.is_empty() {
            self.problems.report(
                flag.span,
                "cache allocation without a class of service",
                "a `[[class_of_service]]`, and gangs or best-effort work that name it",
            );
        } else if self.complete && of_gangs.chain(of_best_effort).all(Option::is_none) {
            self.problems.report_with_help(
                flag.span,
                "cache allocation in a case without work of a class of service",
                "a gang or best-effort work of the case that names its `class_of_service`",
                "or leave `cache_allocation` out",
            );
        }
        true
    }

    fn one_case_per_gang(&self, case: &Case) -> Vec<Case> {
        let with_gang = |&gang: &usize| Case {
            name: format!("{}/{}", case.name, self.file.gang[gang].value.name.value.0),
            gangs: vec![gang],
            ..case.clone()
        };
        case.gangs.iter().map(with_gang).collect()
    }

    fn case_scheduling(
        &mut self,
        table: &CaseTable,
        preset: Option<&Preset>,
    ) -> Option<Scheduling> {
        let stated = table.scheduling.as_ref().map(|field| field.value.into());
        let scheduling = stated.or(preset.map(|preset| preset.scheduling));
        if scheduling.is_none() && self.complete {
            let presets = PRESETS.map(|preset| preset.name);
            self.problems.report_with_help(
                table.name.span,
                format!("the case `{}` without `scheduling`", table.name.value.0),
                "`scheduling`: \"fixed-priority\" or \"gang\"",
                format!(
                    "only the presets {} do without",
                    crate::file::quoted(&presets, "and")
                ),
            );
        }
        scheduling
    }

    fn case_gangs(&mut self, field: Option<&Located<Names>>) -> Vec<usize> {
        let names: Vec<&str> = self
            .file
            .gang
            .iter()
            .map(|gang| gang.value.name.value.0.as_str())
            .collect();
        let Some(field) = field else {
            return (0..names.len()).collect();
        };
        if field.value.0.is_empty() {
            self.problems
                .report(field.span, "a case without a gang", "at least one gang");
        }
        self.find_all("gang", &field.value, &names)
    }

    fn case_best_effort(
        &mut self,
        field: Option<&Located<Names>>,
        default_all: bool,
    ) -> Vec<usize> {
        let names: Vec<&str> = self
            .file
            .best_effort
            .iter()
            .map(|entry| entry.value.name.value.0.as_str())
            .collect();
        match field {
            Some(field) => self.find_all("best-effort work", &field.value, &names),
            None if default_all => (0..names.len()).collect(),
            None => Vec::new(),
        }
    }
}
