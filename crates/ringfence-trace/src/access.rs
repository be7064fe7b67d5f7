//! One memory access.

/// Bytes of a page, the unit in which addresses are made canonical.
pub const PAGE_BYTES: u64 = 4096;

/// Addresses in a trace are below this: 48 bits.
pub const ADDRESS_LIMIT: u64 = 1 << 48;

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes the same bytes in one instruction.
    Modify,
}

/// One memory access of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// First byte, below [`ADDRESS_LIMIT`]. Pages are numbered in order of
    /// first touch, so the value says nothing about where the loader put it.
    pub address: u64,
    /// Instructions that access no memory, executed between the previous access
    /// (or the start of the job) and this one.
    pub instructions_before: u32,
    /// Bytes accessed: 1 to 255, all in one page.
    pub size: u8,
    /// What it does.
    pub kind: Kind,
}

impl Access {
    /// Why a trace cannot hold this access, if it cannot.
    pub(crate) fn defect(&self) -> Option<&'static str> {
        if self.size == 0 {
            Some("an access of 0 bytes")
        } else if self.address >= ADDRESS_LIMIT {
            Some("an address of more than 48 bits")
        } else if self.address % PAGE_BYTES + u64::from(self.size) > PAGE_BYTES {
            Some("an access that crosses a page boundary")
        } else {
            None
        }
    }
}
