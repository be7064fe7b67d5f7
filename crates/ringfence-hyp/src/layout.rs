//! Where VMs are in a board's memory.

use std::ops::Range;

use ringfence_scenario::vm::{Ram, Vm};

use crate::HypError;
use crate::board::Board;

/// Bytes of the rings that the hypervisor traces into.
pub const TRACE_BYTES: u64 = Ram::ALIGNMENT;

/// The trace is at the end of the RAM, where QEMU has a file in its place.
pub fn trace(board: &Board) -> Range<u64> {
    let end = board.ram.last().map_or(0, |ram| ram.end);
    end - TRACE_BYTES..end
}

/// The address in the machine of each VM's RAM, in their order: the one that it asks
/// for, or else the lowest that is free.
///
/// # Errors
/// A VM has no RAM, asks for what is not there or taken, or finds no room.
pub fn place(vms: &[&Vm], board: &Board) -> Result<Vec<u64>, HypError> {
    let rams: Vec<Ram> = vms.iter().map(|vm| ram_of(vm)).collect::<Result<_, _>>()?;
    let mut taken = vec![board.reserved.clone(), trace(board)];
    for (vm, ram) in vms.iter().zip(&rams) {
        if let Some(address) = ram.address {
            let range = address..address.saturating_add(ram.size_bytes);
            check_asked(vm, &range, board, &taken)?;
            taken.push(range);
        }
    }
    let place = |(vm, ram): (&&Vm, &Ram)| {
        let address = match ram.address {
            Some(address) => address,
            None => first_free(ram.size_bytes, board, &taken)
                .ok_or_else(|| HypError::Failed(no_room(vm, ram, board)))?,
        };
        if ram.address.is_none() {
            taken.push(address..address + ram.size_bytes);
        }
        Ok(address)
    };
    vms.iter().zip(&rams).map(place).collect()
}

fn ram_of(vm: &Vm) -> Result<Ram, HypError> {
    vm.memory.ok_or_else(|| {
        HypError::Failed(format!(
            "the VM `{}` has no memory, which the hypervisor needs; add `memory = \"16 MiB\"`",
            vm.name
        ))
    })
}

fn check_asked(
    vm: &Vm,
    range: &Range<u64>,
    board: &Board,
    taken: &[Range<u64>],
) -> Result<(), HypError> {
    let shown = |range: &Range<u64>| format!("{:#x} to {:#x}", range.start, range.end);
    if !is_in(range, board) {
        let ram: Vec<String> = board.ram.iter().map(shown).collect();
        return Err(HypError::Failed(format!(
            "the RAM of `{}` is {}, but that of {} is {}",
            vm.name,
            shown(range),
            board.name,
            ram.join(" and ")
        )));
    }
    match taken.iter().find(|other| overlap(range, other)) {
        Some(other) => Err(HypError::Failed(format!(
            "the RAM of `{}` is {}, but {} is the hypervisor's or another VM's",
            vm.name,
            shown(range),
            shown(other)
        ))),
        None => Ok(()),
    }
}

fn first_free(size_bytes: u64, board: &Board, taken: &[Range<u64>]) -> Option<u64> {
    let after_taken = taken.iter().map(|range| range.end);
    let starts = board.ram.iter().map(|ram| ram.start);
    let mut candidates: Vec<u64> = starts
        .chain(after_taken)
        .map(|address| address.next_multiple_of(Ram::ALIGNMENT))
        .collect();
    candidates.sort_unstable();
    candidates.into_iter().find(|&address| {
        let range = address..address.saturating_add(size_bytes);
        is_in(&range, board) && !taken.iter().any(|other| overlap(&range, other))
    })
}

/// Whether a range is in one piece of the RAM.
fn is_in(range: &Range<u64>, board: &Board) -> bool {
    let within = |ram: &Range<u64>| ram.start <= range.start && range.end <= ram.end;
    board.ram.iter().any(within)
}

