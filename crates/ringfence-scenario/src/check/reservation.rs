//! Reservations: budgets that are whole events, shares that are some, and all of
//! them together within what the memory can do.

use ringfence_policy::regulator::events_per_period;

use super::{Checker, REGULATION_PERIOD_NS};
use crate::file::Located;
use crate::file::numbers::Cores;
use crate::file::vm::{Budget, ReservationTable};
use crate::quantity::{BANDWIDTH, TIME};
use crate::vm::{Reservation, Vm};

/// Bytes of an event on a platform without memory: a line of every Armv8-A core so far.
const LINE_BYTES: u32 = 64;

impl Checker<'_> {
    pub(super) fn reservation(
        &mut self,
        table: &Located<ReservationTable>,
        cores: &Located<Cores>,
    ) -> Option<Reservation> {
        let table = &table.value;
        let period_ns = table.period.value.0;
        if !REGULATION_PERIOD_NS.contains(&period_ns) {
            self.problems.report(
                table.period.span,
                format!("a period of {}", TIME.format(period_ns)),
                "1 us to 1 s",
            );
            return None;
        }
        let weights = self.weights(table, cores.value.0.len());
        let budget_events = self.budget_events(&table.budget, period_ns);
        let (weights, budget_events) = (weights?, budget_events?);
        let shares = Reservation::shares_of(budget_events, &weights);
        if let Some(vcpu) = shares.iter().position(|&share| share == 0) {
            self.problems.report_with_help(
                table.shares.as_ref().map_or(table.budget.span, |shares| shares.span),
                format!("nothing of {budget_events} events a period for vCPU {vcpu}, which would never run"),
                "at least one event a period for each vCPU",
                "raise the budget, lengthen the period or give other `shares`",
            );
            return None;
        }
        let bounds = match &table.changes {
            None => None,
            Some(changes) => {
                Some(self.bounds(&changes.value, period_ns, budget_events, &weights)?)
            }
        };
        Some(Reservation {
            budget_events,
            requested_bytes_per_second: match table.budget.value {
                Budget::BytesPerSecond(rate) => Some(rate),
                Budget::Events(_) => None,
            },
            period_ns,
            weights,
            shares,
            lends: table.lends.as_ref().is_some_and(|lends| lends.value.0),
            borrows_events: table.borrows.as_ref().map_or(0, |borrows| borrows.value.0),
            bounds,
        })
    }

    /// One weight for each vCPU.
    fn weights(&mut self, table: &ReservationTable, vcpus: usize) -> Option<Vec<u32>> {
        // Reported with the cores.
        if vcpus > Vm::VCPUS_MAX {
            return None;
        }
        let Some(shares) = &table.shares else {
            return Some(vec![1; vcpus]);
        };
        let numbers = &shares.value.0;
        if numbers.len() != vcpus {
            self.problems.report(
                shares.span,
                format!("{} shares", numbers.len()),
                format!("one for each of the {vcpus} vCPUs"),
            );
            return None;
        }
        let sum = numbers.iter().fold(0_u64, |sum, &n| sum.saturating_add(n));
        if !(1..=u64::from(u32::MAX)).contains(&sum) {
            self.problems.report(
                shares.span,
                format!("shares that add up to {sum}"),
                format!("a sum of 1 to {}", u32::MAX),
            );
            return None;
        }
        Some(numbers.iter().map(|&number| number as u32).collect())
    }

    /// The budget in events a period, rounded down.
    fn budget_events(&mut self, budget: &Located<Budget>, period_ns: u64) -> Option<u64> {
        let (found, events) = match budget.value {
            Budget::Events(events) => (format!("a budget of {events} events"), events),
            Budget::BytesPerSecond(rate) => {
                let lines = events_per_period(rate, period_ns, self.line_bytes())?;
                (format!("a budget of {}", BANDWIDTH.format(rate)), lines)
            }
        };
        if events > 0 {
            return Some(events);
        }
        let line_ns = u128::from(self.line_bytes()) * 1_000_000_000;
        let least = line_ns.div_ceil(u128::from(period_ns)) as u64;
        self.problems.report_with_help(
            budget.span,
            format!(
                "{found}, which is no event in a period of {}",
                TIME.format(period_ns)
            ),
            format!("at least 1 event, which is {}", BANDWIDTH.format(least)),
            "a VM that must not run has no place in the scenario",
        );
        None
    }

    /// The bandwidths that are reserved together are at most what the memory can always do.
    pub(super) fn refuse_more_than_is_guaranteed(&mut self) {
        let Some(memory) = &self.platform.memory else {
            return;
        };
        let guaranteed = memory.dram.guaranteed_bytes_per_second(memory.line_bytes);
        let mut total = 0_u64;
        for reservation in self
            .file
            .vm
            .iter()
            .filter_map(|vm| vm.value.reservation.as_ref())
        {
            let budget = &reservation.value.budget;
            let Budget::BytesPerSecond(rate) = budget.value else {
                continue;
            };
            total = total.saturating_add(rate);
            if total > guaranteed {
                self.problems.report_with_help(
                    budget.span,
                    format!("{} reserved with the VMs before", BANDWIDTH.format(total)),
                    format!(
                        "at most {} MB/s, which the memory of {} can do whatever is accessed",
                        guaranteed / 1_000_000,
                        self.platform.name
                    ),
                    "a budget in events a period is a limit, not a promise, and is not counted",
                );
                return;
            }
        }
    }

    pub(super) fn line_bytes(&self) -> u32 {
        let memory = self.platform.memory.as_ref();
        memory.map_or(LINE_BYTES, |memory| memory.line_bytes)
    }
}
