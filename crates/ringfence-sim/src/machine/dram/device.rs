//! The banks of a channel: what is open, and what each command allows next.

use ringfence_scenario::platform::Dram;

use super::command::{CommandKind, Cycle};
use super::timing::Timing;
use crate::machine::error::{MachineError, power_of_two};

/// Banks of a channel at most: sets of banks are the bits of a `u64`.
pub(super) const MAX_BANKS: usize = 64;
/// A refresh that never falls due.
const NEVER: Cycle = Cycle::MAX;

/// Which way a column command moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read = 0,
    Write = 1,
}

/// Kinds of commands that serve requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Activate = 0,
    Precharge = 1,
    Read = 2,
    Write = 3,
}

impl Kind {
    #[inline]
    pub(super) fn column(direction: Direction) -> Self {
        match direction {
            Direction::Read => Self::Read,
            Direction::Write => Self::Write,
        }
    }
}

/// A clock for each kind of command and bank, or bank group: 64 of each kind.
type Clocks = [Cycle; 4 * MAX_BANKS];

/// A rank's refresh and its activate window.
#[derive(Debug, Clone)]
pub(super) struct Rank {
    /// Its banks, as a bit each.
    pub(super) banks: u64,
    /// First clock of a refresh.
    refresh_at: Cycle,
    pub(super) refresh_due: Cycle,
    /// Banks that the next refresh is for.
    pub(super) refresh_banks: u64,
    /// Ends of the four-activate windows that the last four activates began.
    windows: [Cycle; 4],
    oldest_window: usize,
}

/// The device behind one channel.
#[derive(Debug, Clone)]
pub(super) struct Device {
    timing: Timing,
    /// First legal clocks by what the bank itself did.
    of_bank: Clocks,
    /// First legal clocks by what happened anywhere in the channel, for each bank group.
    of_group: Clocks,
    /// First clock of a refresh, by what the bank itself did.
    refresh_at: [Cycle; MAX_BANKS],
    /// The open row of a bank; the last one if it is closed.
    row: [u32; MAX_BANKS],
    open: u64,
    bank_count: usize,
    /// Bits of a bank's number below those of its bank group ...
    group_shift: u32,
    /// ... and below those of its rank.
    rank_shift: u32,
    ranks: Vec<Rank>,
    refreshes_one_bank: bool,
}

/// Where a kind of command has its clock in [`Clocks`].
#[inline]
fn index(kind: Kind, bank_or_group: usize) -> usize {
    (kind as usize) << 6 | (bank_or_group % MAX_BANKS)
}

impl Device {
    /// All banks closed.
    ///
    /// # Errors
    /// When there are more than 64 banks, a count is not a power of two or a timing cannot be represented.
    pub(super) fn new(dram: &Dram) -> Result<Self, MachineError> {
        let timing = Timing::new(dram)?;
        power_of_two("dram.ranks", dram.ranks.into())?;
        power_of_two("dram.bank_groups", dram.bank_groups.into())?;
        power_of_two("dram.banks_per_group", dram.banks_per_group.into())?;
        let bank_count = dram.banks_per_channel() as usize;
        if !(1..=MAX_BANKS).contains(&bank_count) {
            return Err(MachineError::OutOfRange {
                what: "banks of a DRAM channel",
                value: bank_count as u64,
                expected: "1 to 64",
            });
        }
        let banks_per_rank = bank_count / dram.ranks as usize;
        let refreshes_one_bank = dram.refreshes_one_bank();
        let first_due = match timing.refresh_interval {
            0 => NEVER,
            interval => interval,
        };
        let rank = |number: usize| {
            let first_bank = number * banks_per_rank;
            let banks = (u64::MAX >> (MAX_BANKS - banks_per_rank)) << first_bank;
            Rank {
                banks,
                refresh_at: 0,
                refresh_due: first_due,
                refresh_banks: if refreshes_one_bank {
                    1 << first_bank
                } else {
                    banks
                },
                windows: [0; 4],
                oldest_window: 0,
            }
        };
        Ok(Self {
            timing,
            of_bank: [0; 4 * MAX_BANKS],
            of_group: [0; 4 * MAX_BANKS],
            refresh_at: [0; MAX_BANKS],
            row: [0; MAX_BANKS],
            open: 0,
            bank_count,
            group_shift: dram.banks_per_group.trailing_zeros(),
            rank_shift: banks_per_rank.trailing_zeros(),
            ranks: (0..dram.ranks as usize).map(rank).collect(),
            refreshes_one_bank,
        })
    }

