//! Boards that the hypervisor has a descriptor of.

use std::ops::Range;

use crate::colours::{self, PAGE_BYTES};
use crate::{HypError, sources};

/// The board that QEMU emulates: its machine `virt`.
pub const QEMU_VIRT: &str = "qemu-virt";
/// The same with the interrupt controller that many boards have.
pub const QEMU_VIRT_GICV2: &str = "qemu-virt-gicv2";
/// From where the hypervisor is linked to, it and its tables have this; in bytes.
const HYPERVISOR_BYTES: u64 = 14 << 20;

/// Version of the interrupt controller that a board has, and so its guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gic {
    /// GICv2 (Arm IHI 0048).
    V2,
    /// GICv3 (Arm IHI 0069).
    V3,
}

impl Gic {
    /// Its number.
    #[must_use]
    pub fn version(self) -> u8 {
        match self {
            Self::V2 => 2,
            Self::V3 => 3,
        }
    }
}

/// What is known of a board, from its descriptor in `hyp/platform`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    /// Name: that of the platform in a scenario.
    pub name: &'static str,
    /// Number of cores.
    pub cores: u16,
    /// Addresses of its RAM, in order; what firmware and others keep of it is not in here.
    pub ram: Vec<Range<u64>>,
    /// Its interrupt controller.
    pub gic: Gic,
    /// Where the hypervisor is linked to, and entered.
    pub link: u64,
    /// What of the first piece of RAM is the hypervisor's, from its start on.
    pub reserved: Range<u64>,
    /// Page colours of the cache that all cores share: a power of two, at most
    /// [`colours::MOST`].
    pub colours: u16,
    /// Tables that the hypervisor has for pages of some colours, as many of each colour; each
    /// is for 2 MiB.
    pub coloured_tables: u64,
    /// Interrupt of each core's counter; private ones are the same number everywhere.
    pub counter_interrupts: Vec<u16>,
    /// Interrupt of its serial line.
    pub uart_interrupt: u16,
}

impl Board {
    /// Whether a run boots it: QEMU has the counters of its machine `virt` alone.
    #[must_use]
    pub fn is_run(&self) -> bool {
        [QEMU_VIRT, QEMU_VIRT_GICV2].contains(&self.name)
    }

    /// The board with this name.
    ///
    /// # Errors
    /// There is none, with those that there are.
    pub fn named(name: &str) -> Result<Self, HypError> {
        let known = sources::folders("hyp/platform");
        let Some(name) = known.iter().find(|known| **known == name) else {
            return Err(HypError::Unsupported(format!(
                "the hypervisor does not know the platform `{name}`; it knows {}",
                known.join(", ")
            )));
        };
        let folder = format!("hyp/platform/{name}");
        let number = |file: &str, key: &str| {
            let text = sources::text(&format!("{folder}/{file}")).unwrap_or_default();
            number_after(text, key).ok_or_else(|| {
                HypError::Failed(format!("{folder}/{file}: found no number after `{key}`"))
            })
        };
        let ram = ram(&folder)?;
        let counter_interrupts = counter_interrupts(&folder)?;
        let colours = page_colours(&folder)?;
        let tables = "hyp/arch/armv8/tables.c";
        let coloured_tables = number_after(
            sources::text(tables).unwrap_or_default(),
            "#define COLOURED_TABLES ",
        );
        let link = number("platform.mk", "LINK_ADDRESS :=")?;
        Ok(Self {
            name,
            cores: number("platform.c", ".cores =")? as u16,
            gic: gic(&folder)?,
            link,
            reserved: ram[0].start.min(link)..link + HYPERVISOR_BYTES,
            ram,
            colours,
            coloured_tables: coloured_tables.ok_or_else(|| {
                HypError::Failed(format!("{tables}: found no number of COLOURED_TABLES"))
            })?,
            counter_interrupts,
            uart_interrupt: number("platform.c", ".uart_interrupt =")? as u16,
        })
    }
}

fn gic(folder: &str) -> Result<Gic, HypError> {
    let file = format!("{folder}/platform.mk");
    let text = sources::text(&file).unwrap_or_default();
    let found = text.lines().find_map(|line| line.strip_prefix("GIC := "));
    match found {
        Some("gicv2") => Ok(Gic::V2),
        Some("gicv3") => Ok(Gic::V3),
        _ => Err(HypError::Failed(format!(
            "{file}: found `GIC := {}`, expected gicv2 or gicv3",
            found.unwrap_or_default()
        ))),
    }
}

