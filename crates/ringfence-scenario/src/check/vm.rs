//! Virtual machines: cores, memory, interrupts and devices that belong to one only.

use std::ops::Range;

use super::Checker;
use super::names::refuse_duplicates;
use crate::diagnostic::Span;
use crate::file::channel::ChannelTable;
use crate::file::vm::{DeviceTable, Memory, VmTable};
use crate::file::{List, Located};
use crate::model::{BestEffort, ClassOfService, Gang, Partition, Task, Tolerance};
use crate::quantity::SIZE;
use crate::vm::{Device, Ram, Vm};

/// Of the gang that a VM's tasks are: it competes with nobody.
const PRIORITY: u8 = 1;

/// The VMs, and what a simulation runs in them.
#[derive(Default)]
pub(super) struct Vms {
    pub(super) vms: Vec<Vm>,
    pub(super) gangs: Vec<Gang>,
    pub(super) best_effort: Vec<BestEffort>,
    /// Of the VMs with colours, by their names.
    pub(super) classes_of_service: Vec<ClassOfService>,
}

/// A piece of the machine, and whose it is.
struct Piece {
    addresses: Range<u64>,
    owner: String,
    span: Span,
}

impl Checker<'_> {
    /// The VMs in the order of the file.
    pub(super) fn vms(&mut self) -> Option<Vms> {
        let tables = &self.file.vm;
        self.refuse_beside_vms();
        refuse_duplicates(
            "VM",
            tables.iter().map(|table| &table.value.name),
            self.problems,
        );
        self.refuse_shared_cores();
        self.refuse_shared_memory();
        self.refuse_shared_interrupts();
        self.refuse_some_without_colours();
        let mut vms = Some(Vms::default());
        for (number, table) in tables.iter().enumerate() {
            let added = self.vm(&table.value, number, vms.as_mut());
            vms = vms.filter(|_| added.is_some());
        }
        self.refuse_more_than_is_guaranteed();
        vms
    }

    /// A VM's cores are its own: nothing else of the file may be about cores.
    fn refuse_beside_vms(&mut self) {
        let Some(vm) = self.file.vm.first() else {
            return;
        };
        let file = self.file;
        let spans = [
            ("a gang", file.gang.first().map(|table| table.span)),
            ("a partition", file.partition.first().map(|t| t.span)),
            (
                "a class of service",
                file.class_of_service.first().map(|t| t.span),
            ),
            ("best-effort work", file.best_effort.first().map(|t| t.span)),
            ("[regulation]", file.regulation.as_ref().map(|t| t.span)),
            ("a share", file.share.as_ref().map(|t| t.span)),
        ];
        for (what, span) in spans {
            if let Some(span) = span {
                self.problems.report_with_help(
                    span,
                    format!("{what} in a scenario of VMs"),
                    format!("VMs alone, as `{}`", vm.value.name.value.0),
                    "a VM has its cores for itself: its work is [[vm.task]] and \
                     [[vm.best_effort]], its limit a `reservation`",
                );
            }
        }
    }

    fn vm(&mut self, table: &VmTable, number: usize, vms: Option<&mut Vms>) -> Option<()> {
        let partition = Partition {
            name: table.name.value.0.clone(),
            cores: table.cores.value.0.clone(),
        };
        let memory = table.memory.as_ref().map(|memory| self.ram(memory));
        let colours = self.vm_colours(table.colours.as_ref());
        let guest = table.guest.as_ref().map(|guest| self.guest(guest, memory));
        let devices = self.devices(&table.device);
        self.refuse_dma_elsewhere(&table.device, memory);
        self.refuse_dma_in_colours(&table.device, colours.as_deref());
        let statistics = table.statistics.as_ref();
        let statistics = statistics.map(|it| self.statistics(it, number));
        let reservation = table.reservation.as_ref();
        let reservation = reservation.map(|it| self.reservation(it, &table.cores));
        let tasks = table
            .task
            .iter()
            .map(|task| self.task(task, Some(&partition)));
        let tasks: Vec<Option<Task>> = tasks.collect();
        let work = table.best_effort.iter();
        let work = work.map(|entry| self.best_effort_entry(&entry.value, Some(&partition)));
        let work: Vec<Option<BestEffort>> = work.collect();
        let (tasks, work) = (super::all(tasks)?, super::all(work)?);
        let (guest, reservation) = (transposed(guest)?, transposed(reservation)?);
        let vms = vms?;
        let class_of_service = self.class_of_vm(&partition.name, colours.as_deref(), vms);
        let gang = (!tasks.is_empty()).then_some(vms.gangs.len());
        vms.gangs.extend(gang.map(|_| Gang {
            name: partition.name.clone(),
            partition: number,
            priority: PRIORITY,
            tolerance: Tolerance::UNLIMITED,
            class_of_service,
            tasks,
        }));
        let first = vms.best_effort.len();
        vms.best_effort
            .extend(work.into_iter().map(|work| BestEffort {
                class_of_service,
                ..work
            }));
        vms.vms.push(Vm {
            name: partition.name,
            cores: partition.cores,
            memory,
            colours,
            guest,
            devices,
            reservation,
            gang,
            best_effort: (first..vms.best_effort.len()).collect(),
            may_change: self.may_change(&table.name.value.0),
            input: table.input.as_ref().is_none_or(|it| it.value.0),
            statistics,
        });
        Some(())
    }

    fn refuse_shared_cores(&mut self) {
        let mut owners: Vec<(u16, &str)> = Vec::new();
        for table in &self.file.vm {
            let (name, cores) = (&table.value.name.value.0, &table.value.cores);
            self.refuse_missing_cores(&cores.value.0, cores.span);
            if cores.value.0.len() > Vm::VCPUS_MAX {
                self.problems.report(
                    cores.span,
                    format!("{} vCPUs", cores.value.0.len()),
                    format!("at most {} in a VM", Vm::VCPUS_MAX),
                );
            }
            let taken = cores
                .value
                .0
                .iter()
                .find_map(|core| owners.iter().find(|(owned, _)| owned == core));
            if let Some((core, owner)) = taken {
                self.problems.report(
                    cores.span,
                    format!("core {core} in the VMs `{owner}` and `{name}`"),
                    "each core in one VM at most",
                );
            }
            owners.extend(cores.value.0.iter().map(|&core| (core, name.as_str())));
        }
    }

    fn ram(&mut self, memory: &Located<Memory>) -> Ram {
        let table = &memory.value.0;
        let size_bytes = table.size.value.0;
        if size_bytes == 0 || !size_bytes.is_multiple_of(Ram::ALIGNMENT) {
            self.problems.report(
                table.size.span,
                format!("{} of RAM", SIZE.format(size_bytes)),
                "a multiple of 2 MiB, and not nothing",
            );
        }
        for address in [&table.guest_address, &table.address].into_iter().flatten() {
            if !address.value.0.is_multiple_of(Ram::ALIGNMENT) {
                self.problems.report(
                    address.span,
                    format!("the address {:#x}", address.value.0),
                    "a multiple of 2 MiB (0x20_0000)",
                );
            }
        }
        let guest_address = table.guest_address.as_ref();
        let guest_address_or = guest_address.map_or(Ram::GUEST_ADDRESS, |it| it.value.0);
        if guest_address_or + size_bytes > Ram::GUEST_END {
            self.problems.report(
                guest_address.map_or(table.size.span, |it| it.span),
                format!("RAM up to {:#x}", guest_address_or + size_bytes),
                format!("guest addresses below {:#x}", Ram::GUEST_END),
            );
        }
        Ram {
            size_bytes,
            guest_address: guest_address_or,
            address: table.address.as_ref().map(|address| address.value.0),
        }
    }

    fn devices(&mut self, tables: &List<DeviceTable>) -> Vec<Device> {
        refuse_duplicates(
            "device of a VM",
            tables.iter().map(|table| &table.value.name),
            self.problems,
        );
        self.refuse_too_many_devices(tables);
        let device = |table: &Located<DeviceTable>| self.device(&table.value);
        tables.iter().map(device).collect()
    }

    fn refuse_too_many_devices(&mut self, tables: &List<DeviceTable>) {
        if let Some(first) = tables.get(Device::PER_VM_MAX) {
            self.problems.report(
                first.value.name.span,
                format!("{} devices", tables.len()),
                format!("at most {} in a VM", Device::PER_VM_MAX),
            );
        }
        let mut interrupts = 0;
        for list in tables.iter().filter_map(|it| it.value.interrupts.as_ref()) {
            interrupts += list.value.0.len();
            if interrupts > Device::INTERRUPTS_PER_VM_MAX {
                return self.problems.report(
                    list.span,
                    format!("{interrupts} interrupts with those of the devices before"),
                    format!("at most {} in a VM", Device::INTERRUPTS_PER_VM_MAX),
                );
            }
        }
    }

    fn device(&mut self, table: &DeviceTable) -> Device {
        let (address, size) = (&table.address, &table.size);
        if !address.value.0.is_multiple_of(Device::PAGE_BYTES) {
            self.problems.report(
                address.span,
                format!("the address {:#x}", address.value.0),
                "the start of a page of 4 KiB",
            );
        }
        if size.value.0 == 0 || !size.value.0.is_multiple_of(Device::PAGE_BYTES) {
            self.problems.report(
                size.span,
                format!("{} of registers", SIZE.format(size.value.0)),
                "whole pages of 4 KiB, and not nothing",
            );
        }
        let interrupts = table.interrupts.as_ref();
        let numbers = interrupts.map_or(&[][..], |list| &list.value.0);
        let known = &Device::INTERRUPTS;
        if let Some(wrong) = numbers.iter().find(|number| !known.contains(number)) {
            self.problems.report(
                interrupts.map_or(address.span, |list| list.span),
                format!("the interrupt {wrong}"),
                format!("shared interrupts, {} to {}", known.start(), known.end()),
            );
        }
        if numbers.contains(&Vm::SERIAL_INTERRUPT) {
            self.problems.report(
                interrupts.map_or(address.span, |list| list.span),
                format!(
                    "the interrupt {}, which the guest's serial line has",
                    Vm::SERIAL_INTERRUPT
                ),
                "an interrupt that nothing else in the VM has",
            );
        }
        Device {
            name: table.name.value.0.clone(),
            address: address.value.0,
            size_bytes: size.value.0,
            interrupts: numbers.iter().map(|&number| number as u16).collect(),
            compatible: table.compatible.as_ref().map_or(Vec::new(), |names| {
                let names = names.value.0.iter();
                names.map(|name| name.value.0.clone()).collect()
            }),
            trusted_dma: table.trusted_dma.as_ref().is_some_and(|it| it.value.0),
        }
    }

    /// A device that accesses memory has the machine's addresses, which its guest has to know.
    fn refuse_dma_elsewhere(&mut self, tables: &List<DeviceTable>, ram: Option<Ram>) {
        let dma = tables.iter().find_map(|table| {
            let dma = table.value.trusted_dma.as_ref();
            dma.filter(|dma| dma.value.0)
        });
        let is_elsewhere = ram.is_none_or(|ram| ram.address != Some(ram.guest_address));
        if let Some(dma) = dma.filter(|_| is_elsewhere) {
            self.problems.report_with_help(
                dma.span,
                "DMA in a VM whose RAM may be elsewhere than its guest sees it",
                "`memory` with an `address`, and the same `guest_address`",
                "the device takes the addresses that its guest writes for the machine's: \
                 memory = { size = \"64 MiB\", guest_address = 0x5000_0000, address = 0x5000_0000 }",
            );
        }
    }

    fn refuse_shared_interrupts(&mut self) {
        let mut owners: Vec<(u64, String)> = Vec::new();
        for vm in &self.file.vm {
            for device in &vm.value.device {
                let Some(interrupts) = &device.value.interrupts else {
                    continue;
                };
                let owner = owner(&device.value.name.value.0, &vm.value);
                for &number in &interrupts.value.0 {
                    if let Some((_, first)) = owners.iter().find(|(owned, _)| *owned == number) {
                        self.problems.report(
                            interrupts.span,
                            format!("interrupt {number} of {first} again, for {owner}"),
                            "each interrupt of one device only",
                        );
                    }
                    owners.push((number, owner.clone()));
                }
            }
        }
    }

    /// No two VMs have the same memory or device but a channel's, and all fits the platform.
    fn refuse_shared_memory(&mut self) {
        let mut pieces: Vec<Piece> = Vec::new();
        let vms = self.file.vm.iter().flat_map(|vm| machine_pieces(&vm.value));
        let channels = self.file.channel.iter().filter_map(channel_piece);
        for piece in vms.chain(channels) {
            if let Some(other) = pieces.iter().find(|other| overlap(other, &piece)) {
                self.problems.report(
                    piece.span,
                    format!("{}, which overlaps {}", shown(&piece), shown(other)),
                    "memory and devices that belong to one only",
                );
            }
            pieces.push(piece);
        }
        let Some(memory) = &self.platform.memory else {
            return;
        };
        let most_bytes = memory.dram.capacity_bytes();
        let mut total = 0_u64;
        let vms = self.file.vm.iter().filter_map(|vm| {
            let memory = vm.value.memory.as_ref()?;
            Some((memory.span, memory.value.0.size.value.0))
        });
        let channels = self.file.channel.iter().filter_map(|channel| {
            let memory = channel.value.memory.as_ref()?;
            Some((memory.span, memory.value.0))
        });
        for (span, size_bytes) in vms.chain(channels) {
            total = total.saturating_add(size_bytes);
            if total > most_bytes {
                self.problems.report(
                    span,
                    format!("{} of RAM with all before", SIZE.format(total)),
                    format!(
                        "at most the {} of {}",
                        SIZE.format(most_bytes),
                        self.platform.name
                    ),
                );
                return;
            }
        }
    }
}

