//! What a VM has at addresses of its guest.

use std::ops::Range;

use crate::file::Located;
use crate::file::vm::VmTable;
use crate::vm::{Ram, Statistics};

/// Something at addresses of a guest.
pub(super) struct Seen {
    pub(super) vm: usize,
    pub(super) addresses: Range<u64>,
    pub(super) what: String,
}

/// A VM's RAM and its devices.
pub(super) fn own_addresses((vm, table): (usize, &Located<VmTable>)) -> Vec<Seen> {
    let mut seen = Vec::new();
    if let Some(memory) = &table.value.memory {
        let memory = &memory.value.0;
        let guest_address = memory.guest_address.as_ref();
        let start = guest_address.map_or(Ram::GUEST_ADDRESS, |address| address.value.0);
        seen.push(Seen {
            vm,
            addresses: range(start, memory.size.value.0),
            what: "its RAM".to_owned(),
        });
    }
    seen.extend(table.value.device.iter().map(|device| Seen {
        vm,
        addresses: range(device.value.address.value.0, device.value.size.value.0),
        what: format!("the device `{}`", device.value.name.value.0),
    }));
    seen
}

/// Where a VM's pages of statistics can be in a scenario of so many VMs.
pub(super) fn statistics_addresses(
    vm: usize,
    table: &Located<VmTable>,
    vms: usize,
) -> Option<Seen> {
    let statistics = &table.value.statistics.as_ref()?.value;
    Some(Seen {
        vm,
        addresses: range(
            statistics.guest_address.value.0,
            vms as u64 * Statistics::PAGE_BYTES,
        ),
        what: "its pages of statistics".to_owned(),
    })
}

pub(super) fn range(start: u64, size_bytes: u64) -> Range<u64> {
    start..start.saturating_add(size_bytes)
}

pub(super) fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
