//! Cases of a scenario of VMs.

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
    reservations: bool,
    /// Whether each VM runs in a case of its own.
    one_vm_each: bool,
}

const PRESETS: [Preset; 3] = [
    Preset {
        name: "solo",
        reservations: false,
        one_vm_each: true,
    },
    Preset {
        name: "co-run",
        reservations: false,
        one_vm_each: false,
    },
    Preset {
        name: "reserved",
        reservations: true,
        one_vm_each: false,
    },
];

impl Checker<'_> {
    /// The runs of one case of the file: several for `solo`.
    pub(super) fn vm_case(&mut self, table: &CaseTable, vms: Option<&Vms>) -> Vec<Case> {
        self.refuse_gang_keys(table);
        let name = &table.name.value.0;
        let preset = PRESETS.iter().find(|preset| preset.name == name);
        let selected = self.case_vms(table.vms.as_ref());
        let reservations = self.case_reservations(table, preset, &selected);
        let cache_allocation = self.case_colours(table);
        let one_vm_each = preset.is_some_and(|preset| preset.one_vm_each);
        let Some(vms) = vms else {
            return Vec::new();
        };
        let interference = flag(&table.interference).unwrap_or(true);
        let case = |name: String, selected: Vec<usize>| Case {
            name,
            scheduling: Scheduling::FixedPriority,
            regulation: false,
            cache_allocation,
            interference,
            gangs: selected.iter().filter_map(|&vm| vms.vms[vm].gang).collect(),
            best_effort: of_vms(&selected, vms),
            vms: selected,
            reservations,
        };
        match one_vm_each && vms.vms.len() > 1 {
            true => {
                let alone = |vm: usize| case(format!("{name}/{}", vms.vms[vm].name), vec![vm]);
                selected.into_iter().map(alone).collect()
            }
            false => vec![case(name.clone(), selected)],
        }
    }

    fn case_reservations(
        &mut self,
        table: &CaseTable,
        preset: Option<&Preset>,
        selected: &[usize],
    ) -> bool {
        let file = self.file;
        let wanted = flag(&table.reservations)
            .unwrap_or_else(|| preset.is_some_and(|preset| preset.reservations));
        let has_one = |&vm: &usize| file.vm[vm].value.reservation.is_some();
        if wanted && self.complete && !selected.iter().any(has_one) {
            let span = table
                .reservations
                .as_ref()
                .map_or(table.name.span, |it| it.span);
            self.problems.report(
                span,
                format!(
                    "reservations in the case `{}`, whose VMs have none",
                    table.name.value.0
                ),
                "a VM of the case with a `reservation`",
            );
        }
        wanted
    }

    /// Whether the VMs have their colours.
    fn case_colours(&mut self, table: &CaseTable) -> bool {
        let wanted = table.cache_allocation.as_ref().filter(|flag| flag.value.0);
        let has_some = self.file.vm.iter().any(|vm| vm.value.colours.is_some());
        if let Some(flag) = wanted.filter(|_| self.complete && !has_some) {
            self.problems.report(
                flag.span,
                "cache allocation among VMs without colours",
                "`colours` of each VM",
            );
        }
        wanted.is_some()
    }

    fn case_vms(&mut self, field: Option<&Located<Names>>) -> Vec<usize> {
        let names: Vec<&str> = self
            .file
            .vm
            .iter()
            .map(|vm| vm.value.name.value.0.as_str())
            .collect();
        let Some(field) = field else {
            return (0..names.len()).collect();
        };
        if field.value.0.is_empty() {
            self.problems
                .report(field.span, "a case without a VM", "at least one VM");
        }
        self.find_all("VM", &field.value, &names)
    }

    fn refuse_gang_keys(&mut self, table: &CaseTable) {
        let spans = [
            ("scheduling", table.scheduling.as_ref().map(|it| it.span)),
            ("regulation", table.regulation.as_ref().map(|it| it.span)),
            ("gangs", table.gangs.as_ref().map(|it| it.span)),
            ("best_effort", table.best_effort.as_ref().map(|it| it.span)),
            (
                "the preset `rt-gang`",
                (table.name.value.0 == "rt-gang").then_some(table.name.span),
            ),
        ];
        self.refuse_case_keys(
            &spans,
            "scenario of VMs",
            "`vms`, `reservations`, `cache_allocation` and `interference`",
        );
    }

    /// The keys of a case that only VMs have.
    pub(super) fn refuse_vm_keys(&mut self, table: &CaseTable) {
        let spans = [
            ("vms", table.vms.as_ref().map(|it| it.span)),
            (
                "reservations",
                table.reservations.as_ref().map(|it| it.span),
            ),
        ];
        self.refuse_case_keys(&spans, "scenario without VMs", "the settings of gangs");
    }

    fn refuse_case_keys(&mut self, keys: &[(&str, Option<Span>)], place: &str, expected: &str) {
        for (key, span) in keys {
            if let Some(span) = span {
                self.problems
                    .report(*span, format!("{key} in a case of a {place}"), expected);
            }
        }
    }
}

fn flag(field: &Option<Located<Flag>>) -> Option<bool> {
    field.as_ref().map(|flag| flag.value.0)
}

/// The best-effort work of VMs.
fn of_vms(selected: &[usize], vms: &Vms) -> Vec<usize> {
    let work = selected.iter().flat_map(|&vm| &vms.vms[vm].best_effort);
    work.copied().collect()
}