fn no_room(vm: &Vm, ram: &Ram, board: &Board) -> String {
    format!(
        "{} has no {} MiB in one piece for the VM `{}` beside the others",
        board.name,
        ram.size_bytes >> 20,
        vm.name
    )
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::board::QEMU_VIRT;

    fn vm(size_mib: u64, address: Option<u64>) -> Vm {
        Vm {
            name: "vm".into(),
            cores: vec![0],
            memory: Some(Ram {
                size_bytes: size_mib << 20,
                guest_address: Ram::GUEST_ADDRESS,
                address,
            }),
            guest: None,
            devices: Vec::new(),
            reservation: None,
            gang: None,
            best_effort: Vec::new(),
            may_change: Vec::new(),
        }
    }

    fn placed(vms: &[Vm]) -> Result<Vec<u64>, HypError> {
        placed_on(QEMU_VIRT, vms)
    }

    fn placed_on(board: &str, vms: &[Vm]) -> Result<Vec<u64>, HypError> {
        let board = Board::named(board).unwrap();
        place(&vms.iter().collect::<Vec<_>>(), &board)
    }

    proptest! {
        /// Whatever is placed is in the RAM, aligned and apart from all else.
        #[test]
        fn places_are_apart(
            sizes in prop::collection::vec((1_u64..150, prop::option::of(0_u64..512)), 1..5),
        ) {
            let vms: Vec<Vm> = sizes
                .iter()
                .map(|(size, at)| vm(2 * size, at.map(|at| 0x4000_0000 + at * Ram::ALIGNMENT)))
                .collect();
            let board = Board::named(QEMU_VIRT).unwrap();
            if let Ok(addresses) = placed(&vms) {
                let mut ranges = vec![board.reserved.clone(), trace(&board)];
                for (vm, address) in vms.iter().zip(addresses) {
                    let ram = vm.memory.unwrap();
                    prop_assert!(ram.address.is_none_or(|asked| asked == address));
                    prop_assert_eq!(address % Ram::ALIGNMENT, 0);
                    let range = address..address + ram.size_bytes;
                    prop_assert!(is_in(&range, &board));
                    prop_assert!(!ranges.iter().any(|other| overlap(&range, other)));
                    ranges.push(range);
                }
            }
        }
    }

    #[test]
    fn the_lowest_free_place_is_taken() {
        let vms = [vm(16, None), vm(16, Some(0x4100_0000)), vm(32, None)];
        assert_eq!(
            placed(&vms).unwrap(),
            [0x4200_0000, 0x4100_0000, 0x4300_0000]
        );
    }

    /// The first 2 MiB are firmware's, then comes the hypervisor; the VideoCore's memory is a hole.
    #[test]
    fn what_is_not_ours_of_a_board_s_memory_stays_so() {
        let vms = [vm(512, None), vm(512, None), vm(256, None)];
        let places = placed_on("raspberry-pi-4", &vms).unwrap();
        assert_eq!(places, [0x0100_0000, 0x4000_0000, 0x2100_0000]);
        for (board, address, said) in [
            ("raspberry-pi-4", 0, "is 0x200000 to 0x3b400000 and 0x400"),
            ("raspberry-pi-4", 0x3b20_0000, "is 0x200000 to 0x3b400000"),
            (
                "raspberry-pi-4",
                0xfc00_0000,
                "and 0x40000000 to 0xfc000000",
            ),
            ("raspberry-pi-4", 0x0020_0000, "is the hypervisor's"),
            ("zcu104", 0, "is 0x200000 to 0x7fe00000"),
            ("zcu104", 0x7fe0_0000, "is 0x200000 to 0x7fe00000"),
        ] {
            let error = placed_on(board, &[vm(4, Some(address))]).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_placed_is_said() {
        for (vms, said) in [
            (vec![vm(1024, None)], "has no 1024 MiB"),
            (vec![vm(2, Some(0x8000_0000))], "0x40000000 to 0x80000000"),
            (vec![vm(2, Some(0x4020_0000))], "is the hypervisor's"),
            (vec![vm(4, Some(0x7fc0_0000))], "is the hypervisor's"),
        ] {
            let error = placed(&vms).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
