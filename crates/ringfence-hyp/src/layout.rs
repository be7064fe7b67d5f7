//! Where VMs are in a board's memory.

use std::ops::Range;

use ringfence_scenario::channel::Channel;
use ringfence_scenario::quantity::SIZE;
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

/// Addresses in the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Of the RAM of each VM.
    pub vms: Vec<u64>,
    /// Of the memory of each channel; 0 for one that has none.
    pub channels: Vec<u64>,
}

/// Memory that is to be placed.
struct Piece {
    /// As it is called in an error.
    what: String,
    size_bytes: u64,
    /// Where it is asked to be.
    address: Option<u64>,
}

impl Piece {
    fn at(&self, address: u64) -> Range<u64> {
        address..address.saturating_add(self.size_bytes)
    }
}

/// Where all memory of VMs and of what they have in common is, in their order: where it
/// is asked to be, or else at the lowest address that is free.
///
/// # Errors
/// A VM has no RAM; or something asks for what is not there or taken, or finds no room.
pub fn place(vms: &[&Vm], channels: &[Channel], board: &Board) -> Result<Places, HypError> {
    let mut pieces: Vec<Piece> = vms.iter().map(|vm| ram_of(vm)).collect::<Result<_, _>>()?;
    pieces.extend(channels.iter().map(memory_of));
    let mut taken = vec![board.reserved.clone(), trace(board)];
    for piece in &pieces {
        if let Some(address) = piece.address {
            let range = piece.at(address);
            check_asked(piece, &range, board, &taken)?;
            taken.push(range);
        }
    }
    let place = |piece: &Piece| {
        let address = match piece.address {
            Some(address) => address,
            None if piece.size_bytes == 0 => 0,
            None => first_free(piece.size_bytes, board, &taken)
                .ok_or_else(|| HypError::Failed(no_room(piece, board)))?,
        };
        if piece.address.is_none() {
            taken.push(piece.at(address));
        }
        Ok(address)
    };
    let mut vms_placed: Vec<u64> = pieces.iter().map(place).collect::<Result<_, HypError>>()?;
    let channels = vms_placed.split_off(vms.len());
    Ok(Places {
        vms: vms_placed,
        channels,
    })
}

fn ram_of(vm: &Vm) -> Result<Piece, HypError> {
    let ram = vm.memory.ok_or_else(|| {
        HypError::Failed(format!(
            "the VM `{}` has no memory, which the hypervisor needs; add `memory = \"16 MiB\"`",
            vm.name
        ))
    })?;
    Ok(Piece {
        what: format!("the RAM of `{}`", vm.name),
        size_bytes: ram.size_bytes,
        address: ram.address,
    })
}

fn memory_of(channel: &Channel) -> Piece {
    Piece {
        what: format!("the memory of the channel `{}`", channel.name),
        size_bytes: channel.size_bytes,
        address: channel.address,
    }
}

