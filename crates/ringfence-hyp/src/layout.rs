//! Where VMs are in a board's memory.

use std::ops::Range;

use ringfence_scenario::channel::Channel;
use ringfence_scenario::quantity::SIZE;
use ringfence_scenario::vm::{Ram, Vm};

use crate::HypError;
use crate::board::Board;
use crate::colours::Colours;

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
    /// Of its pages.
    colours: Colours,
    /// Where it is asked to be.
    address: Option<u64>,
}

impl Piece {
    /// From its first page to its last.
    fn at(&self, address: u64) -> Taken {
        let span_bytes = self.colours.span_bytes(self.size_bytes);
        Taken {
            span: address..address.saturating_add(span_bytes),
            colours: self.colours,
        }
    }
}

/// Memory that has an owner: the pages of some colours in a span.
#[derive(Clone)]
struct Taken {
    span: Range<u64>,
    colours: Colours,
}

impl Taken {
    fn overlaps(&self, other: &Self) -> bool {
        self.colours.overlap(other.colours) && overlap(&self.span, &other.span)
    }
}

/// Which colours the memory of a VM has in a case; all of the board's without cache allocation.
#[must_use]
pub fn colours_of(vm: &Vm, cache_allocation: bool, board: &Board) -> Colours {
    match vm.colours.as_deref().filter(|_| cache_allocation) {
        Some(colours) => Colours::some(colours, board.colours),
        None => Colours::all(board.colours),
    }
}

/// Where all memory of VMs and of what they have in common is, in their order: where it
/// is asked to be, or else at the lowest address that is free. VMs whose memory has no colour
/// in common lie in the same span, a page here and a page there.
///
/// # Errors
/// A VM has no RAM; or something asks for what is not there or taken, or finds no room; or a VM's
/// memory is in pages of colours that the hypervisor has no tables left of.
pub fn place(
    vms: &[&Vm],
    cache_allocation: bool,
    channels: &[Channel],
    board: &Board,
) -> Result<Places, HypError> {
    let ram = |vm: &&Vm| ram_of(vm, colours_of(vm, cache_allocation, board));
    let mut pieces: Vec<Piece> = vms.iter().map(ram).collect::<Result<_, _>>()?;
    check_tables(&pieces, board)?;
    pieces.extend(channels.iter().map(|channel| memory_of(channel, board)));
    let whole = |span| Taken {
        span,
        colours: Colours::all(board.colours),
    };
    let mut taken = vec![whole(board.reserved.clone()), whole(trace(board))];
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
            None => first_free(piece, board, &taken)
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

fn ram_of(vm: &Vm, colours: Colours) -> Result<Piece, HypError> {
    let ram = vm.memory.ok_or_else(|| {
        HypError::Failed(format!(
            "the VM `{}` has no memory, which the hypervisor needs; add `memory = \"16 MiB\"`",
            vm.name
        ))
    })?;
    Ok(Piece {
        what: format!("the RAM of `{}`", vm.name),
        size_bytes: ram.size_bytes,
        colours,
        address: ram.address,
    })
}

fn memory_of(channel: &Channel, board: &Board) -> Piece {
    Piece {
        what: format!("the memory of the channel `{}`", channel.name),
        size_bytes: channel.size_bytes,
        colours: Colours::all(board.colours),
        address: channel.address,
    }
}

fn check_asked(
    piece: &Piece,
    wanted: &Taken,
    board: &Board,
    taken: &[Taken],
) -> Result<(), HypError> {
    let shown = |range: &Range<u64>| format!("{:#x} to {:#x}", range.start, range.end);
    let range = &wanted.span;
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
    match taken.iter().find(|other| wanted.overlaps(other)) {
        Some(other) => Err(HypError::Failed(format!(
            "{} is {}, but {} is the hypervisor's, another VM's or a channel's",
            piece.what,
            shown(range),
            shown(&other.span)
        ))),
        None => Ok(()),
    }
}

/// Gives each 2 MiB of memory in pages a table of its colours, as the hypervisor does when it boots
/// (`new_coloured` in `hyp/arch/armv8/tables.c`): each of the colour that has given fewest, the
/// lowest first. What VMs before have of colours in common is not there for those behind.
fn check_tables(pieces: &[Piece], board: &Board) -> Result<(), HypError> {
    let of_each_colour = board.coloured_tables / u64::from(board.colours);
    let mut used = vec![0; usize::from(board.colours)];
    for piece in pieces.iter().filter(|piece| !piece.colours.is_all()) {
        let colours: Vec<usize> = piece.colours.numbers().map(usize::from).collect();
        let needed = piece.size_bytes.div_ceil(Ram::ALIGNMENT);
        let free: u64 = colours.iter().map(|&it| of_each_colour - used[it]).sum();
        if needed > free {
            return Err(HypError::Failed(format!(
                "{} is {} in pages of {} of the {} colours of {}, but the hypervisor has tables for {} of these \
                 colours beside the VMs before it, and for {} of all; give them less memory, or colours that \
                 fewer of them have",
                piece.what,
                SIZE.format(piece.size_bytes),
                colours.len(),
                board.colours,
                board.name,
                SIZE.format(free * Ram::ALIGNMENT),
                SIZE.format(board.coloured_tables * Ram::ALIGNMENT),
            )));
        }
        for _ in 0..needed {
            let least = colours.iter().copied().min_by_key(|&it| used[it]);
            used[least.expect("a mask is not 0")] += 1;
        }
    }
    Ok(())
}

fn first_free(piece: &Piece, board: &Board, taken: &[Taken]) -> Option<u64> {
    let ends_of_taken = taken
        .iter()
        .flat_map(|other| [other.span.start, other.span.end]);
    let starts = board.ram.iter().map(|ram| ram.start);
    let mut candidates: Vec<u64> = starts
        .chain(ends_of_taken)
        .map(|address| address.next_multiple_of(Ram::ALIGNMENT))
        .collect();
    candidates.sort_unstable();
    candidates.into_iter().find(|&address| {
        let range = piece.at(address);
        is_in(&range.span, board) && !taken.iter().any(|other| range.overlaps(other))
    })
}

/// Whether a range is in one piece of the RAM.
fn is_in(range: &Range<u64>, board: &Board) -> bool {
    let within = |ram: &Range<u64>| ram.start <= range.start && range.end <= ram.end;
    board.ram.iter().any(within)
}

fn no_room(piece: &Piece, board: &Board) -> String {
    let size = SIZE.format(piece.size_bytes);
    match piece.colours.is_all() {
        true => format!(
            "{} has no {size} in one piece for {} beside the others",
            board.name, piece.what
        ),
        false => format!(
            "{} has no {size} in pages of {} of its {} colours for {} beside the others; that needs {} \
             in one piece of its memory",
            board.name,
            piece.colours.mask.count_ones(),
            board.colours,
            piece.what,
            SIZE.format(piece.colours.span_bytes(piece.size_bytes))
        ),
    }
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

#[cfg(test)]
mod tests;