/// The parts of the machine's address space that the file gives a VM.
fn machine_pieces(vm: &VmTable) -> Vec<Piece> {
    let ram = vm.memory.as_ref().and_then(|memory| {
        let table = &memory.value.0;
        let address = table.address.as_ref()?;
        Some(Piece {
            addresses: range(address.value.0, table.size.value.0),
            owner: owner("the RAM", vm),
            span: address.span,
        })
    });
    let devices = vm.device.iter().map(|device| Piece {
        addresses: range(device.value.address.value.0, device.value.size.value.0),
        owner: owner(&device.value.name.value.0, vm),
        span: device.value.address.span,
    });
    ram.into_iter().chain(devices).collect()
}

/// The part that it gives a channel.
fn channel_piece(channel: &Located<ChannelTable>) -> Option<Piece> {
    let address = channel.value.address.as_ref()?;
    let memory = channel.value.memory.as_ref()?;
    Some(Piece {
        addresses: range(address.value.0, memory.value.0),
        owner: format!("the memory of `{}`", channel.value.name.value.0),
        span: address.span,
    })
}

fn owner(what: &str, vm: &VmTable) -> String {
    format!("{what} of `{}`", vm.name.value.0)
}

fn range(start: u64, size: u64) -> Range<u64> {
    start..start.saturating_add(size)
}

fn overlap(a: &Piece, b: &Piece) -> bool {
    a.addresses.start < b.addresses.end && b.addresses.start < a.addresses.end
}

fn shown(piece: &Piece) -> String {
    let Range { start, end } = piece.addresses;
    format!("{} ({start:#x} to {end:#x})", piece.owner)
}

/// A part that is not there is well; one that could not be built is not.
fn transposed<T>(part: Option<Option<T>>) -> Option<Option<T>> {
    match part {
        None => Some(None),
        Some(built) => built.map(Some),
    }
}
