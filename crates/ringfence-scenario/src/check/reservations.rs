//! Reservations that are changed at run time and budgets that are lent: within bounds, by VMs
//! that there are, in step, and together within a total.

use std::ops::RangeInclusive;

use ringfence_policy::periods::bandwidth;

use super::vm::Vms;
use super::{Checker, REGULATION_PERIOD_NS};
use crate::file::Located;
use crate::file::vm::{Budget, ChangesTable, ReservationTable};
use crate::quantity::{BANDWIDTH, TIME};
use crate::vm::ReservationBounds;

impl Checker<'_> {
    /// What a reservation may be changed to; it is within that to begin with.
    pub(super) fn bounds(
        &mut self,
        table: &ChangesTable,
        period_ns: u64,
        budget_events: u64,
        weights: &[u32],
    ) -> Option<ReservationBounds> {
        let names: Vec<&str> = self
            .file
            .vm
            .iter()
            .map(|vm| vm.value.name.value.0.as_str())
            .collect();
        if table.by.value.0.is_empty() {
            self.problems
                .report(table.by.span, "changes by no VM", "at least one VM");
        }
        self.find_all("VM", &table.by.value, &names);
        let budget = &table.budget;
        let budgets = self.ends(budget.span, &budget.value.0, "events a period", |n| {
            n.to_string()
        });
        let periods = match &table.period {
            None => Some(period_ns..=period_ns),
            Some(period) => self.ends(period.span, &period.value.0, "times", |n| TIME.format(n)),
        };
        let (budgets, periods) = (budgets?, periods?);
        let mut wrong = |span, found: String, expected: String| {
            self.problems.report(span, found, expected);
            None
        };
        if !budgets.contains(&budget_events) || *budgets.end() > Budget::EVENTS_MAX {
            return wrong(
                budget.span,
                format!("bounds of {} to {} events", budgets.start(), budgets.end()),
                format!(
                    "bounds with the budget itself, {budget_events} events a period, and below 2^63"
                ),
            );
        }
        // A part of an event or more is never cut to a share of nothing, whatever the budget.
        let together: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        let least = u128::from(*budgets.start());
        let is_below = |&weight: &u32| least * u128::from(weight) < together;
        if let Some(vcpu) = weights.iter().position(is_below) {
            return wrong(
                budget.span,
                format!(
                    "less than an event of {} a period for vCPU {vcpu}, which might never run",
                    budgets.start()
                ),
                "at least one event a period for each vCPU".to_owned(),
            );
        }
        let possible = &REGULATION_PERIOD_NS;
        let are_possible = possible.contains(periods.start()) && possible.contains(periods.end());
        if !are_possible || !periods.contains(&period_ns) {
            return wrong(
                table.period.as_ref().map_or(budget.span, |it| it.span),
                format!(
                    "periods of {} to {}",
                    TIME.format(*periods.start()),
                    TIME.format(*periods.end())
                ),
                format!(
                    "1 us to 1 s, with the period itself, {}",
                    TIME.format(period_ns)
                ),
            );
        }
        Some(ReservationBounds {
            budget_events: budgets,
            period_ns: periods,
        })
    }

    fn ends(
        &mut self,
        span: crate::diagnostic::Span,
        ends: &[u64],
        what: &str,
        shown: impl Fn(u64) -> String,
    ) -> Option<RangeInclusive<u64>> {
        match *ends {
            [least, most] if least <= most => Some(least..=most),
            _ => {
                let ends: Vec<String> = ends.iter().map(|&end| shown(end)).collect();
                self.problems.report(
                    span,
                    format!("[{}]", ends.join(", ")),
                    format!("two {what}, the smaller one first"),
                );
                None
            }
        }
    }

    /// The numbers of the VMs whose reservations the VM `name` may change.
    pub(super) fn may_change(&self, name: &str) -> Vec<usize> {
        let vms = self.file.vm.iter().enumerate();
        let may = |table: &Located<ReservationTable>| {
            let changes = table.value.changes.as_ref();
            changes.is_some_and(|it| it.value.by.value.0.iter().any(|by| by.value.0 == name))
        };
        vms.filter(|(_, vm)| vm.value.reservation.as_ref().is_some_and(may))
            .map(|(number, _)| number)
            .collect()
    }

    /// The total, in bytes per second, if there is one.
    pub(super) fn reservations_together(&mut self, vms: Option<&Vms>) -> Option<u64> {
        self.refuse_pool_out_of_step();
        let total = self.file.reservations.as_ref();
        let total = total.map(|table| &table.value.total);
        let tables = self.file.vm.iter();
        let reservations: Vec<_> = tables
            .filter_map(|vm| vm.value.reservation.as_ref())
            .collect();
        let changes = reservations.iter().find_map(|it| it.value.changes.as_ref());
        if let (Some(changes), None) = (changes, total) {
            self.problems.report_with_help(
                changes.span,
                "changes of a reservation without a total of all",
                "`total` in [reservations]",
                "such as `[reservations]` and `total = \"300 MB/s\"`",
            );
        }
        let total = total?;
        if reservations.is_empty() {
            self.problems.report(
                total.span,
                "a total of reservations, of which there are none",
                "a VM with a `reservation`",
            );
        }
        let line_bytes = u64::from(self.line_bytes());
        let reserved = vms?.vms.iter().filter_map(|vm| vm.reservation.as_ref());
        let events: u64 = reserved
            .map(|it| bandwidth(it.budget_events, it.period_ns))
            .fold(0, u64::saturating_add);
        if events > total.value.0 / line_bytes {
            self.problems.report(
                total.span,
                format!("a total of {}", BANDWIDTH.format(total.value.0)),
                format!(
                    "at least what all VMs have reserved, {}",
                    BANDWIDTH.format(events.saturating_mul(line_bytes))
                ),
            );
        }
        Some(total.value.0)
    }

    /// All VMs that lend or borrow have periods of one length, for good.
    fn refuse_pool_out_of_step(&mut self) {
        let mut first: Option<(u64, &str)> = None;
        for vm in &self.file.vm {
            let name = &vm.value.name.value.0;
            let Some(table) = vm.value.reservation.as_ref().map(|table| &table.value) else {
                continue;
            };
            if !table.lends.as_ref().is_some_and(|lends| lends.value.0) && table.borrows.is_none() {
                continue;
            }
            let period_ns = table.period.value.0;
            let (first_ns, of) = *first.get_or_insert((period_ns, name));
            if period_ns != first_ns {
                self.problems.report(
                    table.period.span,
                    format!(
                        "a period of {} of `{name}`, which lends or borrows",
                        TIME.format(period_ns)
                    ),
                    format!("{}, as `{of}` has that does, too", TIME.format(first_ns)),
                );
            }
            let period = table
                .changes
                .as_ref()
                .and_then(|it| it.value.period.as_ref());
            if let Some(period) = period.filter(|it| it.value.0.iter().any(|&ns| ns != period_ns)) {
                self.problems.report(
                    period.span,
                    format!("another period for `{name}`, which lends or borrows"),
                    format!("{} always", TIME.format(period_ns)),
                );
            }
        }
    }
}
