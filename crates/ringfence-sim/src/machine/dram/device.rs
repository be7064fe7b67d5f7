//! The banks of a channel: what is open, and what each command allows next.

use ringfence_scenario::platform::Dram;

use super::command::Cycle;
use super::timing::Timing;
use crate::machine::error::MachineError;

/// Banks of a channel at most: sets of banks are the bits of a `u64`.
const MAX_BANKS: usize = 64;
/// A refresh that never falls due.
const NEVER: Cycle = Cycle::MAX;

/// Which way a column command moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read = 0,
    Write = 1,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bank {
    activate_at: Cycle,
    precharge_at: Cycle,
    /// Column commands, from the activate.
    column_at: Cycle,
    /// The open row; the last one if the bank is closed.
    row: u32,
    group: u8,
    rank: u8,
}

/// Earliest commands that a bank group, its rank and the data bus allow.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    activate_at: Cycle,
    column_at: [Cycle; 2],
    rank: u8,
}

/// A rank's refresh and activate window.
#[derive(Debug, Clone)]
pub(super) struct Rank {
    pub(super) refresh_due: Cycle,
    pub(super) banks: u64,
    /// Ends of the four-activate windows that the last four activates began.
    windows: [Cycle; 4],
    oldest_window: u8,
}

/// The device behind one channel.
#[derive(Debug, Clone)]
pub(super) struct Device {
    timing: Timing,
    banks: Box<[Bank; MAX_BANKS]>,
    bank_count: usize,
    groups: Vec<Group>,
    ranks: Vec<Rank>,
    open: u64,
}

impl Device {
    /// All banks closed. `dram` has at most 64 banks a channel.
    pub(super) fn new(dram: &Dram) -> Result<Self, MachineError> {
        let timing = Timing::new(dram)?;
        let per_group = dram.banks_per_group as usize;
        let per_rank = per_group * dram.bank_groups as usize;
        let mut banks = Box::new([Bank::default(); MAX_BANKS]);
        for (number, bank) in banks.iter_mut().enumerate() {
            bank.group = (number / per_group) as u8;
            bank.rank = (number / per_rank) as u8;
        }
        let rank = |number: usize| Rank {
            refresh_due: if timing.refi == 0 { NEVER } else { timing.refi },
            banks: (u64::MAX >> (MAX_BANKS - per_rank)) << (number * per_rank),
            windows: [0; 4],
            oldest_window: 0,
        };
        let ranks = dram.ranks as usize;
        let group = |number: u32| Group {
            rank: (number / dram.bank_groups) as u8,
            ..Group::default()
        };
        Ok(Self {
            timing,
            banks,
            bank_count: per_rank * ranks,
            groups: (0..dram.ranks * dram.bank_groups).map(group).collect(),
            ranks: (0..ranks).map(rank).collect(),
            open: 0,
        })
    }

    /// Number of banks.
    pub(super) fn banks(&self) -> usize {
        self.bank_count
    }

    /// Banks with an open row.
    #[inline]
    pub(super) fn open_banks(&self) -> u64 {
        self.open
    }

    pub(super) fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    pub(super) fn rank_of(&self, bank: usize) -> &Rank {
        &self.ranks[usize::from(self.bank(bank).rank)]
    }

    #[inline]
    fn bank(&self, bank: usize) -> &Bank {
        &self.banks[bank % MAX_BANKS]
    }

    #[inline]
    pub(super) fn open_row(&self, bank: usize) -> Option<u32> {
        (self.open >> bank & 1 != 0).then(|| self.bank(bank).row)
    }

    /// First clock in which a closed bank may be opened.
    #[inline]
    pub(super) fn activate_at(&self, bank: usize) -> Cycle {
        let bank = self.bank(bank);
        bank.activate_at
            .max(self.groups[usize::from(bank.group)].activate_at)
    }

    /// First clock in which an open bank may be closed.
    #[inline]
    pub(super) fn precharge_at(&self, bank: usize) -> Cycle {
        self.bank(bank).precharge_at
    }

    /// First clock of a column command to the open row.
    #[inline]
    pub(super) fn column_at(&self, bank: usize, direction: Direction) -> Cycle {
        let bank = self.bank(bank);
        bank.column_at
            .max(self.groups[usize::from(bank.group)].column_at[direction as usize])
    }

    /// First clock in which a closed bank's rank may be refreshed, as far as this bank goes.
    pub(super) fn refresh_at(&self, bank: usize) -> Cycle {
        self.bank(bank).activate_at
    }

    /// Clock after the data of a read command at `at`.
    #[inline]
    pub(super) fn read_done(&self, at: Cycle) -> Cycle {
        at + self.timing.read_data
    }

    pub(super) fn activate(&mut self, at: Cycle, bank: usize, row: u32) {
        let t = &self.timing;
        self.open |= 1 << bank;
        let bank = &mut self.banks[bank];
        bank.row = row;
        bank.precharge_at = at + t.ras;
        bank.column_at = at + t.rcd;
        let rank = &mut self.ranks[usize::from(bank.rank)];
        rank.windows[usize::from(rank.oldest_window)] = at + t.faw;
        rank.oldest_window = (rank.oldest_window + 1) % 4;
        let window = rank.windows[usize::from(rank.oldest_window)];
        for (number, group) in self.groups.iter_mut().enumerate() {
            if group.rank == bank.rank {
                let gap = if number == usize::from(bank.group) {
                    t.rrd_l
                } else {
                    t.rrd_s
                };
                group.activate_at = group.activate_at.max(at + gap).max(window);
            }
        }
    }

    pub(super) fn precharge(&mut self, at: Cycle, bank: usize) {
        self.open &= !(1 << bank);
        let bank = &mut self.banks[bank];
        bank.activate_at = bank.activate_at.max(at + self.timing.rp);
    }

    pub(super) fn column(&mut self, at: Cycle, bank: usize, direction: Direction) {
        let t = &self.timing;
        let bank = &mut self.banks[bank];
        // Gaps to the next read and the next write.
        let (to_precharge, same_group, same_rank, other_rank) = match direction {
            Direction::Read => (
                t.rtp,
                [t.ccd_l, t.read_to_write],
                [t.ccd_s, t.read_to_write],
                [t.other_rank, t.read_to_write],
            ),
            Direction::Write => (
                t.write_recovery,
                [t.wtr_l, t.ccd_l],
                [t.wtr_s, t.ccd_s],
                [t.write_to_read_other_rank, t.other_rank],
            ),
        };
        bank.precharge_at = bank.precharge_at.max(at + to_precharge);
        for (number, group) in self.groups.iter_mut().enumerate() {
            let gaps = if number == usize::from(bank.group) {
                same_group
            } else if group.rank == bank.rank {
                same_rank
            } else {
                other_rank
            };
            for (earliest, gap) in group.column_at.iter_mut().zip(gaps) {
                *earliest = (*earliest).max(at + gap);
            }
        }
    }

    /// Refreshes the rank of `bank`.
    pub(super) fn refresh(&mut self, at: Cycle, bank: usize) {
        let rank = &mut self.ranks[usize::from(self.banks[bank].rank)];
        rank.refresh_due += self.timing.refi;
        for bank in bits(rank.banks) {
            self.banks[bank].activate_at = at + self.timing.rfc;
        }
    }
}

/// Positions of the set bits, ascending.
#[inline]
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            bit
        })
    })
}