    /// Number of banks.
    pub(super) fn banks(&self) -> usize {
        self.bank_count
    }

    #[inline]
    pub(super) fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    #[inline]
    fn rank_number(&self, bank: usize) -> usize {
        bank >> self.rank_shift
    }

    /// Bank groups of the rank of `bank`.
    #[inline]
    fn groups_of_rank(&self, bank: usize) -> std::ops::Range<usize> {
        let shift = self.rank_shift - self.group_shift;
        let rank = bank >> self.rank_shift;
        rank << shift..(rank + 1) << shift
    }

    /// Banks with an open row.
    #[inline]
    pub(super) fn open_banks(&self) -> u64 {
        self.open
    }

    #[inline]
    pub(super) fn open_row(&self, bank: usize) -> Option<u32> {
        (self.open >> bank & 1 != 0).then(|| self.row[bank % MAX_BANKS])
    }

    /// Rank of `bank`.
    pub(super) fn rank_of(&self, bank: usize) -> &Rank {
        &self.ranks[self.rank_number(bank)]
    }

    /// First clock in which a command of `kind` is legal in `bank`, given its state.
    #[inline]
    pub(super) fn legal_at(&self, kind: Kind, bank: usize) -> Cycle {
        let of_group = self.of_group[index(kind, bank >> self.group_shift)];
        self.of_bank[index(kind, bank)].max(of_group)
    }

    /// First clock from `now` on in which a command of `kind` is legal in `bank`, given its state.
    ///
    /// `now` is compared with the group's clock, which is much the same for all
    /// banks: a branch on that can be predicted, and one on the bank's own cannot.
    #[inline]
    pub(super) fn legal_from(&self, now: Cycle, kind: Kind, bank: usize) -> Cycle {
        let of_group = self.of_group[index(kind, bank >> self.group_shift)].max(now);
        self.of_bank[index(kind, bank)].max(of_group)
    }

    /// First clock in which the closed `banks` of a rank may be refreshed.
    pub(super) fn refresh_at(&self, rank: &Rank, banks: u64) -> Cycle {
        bits(banks)
            .map(|bank| self.refresh_at[bank])
            .fold(rank.refresh_at, Cycle::max)
    }

    /// First clock in which the open `banks` may be closed together.
    pub(super) fn precharge_all_at(&self, banks: u64) -> Cycle {
        bits(banks)
            .map(|bank| self.legal_at(Kind::Precharge, bank))
            .fold(0, Cycle::max)
    }

    /// Clock after the data of a read command at `at`.
    #[inline]
    pub(super) fn read_done(&self, at: Cycle) -> Cycle {
        at + self.timing.read_data
    }

    /// No command of `kind` for the bank before `at`.
    #[inline]
    fn hold_bank(&mut self, kind: Kind, bank: usize, at: Cycle) {
        let clock = &mut self.of_bank[index(kind, bank)];
        *clock = (*clock).max(at);
    }

    /// No command of `kind` for the bank group before `at`.
    #[inline]
    fn hold_group(&mut self, kind: Kind, group: usize, at: Cycle) {
        let clock = &mut self.of_group[index(kind, group)];
        *clock = (*clock).max(at);
    }

