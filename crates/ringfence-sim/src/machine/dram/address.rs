//! Where a line lives in the DRAM.

use ringfence_scenario::platform::{AddressMap, Dram};

use crate::machine::error::{MachineError, power_of_two};

/// Bank and row of a line within its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// `(rank * bank_groups + group) * banks_per_group + bank`.
    pub bank: u8,
    /// Row of the bank.
    pub row: u32,
}

/// Splits line numbers into channel, bank and row.
///
/// Lines are interleaved over the channels; the fields of the address map
/// follow. The unit of all fields is a cache line, so that the bursts of one
/// line always lie in one row.
#[derive(Debug, Clone)]
pub struct Decoder {
    channel_bits: u32,
    column: Field,
    group: Field,
    bank: Field,
    rank: Field,
    row_shift: u32,
    group_bits: u32,
    bank_bits: u32,
    /// Masks of line bits; the parity of each flips one bit of the bank's number.
    bank_xor: Vec<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Field {
    shift: u32,
    bits: u32,
}

impl Field {
    fn of(self, line: u64) -> u64 {
        (line >> self.shift) & ((1 << self.bits) - 1)
    }
}

impl Decoder {
    /// Makes the decoder of `dram` for lines of `line_bytes`.
    ///
    /// # Errors
    /// When a count is not a power of two, a row does not hold a line, a channel
    /// has more than 64 banks, or a bank function uses bits of a line or of the bank itself.
    pub fn new(dram: &Dram, line_bytes: u32) -> Result<Self, MachineError> {
        let lines_per_row = dram.row_bytes / line_bytes.max(1);
        let bits = |what, value: u32| power_of_two(what, u64::from(value)).map(u64::trailing_zeros);
        let channel_bits = bits("dram.channels", dram.channels)?;
        let mut column = Field {
            shift: 0,
            bits: bits("lines per DRAM row", lines_per_row)?,
        };
        let mut group = Field {
            shift: 0,
            bits: bits("dram.bank_groups", dram.bank_groups)?,
        };
        let mut bank = Field {
            shift: 0,
            bits: bits("dram.banks_per_group", dram.banks_per_group)?,
        };
        let mut rank = Field {
            shift: 0,
            bits: bits("dram.ranks", dram.ranks)?,
        };
        if rank.bits + group.bits + bank.bits > 6 {
            return Err(MachineError::OutOfRange {
                what: "banks of a DRAM channel",
                value: 1u64 << (rank.bits + group.bits + bank.bits),
                expected: "at most 64",
            });
        }
        let order: [&mut Field; 4] = match dram.address_map {
            AddressMap::ColumnGroupBankRow => [&mut column, &mut group, &mut bank, &mut rank],
            AddressMap::GroupColumnBankRow => [&mut group, &mut column, &mut bank, &mut rank],
            AddressMap::BankColumnRow => [&mut group, &mut bank, &mut rank, &mut column],
        };
        let mut row_shift = 0;
        for field in order {
            field.shift = row_shift;
            row_shift += field.bits;
        }
        Ok(Self {
            channel_bits,
            column,
            group,
            bank,
            rank,
            row_shift,
            group_bits: group.bits,
            bank_bits: bank.bits,
            bank_xor: bank_xor(dram, line_bytes)?,
        })
    }

    /// Channel of a line.
    #[inline]
    pub fn channel(&self, line: u64) -> usize {
        (line & ((1 << self.channel_bits) - 1)) as usize
    }

    /// Bank and row of a line in its channel.
    #[inline]
    pub fn place(&self, line: u64) -> Place {
        let mut flips = 0;
        for (bit, mask) in self.bank_xor.iter().enumerate() {
            flips |= u64::from((line & mask).count_ones() & 1) << bit;
        }
        let line = line >> self.channel_bits;
        let group = (self.rank.of(line) << self.group_bits) | self.group.of(line);
        let bank = (group << self.bank_bits) | self.bank.of(line);
        Place {
            bank: (bank ^ flips) as u8,
            row: (line >> self.row_shift) as u32,
        }
    }

    /// Lines in one row.
    pub fn lines_per_row(&self) -> u64 {
        1 << self.column.bits
    }
}

/// The bank functions as masks of line bits.
fn bank_xor(dram: &Dram, line_bytes: u32) -> Result<Vec<u64>, MachineError> {
    let bank_bits = dram.bank_address_bits(line_bytes);
    let own = bank_bits.iter().fold(0, |mask, bit| mask | 1u64 << bit);
    let refused = own | (u64::from(line_bytes) - 1);
    if let Some(mask) = dram.bank_xor.iter().find(|&mask| mask & refused != 0) {
        return Err(MachineError::OutOfRange {
            what: "mask of a DRAM bank function",
            value: *mask,
            expected: "no bits within a line or of the bank's own number",
        });
    }
    if dram.bank_xor.len() > bank_bits.len() {
        return Err(MachineError::OutOfRange {
            what: "number of DRAM bank functions",
            value: dram.bank_xor.len() as u64,
            expected: "at most one for each bit of the bank's number",
        });
    }
    let line_shift = line_bytes.trailing_zeros();
    Ok(dram
        .bank_xor
        .iter()
        .map(|mask| mask >> line_shift)
        .collect())
}
