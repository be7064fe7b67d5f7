//! Pages of statistics: of VMs that there are, where a guest has nothing else.

use std::ops::Range;

use super::Checker;
use super::guest_addresses::{overlap, own_addresses, statistics_addresses};
use crate::channel::Channel;
use crate::file::Located;
use crate::file::vm::StatisticsTable;
use crate::vm::{Ram, Statistics};

impl Checker<'_> {
    /// What the VM with that number in the file may read.
    pub(super) fn statistics(&mut self, table: &Located<StatisticsTable>, vm: usize) -> Statistics {
        let file = self.file;
        let (of, address) = (&table.value.of, &table.value.guest_address);
        if of.value.0.is_empty() {
            self.problems
                .report(of.span, "statistics of no VM", "at least one VM");
        }
        let names: Vec<&str> = file
            .vm
            .iter()
            .map(|vm| vm.value.name.value.0.as_str())
            .collect();
        let of = self.find_all("VM", &of.value, &names);
        if !address.value.0.is_multiple_of(Statistics::PAGE_BYTES) {
            self.problems.report(
                address.span,
                format!("the address {:#x}", address.value.0),
                "the start of a page of 4 KiB",
            );
        }
        self.refuse_taken(address.span, vm);
        Statistics {
            of,
            guest_address: address.value.0,
        }
    }

    /// Nothing else of the VM is where its pages are, and guests have addresses there.
    fn refuse_taken(&mut self, span: crate::diagnostic::Span, vm: usize) {
        let file = self.file;
        let table = &file.vm[vm];
        let Some(pages) = statistics_addresses(vm, table, file.vm.len()) else {
            return;
        };
        let Range { start, end } = pages.addresses;
        let found = format!(
            "pages of statistics at {start:#x} to {end:#x}, one for each of {} VMs",
            file.vm.len()
        );
        let devices = Channel::GUEST_DEVICES;
        let own = own_addresses((vm, table));
        if let Some(other) = own
            .iter()
            .find(|it| overlap(&it.addresses, &pages.addresses))
        {
            let Range { start, end } = other.addresses;
            self.problems.report(
                span,
                format!(
                    "{found}, where the VM has {} ({start:#x} to {end:#x})",
                    other.what
                ),
                "addresses that nothing else of the VM has",
            );
        } else if end > Ram::GUEST_END || overlap(&pages.addresses, &devices) {
            self.problems.report(
                span,
                found,
                format!(
                    "guest addresses below {:#x}, but for those of devices, {:#x} to {:#x}",
                    Ram::GUEST_END,
                    devices.start,
                    devices.end
                ),
            );
        }
    }
}