    pub(super) fn activate(&mut self, at: Cycle, bank: usize, row: u32) {
        let t = self.timing;
        self.open |= 1 << bank;
        self.row[bank % MAX_BANKS] = row;
        self.hold_bank(Kind::Precharge, bank, at + t.activate_to_precharge);
        self.hold_bank(Kind::Read, bank, at + t.activate_to_column);
        self.hold_bank(Kind::Write, bank, at + t.activate_to_column);
        let number = self.rank_number(bank);
        let rank = &mut self.ranks[number];
        rank.windows[rank.oldest_window % 4] = at + t.four_activates;
        rank.oldest_window = (rank.oldest_window + 1) % 4;
        rank.refresh_at = rank.refresh_at.max(at + t.activate_to_refresh);
        let next = rank.windows[rank.oldest_window].max(at + t.activate_to_activate);
        for group in self.groups_of_rank(bank) {
            self.hold_group(Kind::Activate, group, next);
        }
        let next_in_group = at + t.activate_to_activate_same_group;
        self.hold_group(Kind::Activate, bank >> self.group_shift, next_in_group);
    }

    /// Closes one bank.
    pub(super) fn precharge(&mut self, at: Cycle, bank: usize) {
        let t = &self.timing;
        let (to_activate, to_refresh) = (t.precharge_to_activate, t.precharge_to_refresh);
        self.close(at, bank, to_activate, to_refresh);
    }

    /// Closes all banks of the rank of `bank`; returns those that were open.
    pub(super) fn precharge_all(&mut self, at: Cycle, bank: usize) -> u64 {
        let t = &self.timing;
        let (to_activate, to_refresh) = (t.precharge_all_to_activate, t.precharge_all_to_refresh);
        let open = self.open & self.ranks[self.rank_number(bank)].banks;
        for bank in bits(open) {
            self.close(at, bank, to_activate, to_refresh);
        }
        open
    }

    fn close(&mut self, at: Cycle, bank: usize, to_activate: Cycle, to_refresh: Cycle) {
        self.open &= !(1 << bank);
        self.hold_bank(Kind::Activate, bank, at + to_activate);
        self.refresh_at[bank % MAX_BANKS] = at + to_refresh;
        // A distance of one clock is what the command bus asks for anyway.
        if self.timing.precharge_to_precharge > 1 {
            for group in self.groups_of_rank(bank) {
                let next = at + self.timing.precharge_to_precharge;
                self.hold_group(Kind::Precharge, group, next);
            }
        }
    }

    pub(super) fn column(&mut self, at: Cycle, bank: usize, direction: Direction) {
        let t = self.timing.columns[direction as usize];
        self.hold_bank(Kind::Precharge, bank, at + t.to_precharge);
        let own_rank = self.groups_of_rank(bank);
        for group in own_rank.end..self.bank_count >> self.group_shift {
            self.hold_columns(group, at, t.other_rank);
        }
        for group in 0..own_rank.start {
            self.hold_columns(group, at, t.other_rank);
        }
        for group in own_rank {
            self.hold_columns(group, at, t.same_rank);
        }
        self.hold_columns(bank >> self.group_shift, at, t.same_group);
    }

    #[inline]
    fn hold_columns(&mut self, group: usize, at: Cycle, [to_read, to_write]: [Cycle; 2]) {
        self.hold_group(Kind::Read, group, at + to_read);
        self.hold_group(Kind::Write, group, at + to_write);
    }

    /// Refreshes the banks of [`Rank::refresh_banks`] of the rank of `bank`; returns the command.
    pub(super) fn refresh(&mut self, at: Cycle, bank: usize) -> CommandKind {
        let t = self.timing;
        let number = self.rank_number(bank);
        for bank in bits(self.ranks[number].refresh_banks) {
            self.hold_bank(Kind::Activate, bank, at + t.refresh_to_activate_same_bank);
        }
        let rank = &mut self.ranks[number];
        rank.refresh_due += t.refresh_interval;
        rank.refresh_at = at + t.refresh_to_refresh;
        if self.refreshes_one_bank {
            let next = rank.refresh_banks << 1;
            rank.refresh_banks = if next & rank.banks != 0 {
                next
            } else {
                1 << rank.banks.trailing_zeros()
            };
        }
        if self.refreshes_one_bank {
            for group in self.groups_of_rank(bank) {
                self.hold_group(Kind::Activate, group, at + t.refresh_to_activate);
            }
            CommandKind::RefreshBank
        } else {
            CommandKind::Refresh
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
