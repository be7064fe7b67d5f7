//! Channels: between two VMs, at addresses and with interrupts that nothing else has.

use std::iter;
use std::ops::Range;

use super::Checker;
use super::guest_addresses::{Seen, overlap, own_addresses, range, statistics_addresses};
use super::names::refuse_duplicates;
use crate::channel::{Channel, ChannelEnd};
use crate::diagnostic::Span;
use crate::file::Located;
use crate::file::channel::{ChannelEndTable, ChannelTable};
use crate::file::vm::VmTable;
use crate::quantity::{SIZE, TIME};
use crate::vm::{Device, Ram, Vm};

/// What raises an interrupt of a VM.
struct Source {
    vm: usize,
    number: u64,
    what: String,
}

impl Checker<'_> {
    /// The channels in the order of the file.
    pub(super) fn channels(&mut self) -> Option<Vec<Channel>> {
        let file = self.file;
        let tables = &file.channel;
        refuse_duplicates(
            "channel",
            tables.iter().map(|table| &table.value.name),
            self.problems,
        );
        if let Some(table) = tables.get(Channel::MAX) {
            let found = format!("{} channels", tables.len());
            let expected = format!("at most {}", Channel::MAX);
            self.problems.report(table.value.name.span, found, expected);
        }
        let channels = tables.iter().map(|table| self.channel(table)).collect();
        let channels = super::all(channels)?;
        self.refuse_shared_addresses(&channels);
        self.refuse_shared_numbers(&channels);
        Some(channels)
    }

    fn channel(&mut self, table: &Located<ChannelTable>) -> Option<Channel> {
        let span = table.value.name.span;
        let table = &table.value;
        let name = &table.name.value.0;
        let [first, second] = &table.end[..] else {
            if self.complete {
                self.problems.report(
                    span,
                    format!(
                        "the channel `{name}` with {} [[channel.end]]",
                        table.end.len()
                    ),
                    "two, of two VMs",
                );
            }
            return None;
        };
        let memory = table.memory.as_ref();
        let is_notified = first.value.interrupt.is_some() || second.value.interrupt.is_some();
        if self.complete && memory.is_none() && !is_notified {
            self.problems.report(
                span,
                format!("the channel `{name}` with neither memory nor an interrupt"),
                "`memory`, or an `interrupt` of an end",
            );
        }
        let size_bytes = memory.map_or(0, |memory| self.whole_pages(memory.span, memory.value.0));
        if let Some(address) = &table.address {
            self.refuse_without_memory("address", address.span, memory.is_some());
            self.refuse_part_of_page(address.span, address.value.0);
        }
        let interval_ns =
            table
                .interval
                .as_ref()
                .map_or(Channel::DEFAULT_INTERVAL_NS, |interval| {
                    if !Channel::INTERVAL_NS.contains(&interval.value.0) {
                        let found = format!("an interval of {}", TIME.format(interval.value.0));
                        self.problems.report(interval.span, found, "1 us to 1 s");
                    }
                    interval.value.0
                });
        let ends = [first, second].map(|end| self.end(&end.value, size_bytes, memory.is_some()));
        let [Some(first), Some(second)] = ends else {
            return None;
        };
        if first.vm == second.vm {
            self.problems.report(
                table.end[1].value.vm.span,
                format!("both ends of the channel `{name}` in one VM"),
                "the ends of a channel in two VMs",
            );
        }
        if let (true, Some(reads_only)) = (first.reads_only, &table.end[1].value.reads_only)
            && second.reads_only
        {
            self.problems.report(
                reads_only.span,
                "memory that neither end may write to",
                "an end without `reads_only`",
            );
        }
        Some(Channel {
            name: name.clone(),
            size_bytes,
            address: table.address.as_ref().map(|address| address.value.0),
            interval_ns,
            ends: [first, second],
        })
    }

    fn end(
        &mut self,
        table: &ChannelEndTable,
        size_bytes: u64,
        has_memory: bool,
    ) -> Option<ChannelEnd> {
        let vms = &self.file.vm;
        let names: Vec<&str> = vms
            .iter()
            .map(|vm| vm.value.name.value.0.as_str())
            .collect();
        let vm = self.find("VM", &table.vm.value.0, table.vm.span, &names);
        if let Some(reads_only) = &table.reads_only {
            self.refuse_without_memory("reads_only", reads_only.span, has_memory);
        }
        match &table.guest_address {
            Some(address) => {
                self.refuse_without_memory("guest_address", address.span, has_memory);
                self.refuse_guest_address(address.span, address.value.0, size_bytes);
            }
            None if has_memory && self.complete => self.problems.report(
                table.vm.span,
                format!("no `guest_address` of the memory in `{}`", table.vm.value.0),
                "where its guest sees the memory, such as `guest_address = 0x7000_0000`",
            ),
            None => {}
        }
        Some(ChannelEnd {
            vm: vm?,
            interrupt: table.interrupt.as_ref().map(|number| number.value.0 as u16),
            guest_address: table.guest_address.as_ref().map_or(0, |it| it.value.0),
            reads_only: table.reads_only.as_ref().is_some_and(|flag| flag.value.0),
        })
    }

    fn whole_pages(&mut self, span: Span, size_bytes: u64) -> u64 {
        if size_bytes == 0 || !size_bytes.is_multiple_of(Channel::PAGE_BYTES) {
            self.problems.report(
                span,
                format!("{} of memory", SIZE.format(size_bytes)),
                "whole pages of 4 KiB, and not nothing",
            );
        }
        size_bytes
    }

    fn refuse_part_of_page(&mut self, span: Span, address: u64) {
        if !address.is_multiple_of(Channel::PAGE_BYTES) {
            self.problems.report(
                span,
                format!("the address {address:#x}"),
                "the start of a page of 4 KiB",
            );
        }
    }

    fn refuse_without_memory(&mut self, key: &str, span: Span, has_memory: bool) {
        if self.complete && !has_memory {
            self.problems.report(
                span,
                format!("`{key}` in a channel without `memory`"),
                format!("`{key}` in a channel with `memory` only"),
            );
        }
    }

    fn refuse_guest_address(&mut self, span: Span, address: u64, size_bytes: u64) {
        self.refuse_part_of_page(span, address);
        let seen = address..address.saturating_add(size_bytes);
        let devices = &Channel::GUEST_DEVICES;
        if seen.end > Ram::GUEST_END || overlap(&seen, devices) {
            self.problems.report(
                span,
                format!("memory at {:#x} to {:#x}", seen.start, seen.end),
                format!(
                    "guest addresses below {:#x}, but for those of devices, {:#x} to {:#x}",
                    Ram::GUEST_END,
                    devices.start,
                    devices.end
                ),
            );
        }
    }

    /// In each VM, an interrupt is of one device or channel, and there are not too many.
    fn refuse_shared_numbers(&mut self, channels: &[Channel]) {
        let file = self.file;
        let vms = file.vm.iter().enumerate();
        let mut sources: Vec<Source> = vms.flat_map(of_vm).collect();
        for (channel, table) in channels.iter().zip(&file.channel) {
            for (end, table) in channel.ends.iter().zip(&table.value.end) {
                let name = &table.value.vm.value.0;
                let Some(field) = &table.value.interrupt else {
                    continue;
                };
                let number = field.value.0;
                let mut of_vm = sources.iter().filter(|source| source.vm == end.vm);
                if let Some(other) = of_vm.clone().find(|source| source.number == number) {
                    self.problems.report(
                        field.span,
                        format!("interrupt {number} of `{name}`, which {} has", other.what),
                        "an interrupt that nothing else in the VM has",
                    );
                }
                if of_vm.by_ref().count() == Device::INTERRUPTS_PER_VM_MAX + 1 {
                    self.problems.report(
                        field.span,
                        format!("one interrupt more of devices and channels of `{name}`"),
                        format!("at most {} in a VM", Device::INTERRUPTS_PER_VM_MAX),
                    );
                }
                sources.push(Source {
                    vm: end.vm,
                    number,
                    what: format!("the channel `{}`", channel.name),
                });
            }
        }
    }

    /// In each VM, an address is of one thing.
    fn refuse_shared_addresses(&mut self, channels: &[Channel]) {
        let file = self.file;
        let vms = file.vm.iter().enumerate();
        let mut seen: Vec<Seen> = vms.clone().flat_map(own_addresses).collect();
        seen.extend(vms.filter_map(|(vm, table)| statistics_addresses(vm, table, file.vm.len())));
        for (channel, table) in channels.iter().zip(&file.channel) {
            for (end, table) in channel.ends.iter().zip(&table.value.end) {
                let name = &table.value.vm.value.0;
                let addresses = range(end.guest_address, channel.size_bytes);
                let shared = seen
                    .iter()
                    .find(|other| other.vm == end.vm && overlap(&other.addresses, &addresses));
                if let (Some(other), Some(field)) = (shared, &table.value.guest_address) {
                    let Range { start, end } = other.addresses;
                    self.problems.report(
                        field.span,
                        format!(
                            "memory at {:#x}, where `{name}` has {} ({start:#x} to {end:#x})",
                            addresses.start, other.what
                        ),
                        "addresses that nothing else of the VM has",
                    );
                }
                seen.push(Seen {
                    vm: end.vm,
                    addresses,
                    what: format!("the channel `{}`", channel.name),
                });
            }
        }
    }
}

/// The interrupts of a VM's serial line and devices.
fn of_vm((vm, table): (usize, &Located<VmTable>)) -> Vec<Source> {
    let devices = table.value.device.iter();
    let with_interrupts = devices.filter_map(|device| {
        let interrupts = device.value.interrupts.as_ref()?;
        Some((&device.value.name.value.0, &interrupts.value.0))
    });
    let sources = with_interrupts.flat_map(|(name, numbers)| {
        numbers.iter().map(move |&number| Source {
            vm,
            number,
            what: format!("the device `{name}`"),
        })
    });
    let serial = Source {
        vm,
        number: Vm::SERIAL_INTERRUPT,
        what: "its serial line".into(),
    };
    iter::once(serial).chain(sources).collect()
}