/// The pieces of RAM: each a start and a size, in braces.
fn ram(folder: &str) -> Result<Vec<Range<u64>>, HypError> {
    let file = format!("{folder}/platform.c");
    let text = sources::text(&file).unwrap_or_default();
    let list = text.split_once(".ram = {{").map_or("", |(_, rest)| rest);
    let list = list.split_once("}}").map_or("", |(list, _)| list);
    let piece = |piece: &str| {
        let (start, size) = piece.split_once(',')?;
        let start = number(start)?;
        Some(start..start + number(size)?)
    };
    let pieces: Option<Vec<_>> = list.split("}, {").map(piece).collect();
    pieces.ok_or_else(|| {
        HypError::Failed(format!(
            "{file}: found no `.ram = {{{{start, size}}, ...}}`"
        ))
    })
}

/// Of the last-level cache, whose size and ways are in braces.
fn page_colours(folder: &str) -> Result<u16, HypError> {
    let file = format!("{folder}/platform.c");
    let text = sources::text(&file).unwrap_or_default();
    let cache = text.split_once(".llc = {");
    let cache = cache.and_then(|(_, rest)| rest.split_once('}')?.0.split_once(','));
    let colours = cache.and_then(|(size, ways)| {
        let way_bytes = number(size)?.checked_div(number(ways)?)?;
        u16::try_from(way_bytes / PAGE_BYTES).ok()
    });
    let is_usable = |colours: &u16| colours.is_power_of_two() && *colours <= colours::MOST;
    colours.filter(is_usable).ok_or_else(|| {
        HypError::Failed(format!(
            "{file}: found no `.llc = {{size, ways}}` with 1 to {} page colours, a power of two",
            colours::MOST
        ))
    })
}

/// One for each core, in braces.
fn counter_interrupts(folder: &str) -> Result<Vec<u16>, HypError> {
    let file = format!("{folder}/platform.c");
    let text = sources::text(&file).unwrap_or_default();
    let list = text.split_once(".counter_interrupt = {");
    let list = list.and_then(|(_, rest)| Some(rest.split_once('}')?.0));
    let numbers = list.and_then(|list| {
        let number = |word| u16::try_from(number(word)?).ok();
        list.split(',').map(number).collect()
    });
    numbers.ok_or_else(|| {
        HypError::Failed(format!(
            "{file}: found no `.counter_interrupt = {{number, ...}}`"
        ))
    })
}

/// The number that follows `key`, decimal or hexadecimal.
fn number_after(text: &str, key: &str) -> Option<u64> {
    let (_, rest) = text.split_once(key)?;
    number(rest.trim_start().split([',', '\n', ' ']).next()?)
}

fn number(word: &str) -> Option<u64> {
    let word = word.trim();
    let word = word.strip_suffix('U').unwrap_or(word);
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_is_what_its_descriptor_says() {
        let board = Board::named(QEMU_VIRT).unwrap();
        assert_eq!(board.cores, 4);
        assert_eq!(board.gic, Gic::V3);
        assert_eq!(Board::named(QEMU_VIRT_GICV2).unwrap().gic, Gic::V2);
        let ram = 0x4000_0000..0x8000_0000;
        assert_eq!(board.ram, std::slice::from_ref(&ram));
        assert_eq!(board.link, 0x4020_0000);
        assert_eq!(board.reserved, 0x4000_0000..0x4100_0000);
        assert_eq!(board.counter_interrupts, [23; 4]);
        assert_eq!(board.uart_interrupt, 33);
        assert_eq!((board.colours, board.coloured_tables), (16, 1024));
        let zcu104 = Board::named("zcu104").unwrap();
        assert_eq!(zcu104.counter_interrupts, [175, 176, 177, 178]);
        assert_eq!(zcu104.uart_interrupt, 53);
    }

    #[test]
    fn an_unknown_board_is_refused_with_those_that_are_known() {
        let error = Board::named("zcu105").unwrap_err();
        assert!(matches!(error, HypError::Unsupported(_)));
        assert!(error.to_string().contains("qemu-virt"), "{error}");
    }

    #[test]
    fn every_board_can_be_read() {
        for name in sources::folders("hyp/platform") {
            let board = Board::named(name).unwrap();
            assert!(board.cores > 0 && !board.ram.is_empty(), "{board:?}");
        }
    }
}
