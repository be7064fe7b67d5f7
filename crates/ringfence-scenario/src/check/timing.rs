//! DRAM timings in clocks, and whether they can be true together.

use crate::diagnostic::Problems;
use crate::file::Located;
use crate::file::platform::{Clocks, DramTable, RefreshMode, TimingTable};
use crate::file::value::Count;
use crate::platform::DramTiming;

const PICOSECONDS_PER_SECOND: u64 = 1_000_000_000_000;

/// Converts the timings of `dram` into clocks and reports contradictions.
pub(super) fn timing(dram: &DramTable, problems: &mut Problems) -> DramTiming {
    let clock_hz = dram.clock.value.0;
    let table = &dram.timing.value;
    let up = |clocks: &Located<Clocks>| in_clocks(clocks.value, clock_hz, true);
    let or = |clocks: &Option<Located<Clocks>>, default: &Located<Clocks>| {
        up(clocks.as_ref().unwrap_or(default))
    };
    let timing = DramTiming {
        clock_ps: ((PICOSECONDS_PER_SECOND + clock_hz / 2) / clock_hz) as u32,
        cl: up(&table.cl),
        cwl: up(&table.cwl),
        burst: (dram.burst_length.value.0 / 2) as u32,
        rcd: up(&table.rcd),
        rp: up(&table.rp),
        rp_all: or(&table.rp_all, &table.rp),
        ppd: table.ppd.as_ref().map_or(1, up),
        ras: up(&table.ras),
        rrd_s: up(&table.rrd_s),
        rrd_l: or(&table.rrd_l, &table.rrd_s),
        faw: up(&table.faw),
        ccd_s: up(&table.ccd_s),
        ccd_l: or(&table.ccd_l, &table.ccd_s),
        rtp: up(&table.rtp),
        wr: up(&table.wr),
        wtr_s: up(&table.wtr_s),
        wtr_l: or(&table.wtr_l, &table.wtr_s),
        turnaround: up(&table.turnaround),
        rfc: up(&table.rfc),
        rfc_bank: table.rfc_bank.as_ref().map_or(0, up),
        activate_clocks: command_clocks(&table.activate_clocks),
        column_clocks: command_clocks(&table.column_clocks),
        precharge_clocks: command_clocks(&table.precharge_clocks),
        refi: in_clocks(table.refi.value, clock_hz, false),
    };
    check(table, &timing, problems);
    if dram.refresh.as_ref().is_some_and(is_per_bank) {
        check_per_bank(dram, &timing, problems);
    }
    timing
}

fn command_clocks(clocks: &Option<Located<Count<1, 16>>>) -> u32 {
    clocks.as_ref().map_or(1, |clocks| clocks.value.0 as u32)
}

fn is_per_bank(refresh: &Located<RefreshMode>) -> bool {
    refresh.value == RefreshMode::PerBank
}

/// Banks are refreshed one after the other, each before the next is due.
fn check_per_bank(dram: &DramTable, timing: &DramTiming, problems: &mut Problems) {
    let table = &dram.timing;
    let Some(field) = &table.value.rfc_bank else {
        problems.report(
            table.span,
            "no key `rfc_bank` here",
            "`rfc_bank`, the refresh cycle of one bank: `refresh` is `per-bank`",
        );
        return;
    };
    let groups = dram.bank_groups.as_ref().map_or(1, |count| count.value.0);
    let banks = (groups * dram.banks_per_group.value.0) as u32;
    let least = timing.rfc_bank.saturating_add(timing.rp).saturating_add(1);
    if timing.refi != 0 && timing.refi / banks < least {
        problems.report(
            field.span,
            clocks(timing.rfc_bank),
            format!(
                "at most `refi` / {banks} banks, {}, less `rp` and a clock: banks are refreshed in turn",
                clocks(timing.refi / banks)
            ),
        );
    }
}

/// A timing in whole clocks; a time is rounded up, or down where it is a longest time.
fn in_clocks(clocks: Clocks, clock_hz: u64, round_up: bool) -> u32 {
    let picoseconds = match clocks {
        Clocks::Clocks(count) => return count,
        Clocks::Picoseconds(picoseconds) => picoseconds,
    };
    let product = u128::from(picoseconds) * u128::from(clock_hz);
    let second = u128::from(PICOSECONDS_PER_SECOND);
    let count = if round_up {
        product.div_ceil(second)
    } else {
        product / second
    };
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn check(table: &TimingTable, timing: &DramTiming, problems: &mut Problems) {
    let mut at_least = |field: &Located<Clocks>, value: u32, least: u32, why: &str| {
        if value < least {
            problems.report(
                field.span,
                clocks(value),
                format!("at least {}{why}", clocks(least)),
            );
        }
    };
    for (field, value) in [
        (&table.cl, timing.cl),
        (&table.cwl, timing.cwl),
        (&table.rcd, timing.rcd),
        (&table.rp, timing.rp),
        (&table.rtp, timing.rtp),
        (&table.wr, timing.wr),
        (&table.rrd_s, timing.rrd_s),
    ] {
        at_least(field, value, 1, "");
    }
    at_least(
        &table.ras,
        timing.ras,
        timing.rcd,
        ", `rcd`: a row stays open until its column is read",
    );
    at_least(&table.faw, timing.faw, timing.rrd_s, ", `rrd_s`");
    at_least(
        &table.ccd_s,
        timing.ccd_s,
        timing.burst,
        ": bursts do not overlap on the data bus",
    );
    for (field, value, least, why) in [
        (&table.rp_all, timing.rp_all, timing.rp, ", `rp`"),
        (&table.ppd, timing.ppd, 1, ""),
        (&table.rrd_l, timing.rrd_l, timing.rrd_s, ", `rrd_s`"),
        (&table.ccd_l, timing.ccd_l, timing.ccd_s, ", `ccd_s`"),
        (&table.wtr_l, timing.wtr_l, timing.wtr_s, ", `wtr_s`"),
    ] {
        if let Some(field) = field {
            at_least(field, value, least, why);
        }
    }
    if timing.refi != 0 {
        let least = timing.rfc.saturating_add(timing.rp).saturating_add(1);
        at_least(
            &table.refi,
            timing.refi,
            least,
            ": a refresh and the precharge before it must fit between refreshes",
        );
    }
}

fn clocks(count: u32) -> String {
    match count {
        1 => "1 clock".to_owned(),
        _ => format!("{count} clocks"),
    }
}
