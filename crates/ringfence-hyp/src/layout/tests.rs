//! Where VMs and channels are put: by properties, and by example.

use std::collections::BTreeSet;

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
        colours: None,
        guest: None,
        devices: Vec::new(),
        reservation: None,
        gang: None,
        best_effort: Vec::new(),
        may_change: Vec::new(),
        input: true,
        statistics: None,
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
    Ok(place(&vms.iter().collect::<Vec<_>>(), false, &[], &board)?.vms)
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
        if let Ok(places) = place(&vms.iter().collect::<Vec<_>>(), false, &channels, &board) {
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
    let places = place(&[&vm(2, None)], false, &channels, &board).unwrap();
    assert_eq!(places.vms, [0x4100_0000]);
    assert_eq!(places.channels, [0x4120_0000, 0x4123_4000, 0]);
    let error = place(
        &[&vm(2, Some(0x4100_0000))],
        false,
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

const PAGE_BYTES: u64 = 4096;

/// The pages of a region by the words of `hyp/core/colours.h`, one after the other: those of its
/// colours from its address on.
fn pages_of(address: u64, size_bytes: u64, colours: &[u16], of: u64) -> Vec<u64> {
    let pages = (address / PAGE_BYTES..)
        .filter(|page| colours.iter().any(|it| page % of == u64::from(*it)));
    pages.take((size_bytes / PAGE_BYTES) as usize).collect()
}

fn coloured(size_mib: u64, address: Option<u64>, colours: &[u16]) -> Vm {
    Vm {
        colours: Some(colours.to_vec()),
        ..vm(size_mib, address)
    }
}

/// A VM's size in steps of 2 MiB, its colours, and perhaps where it asks to be, in such steps.
fn coloured_vms() -> impl Strategy<Value = Vec<Vm>> {
    let one = (
        1_u64..100,
        prop::collection::btree_set(0_u16..16, 1..=16),
        prop::option::weighted(0.2, 0_u64..512),
    );
    let vm = |(size, colours, at): (u64, BTreeSet<u16>, Option<u64>)| {
        let address = at.map(|at| 0x4000_0000 + at * Ram::ALIGNMENT);
        coloured(2 * size, address, &colours.into_iter().collect::<Vec<_>>())
    };
    prop::collection::vec(one.prop_map(vm), 1..5)
}

proptest! {
    /// Each VM has all its memory, in pages of its colours that are RAM and nobody else's; what cannot
    /// be is refused by the name of what it is about.
    #[test]
    fn coloured_pages_are_of_one_vm_each(vms in coloured_vms(), pages in 1_u64..600) {
        let board = Board::named(QEMU_VIRT).unwrap();
        let all: Vec<u16> = (0..board.colours).collect();
        let channels = [channel(pages, None)];
        let places = match place(&vms.iter().collect::<Vec<_>>(), true, &channels, &board) {
            Ok(places) => places,
            Err(error) => {
                let text = error.to_string();
                prop_assert!(text.contains("the RAM of `vm`") || text.contains("of the channel `samples`"), "{}", text);
                return Ok(());
            }
        };
        let mut taken = BTreeSet::new();
        let mut take = |pages: &[u64]| pages.iter().all(|&page| taken.insert(page));
        for range in [board.reserved.clone(), trace(&board)] {
            prop_assert!(take(&pages_of(range.start, range.end - range.start, &all, 16)));
        }
        for (vm, &address) in vms.iter().zip(&places.vms) {
            let size_bytes = vm.memory.unwrap().size_bytes;
            let asked = vm.memory.unwrap().address;
            prop_assert!(asked.is_none_or(|asked| asked == address));
            prop_assert_eq!(address % Ram::ALIGNMENT, 0);
            let own = pages_of(address, size_bytes, vm.colours.as_ref().unwrap(), 16);
            prop_assert!(take(&own), "a page twice");
            let in_ram = |page: &u64| board.ram.iter().any(|ram| ram.contains(&(page * PAGE_BYTES)));
            prop_assert!(own.iter().all(in_ram));
            // What the images are written to is what the hypervisor maps.
            let pieces = colours_of(vm, true, &board).pieces(address, 0..size_bytes);
            let of_pieces = pieces.iter().flat_map(|(start, bytes)| {
                (start / PAGE_BYTES)..((start + bytes) / PAGE_BYTES)
            });
            prop_assert_eq!(of_pieces.collect::<Vec<u64>>(), own);
        }
        prop_assert!(take(&pages_of(places.channels[0], channels[0].size_bytes, &all, 16)));
    }
}

/// Disjoint colours share a span, so that no memory is lost between them.
#[test]
fn vms_of_other_colours_lie_between_each_other() {
    let board = Board::named(QEMU_VIRT).unwrap();
    let low: Vec<u16> = (0..8).collect();
    let high: Vec<u16> = (8..16).collect();
    let vms = [
        coloured(256, None, &low),
        coloured(256, None, &high),
        coloured(240, None, &low),
    ];
    let vms: Vec<&Vm> = vms.iter().collect();
    let places = place(&vms, true, &[], &board).unwrap();
    assert_eq!(places.vms, [0x4100_0000, 0x4100_0000, 0x6100_0000]);
    // Without cache allocation the same VMs are in one piece each.
    let places = place(&vms, false, &[], &board).unwrap();
    assert_eq!(places.vms, [0x4100_0000, 0x5100_0000, 0x6100_0000]);
}

#[test]
fn coloured_memory_that_cannot_be_is_refused_with_the_reason() {
    let low: Vec<u16> = (0..8).collect();
    for (board, vms, said) in [
        (
            QEMU_VIRT,
            vec![coloured(64, None, &[3])],
            "qemu-virt has no 64 MiB in pages of 1 of its 16 colours for the RAM of `vm` beside the others; \
             that needs 1 GiB in one piece of its memory",
        ),
        (
            QEMU_VIRT,
            vec![
                coloured(4, Some(0x4200_0000), &low),
                coloured(4, Some(0x4280_0000 - (4 << 20)), &[7]),
            ],
            "the RAM of `vm` is 0x42400000 to 0x46400000, but 0x42000000 to 0x42800000 is",
        ),
        (
            "raspberry-pi-4",
            vec![
                coloured(1024, None, &low),
                coloured(1025, None, &[8, 9, 10, 11, 12, 13, 14]),
            ],
            "the RAM of `vm` is 1025 MiB in pages of 7 of the 16 colours of raspberry-pi-4, but the hypervisor has \
             tables for 896 MiB of these colours beside the VMs before it, and for 2 GiB of all",
        ),
    ] {
        let board = Board::named(board).unwrap();
        let error = place(&vms.iter().collect::<Vec<_>>(), true, &[], &board).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}

/// Colours and size of memory, for [`check_tables`].
fn in_pages(mask: u64, of: u16, size_bytes: u64) -> Piece {
    Piece {
        what: "the RAM of `vm`".into(),
        size_bytes,
        colours: Colours { mask, of },
        address: None,
    }
}

/// Whether the hypervisor finds all tables, by what `hyp/arch/armv8/tables.c` makes of them: table n has
/// colour n mod the number of colours, and each 2 MiB gets the first one of its colours that is free.
fn hypervisor_has_tables(pieces: &[Piece], board: &Board) -> bool {
    let mut free: BTreeSet<u64> = (0..board.coloured_tables).collect();
    let is_of = |piece: &Piece, table: u64| {
        piece.colours.mask >> (table % u64::from(board.colours)) & 1 == 1
    };
    let mut in_pages = pieces.iter().filter(|piece| !piece.colours.is_all());
    in_pages.all(|piece| {
        (0..piece.size_bytes / Ram::ALIGNMENT).all(|_| {
            let first = free.iter().copied().find(|&table| is_of(piece, table));
            first.is_some_and(|table| free.remove(&table))
        })
    })
}

proptest! {
    /// What is accepted here boots, and what boots is accepted: VMs whose colours overlap in any way, of boards
    /// with any number of colours, around what there are tables for.
    #[test]
    fn a_vm_is_refused_where_the_hypervisor_has_no_tables_for_it(
        colours_log2 in 1_u32..=6,
        vms in prop::collection::vec((any::<u64>(), any::<u64>(), any::<bool>(), 0_u64..=110), 1..6),
    ) {
        let of = 1 << colours_log2;
        let board = Board { colours: of, ..Board::named(QEMU_VIRT).unwrap() };
        let of_each_colour = board.coloured_tables / u64::from(of);
        let all = Colours::all(of).mask;
        let pieces: Vec<Piece> = vms
            .into_iter()
            .map(|(a, b, few, percent)| {
                let mask = if few { a & b } else { a } & all;
                let mask = if mask == 0 { 1 } else { mask };
                let tables = of_each_colour * u64::from(mask.count_ones()) * percent / 100;
                in_pages(mask, of, tables * Ram::ALIGNMENT)
            })
            .collect();
        // Each VM more, as the first one that is refused ends it.
        for vms in 1..=pieces.len() {
            let pieces = &pieces[..vms];
            prop_assert_eq!(check_tables(pieces, &board).is_ok(), hypervisor_has_tables(pieces, &board));
        }
    }
}

/// Tables of a colour that two VMs have are there once.
#[test]
fn vms_that_share_colours_share_their_tables() {
    let board = Board::named("raspberry-pi-4").unwrap();
    let eight: Vec<u16> = (0..8).collect();
    let four: Vec<u16> = (0..4).collect();
    let is_placed = |vms: [Vm; 2]| place(&[&vms[0], &vms[1]], true, &[], &board).is_ok();
    let large = || coloured(1024, None, &eight);
    assert!(!is_placed([large(), coloured(200, None, &four)]));
    assert!(!is_placed([coloured(200, None, &four), large()]));
    // The first one takes of all its colours alike, also of those which the other one has alone.
    let small = || coloured(256, None, &eight);
    assert!(!is_placed([small(), coloured(512, None, &four)]));
    assert!(is_placed([coloured(512, None, &four), small()]));
}