fn check_asked(
    piece: &Piece,
    range: &Range<u64>,
    board: &Board,
    taken: &[Range<u64>],
) -> Result<(), HypError> {
    let shown = |range: &Range<u64>| format!("{:#x} to {:#x}", range.start, range.end);
    if !is_in(range, board) {
        let ram: Vec<String> = board.ram.iter().map(shown).collect();
        return Err(HypError::Failed(format!(
            "{} is {}, but that of {} is {}",
            piece.what,
            shown(range),
            board.name,
            ram.join(" and ")
        )));
    }
    match taken.iter().find(|other| overlap(range, other)) {
        Some(other) => Err(HypError::Failed(format!(
            "{} is {}, but {} is the hypervisor's, another VM's or a channel's",
            piece.what,
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

fn no_room(piece: &Piece, board: &Board) -> String {
    format!(
        "{} has no {} in one piece for {} beside the others",
        board.name,
        SIZE.format(piece.size_bytes),
        piece.what
    )
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use ringfence_scenario::channel::ChannelEnd;

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

    fn channel(pages: u64, address: Option<u64>) -> Channel {
        let end = |vm| ChannelEnd {
            vm,
            interrupt: None,
            guest_address: 0x7000_0000,
            reads_only: false,
        };
        Channel {
            name: "samples".into(),
            size_bytes: pages * Channel::PAGE_BYTES,
            address,
            interval_ns: Channel::DEFAULT_INTERVAL_NS,
            ends: [end(0), end(1)],
        }
    }

    fn placed(vms: &[Vm]) -> Result<Vec<u64>, HypError> {
        placed_on(QEMU_VIRT, vms)
    }

    fn placed_on(board: &str, vms: &[Vm]) -> Result<Vec<u64>, HypError> {
        let board = Board::named(board).unwrap();
        Ok(place(&vms.iter().collect::<Vec<_>>(), &[], &board)?.vms)
    }

    proptest! {
        /// Whatever is placed is in the RAM, aligned and apart from all else.
        #[test]
        fn places_are_apart(
            sizes in prop::collection::vec((1_u64..150, prop::option::of(0_u64..512)), 1..5),
            pages in prop::collection::vec((0_u64..600, prop::option::of(0_u64..1 << 18)), 0..4),
        ) {
            let vms: Vec<Vm> = sizes
                .iter()
                .map(|(size, at)| vm(2 * size, at.map(|at| 0x4000_0000 + at * Ram::ALIGNMENT)))
                .collect();
            let board = Board::named(QEMU_VIRT).unwrap();
            let channels: Vec<Channel> = pages
                .iter()
                .map(|&(pages, at)| (pages, at.filter(|_| pages > 0)))
                .map(|(pages, at)| channel(pages, at.map(|at| 0x4000_0000 + at * Channel::PAGE_BYTES)))
                .collect();
            if let Ok(places) = place(&vms.iter().collect::<Vec<_>>(), &channels, &board) {
                let mut ranges = vec![board.reserved.clone(), trace(&board)];
                for (vm, address) in vms.iter().zip(places.vms) {
                    let ram = vm.memory.unwrap();
                    prop_assert!(ram.address.is_none_or(|asked| asked == address));
                    prop_assert_eq!(address % Ram::ALIGNMENT, 0);
                    let range = address..address + ram.size_bytes;
                    prop_assert!(is_in(&range, &board));
                    prop_assert!(!ranges.iter().any(|other| overlap(&range, other)));
                    ranges.push(range);
                }
                let with_memory = channels.iter().zip(places.channels);
                for (channel, address) in with_memory.filter(|(it, _)| it.size_bytes > 0) {
                    prop_assert!(channel.address.is_none_or(|asked| asked == address));
                    let range = address..address + channel.size_bytes;
                    prop_assert!(is_in(&range, &board));
                    prop_assert!(!ranges.iter().any(|other| overlap(&range, other)));
                    ranges.push(range);
                }
            }
        }
    }

    #[test]
    fn a_channel_is_placed_behind_the_vms_or_where_it_is_asked_to_be() {
        let board = Board::named(QEMU_VIRT).unwrap();
        let channels = [
            channel(16, None),
            channel(1, Some(0x4123_4000)),
            channel(0, None),
        ];
        let places = place(&[&vm(2, None)], &channels, &board).unwrap();
        assert_eq!(places.vms, [0x4100_0000]);
        assert_eq!(places.channels, [0x4120_0000, 0x4123_4000, 0]);
        let error = place(
            &[&vm(2, Some(0x4100_0000))],
            &[channel(1, Some(0x4100_1000))],
            &board,
        );
        let error = error.unwrap_err().to_string();
        let said = "the memory of the channel `samples` is 0x41001000 to 0x41002000, but 0x41000000 to 0x41200000 is";
        assert!(error.contains(said), "{error}");
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
            (
                vec![vm(1024, None)],
                "has no 1 GiB in one piece for the RAM of `vm`",
            ),
            (vec![vm(2, Some(0x8000_0000))], "0x40000000 to 0x80000000"),
            (vec![vm(2, Some(0x4020_0000))], "is the hypervisor's"),
            (vec![vm(4, Some(0x7fc0_0000))], "is the hypervisor's"),
        ] {
            let error = placed(&vms).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
