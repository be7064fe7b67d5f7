//! What the device's timings mean for pairs of commands.

use ringfence_scenario::platform::{Dram, DramTiming};

use super::command::Cycle;
use crate::machine::error::MachineError;

/// Longest timing in clocks.
const MAX_TIMING: u32 = 1 << 16;

/// Least distances from the first clock of one command to the first clock of another.
///
/// The device counts from last clock to last clock (JESD209-4 draws commands of
/// several clocks so); here a longer command has begun earlier.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    pub(super) activate_to_column: Cycle,
    pub(super) activate_to_precharge: Cycle,
    /// Within the bank.
    pub(super) precharge_to_activate: Cycle,
    /// After a precharge of all banks.
    pub(super) precharge_all_to_activate: Cycle,
    pub(super) precharge_to_refresh: Cycle,
    pub(super) precharge_all_to_refresh: Cycle,
    pub(super) precharge_to_precharge: Cycle,
    /// Different bank group.
    pub(super) activate_to_activate: Cycle,
    pub(super) activate_to_activate_same_group: Cycle,
    pub(super) four_activates: Cycle,
    /// Refresh of another bank.
    pub(super) activate_to_refresh: Cycle,
    /// Activate of another bank.
    pub(super) refresh_to_activate: Cycle,
    /// Activate of a refreshed bank.
    pub(super) refresh_to_activate_same_bank: Cycle,
    pub(super) refresh_to_refresh: Cycle,
    /// Time from one refresh to the next; 0 is never.
    pub(super) refresh_interval: Cycle,
    /// First clock of a read command to the clock after its data.
    pub(super) read_data: Cycle,
    /// Column commands by direction.
    pub(super) columns: [ColumnTiming; 2],
}

/// What follows from a column command of one direction; pairs are the next read and the next write.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnTiming {
    pub(super) to_precharge: Cycle,
    pub(super) same_group: [Cycle; 2],
    pub(super) same_rank: [Cycle; 2],
    pub(super) other_rank: [Cycle; 2],
}

impl Timing {
    /// # Errors
    /// When a timing is too long or the clock has no period.
    pub(super) fn new(dram: &Dram) -> Result<Self, MachineError> {
        let t = &dram.timing;
        check(t)?;
        let (activate, column, precharge) =
            (t.activate_clocks, t.column_clocks, t.precharge_clocks);
        let gap = |clocks: u32, from: u32, to: u32| Cycle::from((clocks + from).saturating_sub(to));
        let c = Cycle::from;
        let one_bank = dram.refreshes_one_bank();
        let refresh = if one_bank { t.rfc_bank } else { t.rfc };
        let banks_per_rank = dram.bank_groups * dram.banks_per_group;
        let write_data = t.cwl + t.burst;
        let read_to_write = c((t.cl + t.burst + t.turnaround).saturating_sub(t.cwl));
        let (ccd_s, ccd_l) = (c(t.ccd_s.max(t.burst)), c(t.ccd_l.max(t.burst)));
        let other_rank = c(t.burst + t.turnaround);
        Ok(Self {
            activate_to_column: gap(t.rcd, activate, column),
            activate_to_precharge: gap(t.ras, activate, precharge),
            precharge_to_activate: gap(t.rp, precharge, activate),
            precharge_all_to_activate: gap(t.rp_all, precharge, activate),
            precharge_to_refresh: c(t.rp),
            precharge_all_to_refresh: c(t.rp_all),
            precharge_to_precharge: c(t.ppd),
            activate_to_activate: c(t.rrd_s),
            activate_to_activate_same_group: c(t.rrd_l),
            four_activates: c(t.faw),
            activate_to_refresh: gap(t.rrd_s, activate, precharge),
            refresh_to_activate: gap(t.rrd_s, precharge, activate),
            refresh_to_activate_same_bank: gap(refresh, precharge, activate),
            refresh_to_refresh: c(refresh),
            refresh_interval: c(if one_bank {
                t.refi / banks_per_rank
            } else {
                t.refi
            }),
            read_data: c(column - 1 + t.cl + t.burst),
            columns: [
                ColumnTiming {
                    to_precharge: gap(t.rtp, column, precharge),
                    same_group: [ccd_l, read_to_write],
                    same_rank: [ccd_s, read_to_write],
                    other_rank: [other_rank, read_to_write],
                },
                ColumnTiming {
                    to_precharge: gap(write_data + t.wr, column, precharge),
                    same_group: [c(write_data + t.wtr_l), ccd_l],
                    same_rank: [c(write_data + t.wtr_s), ccd_s],
                    other_rank: [
                        c((write_data + t.turnaround).saturating_sub(t.cl)),
                        other_rank,
                    ],
                },
            ],
        })
    }
}

fn check(t: &DramTiming) -> Result<(), MachineError> {
    let longest = [
        t.cl,
        t.cwl,
        t.burst,
        t.rcd,
        t.rp,
        t.rp_all,
        t.ppd,
        t.ras,
        t.rrd_s,
        t.rrd_l,
        t.faw,
        t.ccd_s,
        t.ccd_l,
        t.rtp,
        t.wr,
        t.wtr_s,
        t.wtr_l,
        t.turnaround,
        t.rfc,
        t.rfc_bank,
        t.activate_clocks,
        t.column_clocks,
        t.precharge_clocks,
    ]
    .into_iter()
    .fold(0, u32::max);
    let command_clocks = [t.activate_clocks, t.column_clocks, t.precharge_clocks];
    if longest >= MAX_TIMING || t.clock_ps == 0 || command_clocks.contains(&0) {
        return Err(MachineError::OutOfRange {
            what: "a DRAM timing",
            value: longest.into(),
            expected: "a clock period and command lengths above 0 and every timing below 65536 clocks",
        });
    }
    Ok(())
}
