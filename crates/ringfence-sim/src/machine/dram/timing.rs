//! What the device's timings mean for pairs of commands.

use ringfence_scenario::platform::{Dram, DramTiming};

use super::command::Cycle;
use crate::machine::error::MachineError;

/// Longest timing in clocks.
const MAX_TIMING: u32 = 1 << 16;

/// Timings in clocks, with the spacings that follow from them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    pub(super) rcd: Cycle,
    pub(super) rp: Cycle,
    pub(super) ras: Cycle,
    pub(super) rrd_s: Cycle,
    pub(super) rrd_l: Cycle,
    pub(super) faw: Cycle,
    pub(super) ccd_s: Cycle,
    pub(super) ccd_l: Cycle,
    pub(super) rtp: Cycle,
    pub(super) rfc: Cycle,
    pub(super) refi: Cycle,
    /// Read command to the clock after its data.
    pub(super) read_data: Cycle,
    pub(super) write_recovery: Cycle,
    pub(super) wtr_s: Cycle,
    pub(super) wtr_l: Cycle,
    /// Read command to write command on the same data bus.
    pub(super) read_to_write: Cycle,
    /// Column command to one of the same kind for another rank.
    pub(super) other_rank: Cycle,
    /// Write command to a read command for another rank.
    pub(super) write_to_read_other_rank: Cycle,
}

impl Timing {
    /// # Errors
    /// When a timing is too long or the clock has no period.
    pub(super) fn new(dram: &Dram) -> Result<Self, MachineError> {
        check(&dram.timing)?;
        let t = dram.timing;
        let c = Cycle::from;
        let read_data = c(t.cl) + c(t.burst);
        let write_data = c(t.cwl) + c(t.burst);
        Ok(Self {
            rcd: c(t.rcd),
            rp: c(t.rp),
            ras: c(t.ras),
            rrd_s: c(t.rrd_s),
            rrd_l: c(t.rrd_l),
            faw: c(t.faw),
            ccd_s: c(t.ccd_s.max(t.burst)),
            ccd_l: c(t.ccd_l.max(t.burst)),
            rtp: c(t.rtp),
            rfc: c(t.rfc),
            refi: c(t.refi),
            read_data,
            write_recovery: write_data + c(t.wr),
            wtr_s: write_data + c(t.wtr_s),
            wtr_l: write_data + c(t.wtr_l),
            read_to_write: (read_data + c(t.turnaround)).saturating_sub(c(t.cwl)),
            other_rank: c(t.burst) + c(t.turnaround),
            write_to_read_other_rank: (write_data + c(t.turnaround)).saturating_sub(c(t.cl)),
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
    ]
    .into_iter()
    .fold(0, u32::max);
    if longest >= MAX_TIMING || t.clock_ps == 0 {
        return Err(MachineError::OutOfRange {
            what: "a DRAM timing",
            value: longest.into(),
            expected: "a clock period above 0 and every timing below 65536 clocks",
        });
    }
    Ok(())
}
