//! Aggressors: programs made to contend for caches and memory, and yardsticks for both.
//!
//! - **Bw** ([`Kind::Bandwidth`]) walks an array in address order, one access a
//!   cache line. Its accesses do not depend on each other.
//! - **PLL** ([`Kind::LinkedLists`]) walks shuffled linked lists in turn. Each list
//!   is one chain of dependent loads, so that the number of lists is the number of
//!   misses that can be under way.
//! - **BkPLL** is a PLL whose nodes lie in one bank of a cache ([`Bank`]).
//!
//! [`Name`] knows what papers call them, such as `BwWrite(LLC)`, and how large they are here.
//!
//! They are those of Valsan, Yun and Farshchi, "Taming Non-blocking Caches to
//! Improve Isolation in Multicore Real-Time Systems" (RTAS 2016), and of Bechtel and
//! Yun, "Denial-of-Service Attacks on Shared Cache in Multicore" (RTAS 2019).

mod bandwidth;
mod bank;
mod linked_lists;
mod name;
mod pace;

use crate::large_pages::LargePages;
use bandwidth::Bandwidth;
use linked_lists::LinkedLists;

pub use bank::{Bank, parse_function};
pub use name::{LISTS, Level, Name, NameError, Pattern};
pub use pace::Pace;

/// Most lists of a PLL.
pub const LISTS_MAX: usize = 64;
/// Longest line: a page.
const LINE_BYTES_MAX: u64 = 4096;

/// Loads, or loads and stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Loads.
    Read,
    /// Stores: each line is fetched, changed and written back in the end.
    Write,
}

/// How the array is walked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Line after line.
    Bandwidth,
    /// Along so many shuffled lists, 1 to [`LISTS_MAX`].
    LinkedLists {
        /// Lists that are walked in turn.
        lists: usize,
        /// Where the nodes lie; `None` is everywhere.
        bank: Option<Bank>,
    },
}

/// What an aggressor does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// How the array is walked.
    pub kind: Kind,
    /// Loads or stores.
    pub access: Access,
    /// Bytes of the array; a part of a line at its end is left out.
    pub size_bytes: u64,
    /// Bytes of a cache line, a power of two from 16 on.
    pub line_bytes: u64,
}

/// Why there is no such aggressor.
#[derive(Debug, thiserror::Error)]
pub enum ShapeError {
    /// The line is none.
    #[error("a line of {0} bytes; expected a power of two from 16 to 4096")]
    Line(u64),
    /// Less than a line, or more than 32-bit words can be counted.
    #[error("an array of {size_bytes} bytes; expected one line of {line_bytes} bytes to 8 GiB")]
    Size {
        /// Bytes asked for.
        size_bytes: u64,
        /// Bytes of a line.
        line_bytes: u64,
    },
    /// Too many or no lists.
    #[error("{0} lists; expected 1 to 64")]
    Lists(usize),
    /// A bank function without address bits.
    #[error("the bank function 0x0; expected at least one address bit")]
    EmptyBankFunction,
    /// A bank that needs physical addresses.
    #[error(
        "the bank function {function:#x} needs physical addresses, which /proc/self/pagemap does not show: {source}; run as root, or use address bits below 4096"
    )]
    Frames {
        /// The function.
        function: u64,
        /// What the system says.
        source: std::io::Error,
    },
    /// No line is in the bank, or fewer than there are lists.
    #[error(
        "{lines} lines in bank {bank}, for {lists} lists; expected at least one line a list: choose another bank, larger memory or address bits that tell lines apart"
    )]
    TooFewLines {
        /// Lines found.
        lines: usize,
        /// Bank asked for.
        bank: u64,
        /// Lists asked for.
        lists: usize,
    },
    /// The system has not as much memory.
    #[error("no memory for {size_bytes} bytes: {source}")]
    Memory {
        /// Bytes asked for.
        size_bytes: u64,
        /// What the system says.
        source: std::io::Error,
    },
}

/// An aggressor that can go on from where it stopped.
#[derive(Debug)]
pub struct Walk {
    memory: LargePages,
    order: Order,
    access: Access,
}

#[derive(Debug)]
enum Order {
    Bandwidth(Bandwidth),
    LinkedLists(LinkedLists),
}

impl Walk {
    /// Maps the array and touches all of it.
    ///
    /// # Errors
    /// When the shape is out of range or there is no memory for it.
    pub fn new(shape: &Shape) -> Result<Self, ShapeError> {
        let Shape {
            size_bytes,
            line_bytes,
            ..
        } = *shape;
        if !line_bytes.is_power_of_two()
            || !(bank::NODE_BYTES..=LINE_BYTES_MAX).contains(&line_bytes)
        {
            return Err(ShapeError::Line(line_bytes));
        }
        if !(line_bytes..=8 << 30).contains(&size_bytes) {
            return Err(ShapeError::Size {
                size_bytes,
                line_bytes,
            });
        }
        let lines = (size_bytes / line_bytes) as usize;
        let stride = line_bytes as usize / size_of::<u32>();
        check(&shape.kind)?;
        let mut memory = LargePages::new(lines * stride)
            .map_err(|source| ShapeError::Memory { size_bytes, source })?;
        // A page that was never written may be one page of zeros for all.
        memory.iter_mut().step_by(stride).for_each(|word| *word = 1);
        let order = match &shape.kind {
            Kind::Bandwidth => Order::Bandwidth(Bandwidth::new(stride)),
            Kind::LinkedLists { lists, bank } => {
                let nodes = nodes(&memory, line_bytes, *lists, bank.as_ref())?;
                Order::LinkedLists(LinkedLists::link(&mut memory, &nodes, *lists))
            }
        };
        Ok(Self {
            memory,
            order,
            access: shape.access,
        })
    }

    /// Makes at least `accesses` accesses, at most [`LISTS_MAX`] more; how many it made.
    pub fn run(&mut self, accesses: u64) -> u64 {
        match &mut self.order {
            Order::Bandwidth(walk) => walk.run(&mut self.memory, self.access, accesses),
            Order::LinkedLists(walk) => walk.run(&mut self.memory, self.access, accesses),
        }
    }

    /// Accesses that visit every line once.
    pub fn accesses_per_pass(&self) -> u64 {
        match &self.order {
            Order::Bandwidth(walk) => walk.lines(&self.memory),
            Order::LinkedLists(walk) => walk.nodes(),
        }
    }
}

/// Refuses what needs no memory to be refused.
fn check(kind: &Kind) -> Result<(), ShapeError> {
    match kind {
        Kind::LinkedLists { lists, .. } if !(1..=LISTS_MAX).contains(lists) => {
            Err(ShapeError::Lists(*lists))
        }
        Kind::LinkedLists {
            bank: Some(bank), ..
        } => bank.check(),
        _ => Ok(()),
    }
}

/// The words at which the nodes of lists begin, one a line.
fn nodes(
    memory: &[u32],
    line_bytes: u64,
    lists: usize,
    bank: Option<&Bank>,
) -> Result<Vec<u32>, ShapeError> {
    let lines = size_of_val(memory) as u64 / line_bytes;
    let offsets = match bank {
        None => (0..lines).map(|line| line * line_bytes).collect(),
        Some(bank) => bank.nodes(memory, line_bytes)?,
    };
    if offsets.len() < lists {
        return Err(ShapeError::TooFewLines {
            lines: offsets.len(),
            bank: bank.map_or(0, |bank| bank.number),
            lists,
        });
    }
    let words = offsets
        .iter()
        .map(|offset| offset / size_of::<u32>() as u64);
    Ok(words.map(|word| word as u32).collect())
}

#[cfg(test)]
mod tests;
