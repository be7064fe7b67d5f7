//! Page colours of VMs: of each VM or of none, and room for all in them.

use super::Checker;
use super::gang::threads;
use super::vm::Vms;
use super::work::working_sets_bytes;
use crate::file::numbers::Colours;
use crate::file::vm::{DeviceTable, VmTable};
use crate::file::{List, Located};
use crate::model::ClassOfService;
use crate::quantity::SIZE;

impl Checker<'_> {
    /// A VM that says nothing would have all colours, also those of VMs that count on theirs.
    pub(super) fn refuse_some_without_colours(&mut self) {
        let file = self.file;
        let with = file.vm.iter().find(|vm| vm.value.colours.is_some());
        let Some(colours) = with.and_then(|vm| vm.value.colours.as_ref()) else {
            return;
        };
        if self.complete
            && !file
                .case
                .iter()
                .any(|case| is_set(&case.value.cache_allocation))
        {
            self.problems.report_with_help(
                colours.span,
                "colours that no case uses",
                "a case with `cache_allocation = true`",
                "VMs have their colours in such cases, so that one scenario shows what they change",
            );
        }
        for vm in file.vm.iter().filter(|vm| vm.value.colours.is_none()) {
            let name = &vm.value.name;
            self.problems.report_with_help(
                name.span,
                format!(
                    "the VM `{}` without colours beside VMs with some",
                    name.value.0
                ),
                "`colours` of each VM or of none",
                "without any it would have all: write those, if it is meant to",
            );
        }
    }

    /// A VM's colours, ascending.
    pub(super) fn vm_colours(&mut self, colours: Option<&Located<Colours>>) -> Option<Vec<u16>> {
        let colours = colours?;
        match self.platform.page_colours() {
            Some(count) => self.below(Some(colours), count),
            None => {
                self.problems.report(
                    colours.span,
                    format!(
                        "colours on {}, whose last-level cache is not known",
                        self.platform.name
                    ),
                    "a platform file with `memory`, or with `page_colours`",
                );
                None
            }
        }
    }

    /// A device that accesses memory needs it in one piece, as all colours together are.
    pub(super) fn refuse_dma_in_colours(
        &mut self,
        tables: &List<DeviceTable>,
        colours: Option<&[u16]>,
    ) {
        let dma = tables.iter().find_map(|table| {
            let dma = table.value.trusted_dma.as_ref();
            dma.filter(|dma| dma.value.0)
        });
        let count = self.platform.page_colours().unwrap_or(0);
        let is_in_parts = colours.is_some_and(|colours| colours.len() < usize::from(count));
        if let Some(dma) = dma.filter(|_| is_in_parts) {
            self.problems.report_with_help(
                dma.span,
                "DMA in a VM whose memory has some colours only",
                format!("a VM with all {count} colours, whose memory is in one piece"),
                "the device takes the addresses that its guest writes for the machine's, where \
                 pages of other colours, and other VMs, are in between",
            );
        }
    }

    /// What a simulation gives the work of a VM with colours.
    pub(super) fn class_of_vm(
        &self,
        name: &str,
        colours: Option<&[u16]>,
        vms: &mut Vms,
    ) -> Option<usize> {
        let (colours, memory) = (colours?, self.platform.memory.as_ref()?);
        vms.classes_of_service.push(ClassOfService {
            name: name.to_owned(),
            way_mask: u64::MAX >> (64 - memory.llc.ways.min(64)),
            colours: colours.to_vec(),
        });
        Some(vms.classes_of_service.len() - 1)
    }

    /// The pages of all VMs have their colours.
    pub(super) fn refuse_too_much_memory_of_vms(&mut self) {
        let Some(memory) = &self.platform.memory else {
            return;
        };
        let all_colours = u64::from(memory.page_colours());
        let colour_bytes = memory.dram.capacity_bytes() / all_colours;
        for vm in &self.file.vm {
            let Some(colours) = &vm.value.colours else {
                continue;
            };
            let count = colours.value.0.len() as u64;
            let most_bytes = count.saturating_mul(colour_bytes);
            let working_sets = all_working_sets_bytes(&vm.value);
            let ram = vm.value.memory.as_ref();
            let too_much = [
                (
                    "RAM",
                    ram.map(|it| it.value.0.size.value.0),
                    ram.map(|it| it.span),
                ),
                ("working sets", Some(working_sets), Some(colours.span)),
            ];
            for (what, bytes, span) in too_much {
                if let (Some(bytes), Some(span)) = (bytes.filter(|it| *it > most_bytes), span) {
                    self.problems.report_with_help(
                        span,
                        format!(
                            "{} of {what} of the VM `{}`",
                            SIZE.format(bytes),
                            vm.value.name.value.0
                        ),
                        format!(
                            "at most {}, the memory of its {count} of {all_colours} colours",
                            SIZE.format(most_bytes)
                        ),
                        "give the VM more colours or less memory",
                    );
                }
            }
        }
    }
}

/// Of all work of a VM.
fn all_working_sets_bytes(vm: &VmTable) -> u64 {
    let of_tasks = vm.task.iter().map(|task| {
        let task = &task.value;
        working_sets_bytes(&task.program, threads(&task.threads).into())
    });
    let of_best_effort = vm.best_effort.iter().map(|entry| {
        let entry = &entry.value;
        working_sets_bytes(&entry.program, threads(&entry.threads).into())
    });
    of_tasks.chain(of_best_effort).fold(0, u64::saturating_add)
}

fn is_set(flag: &Option<Located<crate::file::value::Flag>>) -> bool {
    flag.as_ref().is_some_and(|flag| flag.value.0)
}
