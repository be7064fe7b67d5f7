//! Main memory: powers of two, banks that can all be reached, settings that belong together.

use super::platform::u32_of;
use super::timing::timing;
use crate::diagnostic::Problems;
use crate::file::Located;
use crate::file::platform::{ControllerTable, DramTable};
use crate::file::value::{Count, Size};
use crate::platform::{Dram, DramController, RefreshMode, Scheduler};
use crate::quantity::{BANDWIDTH, SIZE};

/// Rows stay in 32 bits with room for arithmetic.
const ROW_BYTES_MAX: u64 = 1 << 30;
/// Banks of all ranks of a channel: the simulated controller keeps a bit for each in 64 bits.
const DRAM_BANKS_MAX: u64 = 64;
/// 48 bits of physical address.
const DRAM_BYTES_MAX: u128 = 1 << 48;

/// Checks `[memory.dram]` for cache lines of `line_bytes`.
pub(crate) fn dram(table: &Located<DramTable>, line_bytes: u64, problems: &mut Problems) -> Dram {
    let dram = &table.value;
    for (count, what) in [
        (located(&dram.channels), "channels"),
        (located(&dram.ranks), "ranks"),
        (located(&dram.banks_per_group), "banks per group"),
        (located(&dram.rows), "rows"),
        (located(&dram.channel_bits), "bits of a channel"),
        (located(&dram.burst_length), "transfers of a burst"),
        (located_size(&dram.row), "bytes of a row"),
    ]
    .into_iter()
    .chain(dram.bank_groups.iter().map(|n| (located(n), "bank groups")))
    {
        refuse_uneven(&count, what, problems);
    }
    let burst_bytes = dram.channel_bits.value.0 / 8 * dram.burst_length.value.0;
    check_burst(dram, burst_bytes, line_bytes, problems);
    check_peak_bandwidth(dram, problems);
    check_banks(dram, problems);
    let model = Dram {
        name: dram.name.value.0.clone(),
        channels: u32_of(&dram.channels),
        ranks: u32_of(&dram.ranks),
        bank_groups: dram.bank_groups.as_ref().map_or(1, u32_of),
        banks_per_group: u32_of(&dram.banks_per_group),
        row_bytes: dram.row.value.0.min(ROW_BYTES_MAX) as u32,
        rows: u32_of(&dram.rows),
        burst_bytes: burst_bytes as u32,
        address_map: dram.address_map.value.into(),
        bank_xor: dram.bank_xor.iter().map(|mask| mask.value.0).collect(),
        refresh: dram
            .refresh
            .as_ref()
            .map_or(RefreshMode::AllBanks, |refresh| refresh.value.into()),
        timing: timing(dram, problems),
        controller: controller(&dram.controller.value, problems),
    };
    check_bank_xor(dram, &model, line_bytes, problems);
    if model.capacity_wide() > DRAM_BYTES_MAX {
        problems.report(
            dram.rows.span,
            format!("{} bytes of memory", model.capacity_wide()),
            "at most 256 TiB: channels × ranks × banks × rows × bytes of a row",
        );
    }
    model
}

fn check_burst(dram: &DramTable, burst_bytes: u64, line_bytes: u64, problems: &mut Problems) {
    if burst_bytes > line_bytes {
        problems.report(
            dram.burst_length.span,
            format!("a burst of {}", SIZE.format(burst_bytes)),
            format!("at most a cache line of {}", SIZE.format(line_bytes)),
        );
    }
    if dram.row.value.0 < line_bytes || dram.row.value.0 > ROW_BYTES_MAX {
        problems.report(
            dram.row.span,
            format!("a row of {}", SIZE.format(dram.row.value.0)),
            "a cache line to 1 GiB",
        );
    }
}

fn check_banks(dram: &DramTable, problems: &mut Problems) {
    let groups = dram.bank_groups.as_ref().map_or(1, |count| count.value.0);
    let banks = dram.ranks.value.0 * groups * dram.banks_per_group.value.0;
    if banks > DRAM_BANKS_MAX {
        problems.report(
            dram.banks_per_group.span,
            format!("{banks} banks in a channel"),
            format!("at most {DRAM_BANKS_MAX}: ranks × bank groups × banks per group"),
        );
    }
}

fn check_peak_bandwidth(dram: &DramTable, problems: &mut Problems) {
    let Some(stated) = &dram.peak_bandwidth else {
        return;
    };
    let bytes_per_clock = dram.channels.value.0 * (dram.channel_bits.value.0 / 8) * 2;
    let peak = bytes_per_clock.saturating_mul(dram.clock.value.0);
    if stated.value.0 != peak {
        problems.report(
            stated.span,
            format!("a peak bandwidth of {}", BANDWIDTH.format(stated.value.0)),
            format!(
                "{}: channels × bytes of a channel × 2 × clock",
                BANDWIDTH.format(peak)
            ),
        );
    }
}

fn controller(table: &ControllerTable, problems: &mut Problems) -> DramController {
    if table.write_high.value.0 > table.write_queue.value.0 {
        problems.report(
            table.write_high.span,
            format!("a drain at {} waiting writes", table.write_high.value.0),
            format!("at most the write queue's {}", table.write_queue.value.0),
        );
    }
    if table.write_low.value.0 >= table.write_high.value.0 {
        problems.report(
            table.write_low.span,
            format!("a drain down to {} writes", table.write_low.value.0),
            format!("less than `write_high`, {}", table.write_high.value.0),
        );
    }
    DramController {
        scheduler: scheduler(table, problems),
        read_queue: u32_of(&table.read_queue),
        write_queue: u32_of(&table.write_queue),
        write_high: u32_of(&table.write_high),
        write_low: u32_of(&table.write_low),
        link_ps: table.link.value.0.min(u64::from(u32::MAX)) as u32,
    }
}

/// The scheduler with its settings; one that belongs to another scheduler is refused.
fn scheduler(table: &ControllerTable, problems: &mut Problems) -> Scheduler {
    let named = table
        .scheduler
        .as_ref()
        .map_or(Scheduler::FrFcfs, |word| word.value.into());
    let is_cap = matches!(named, Scheduler::FrFcfsCap { .. });
    let is_blacklist = matches!(named, Scheduler::Blacklist { .. });
    let settings = [
        (table.hit_cap.as_ref().map(located), is_cap, "fr-fcfs-cap"),
        (
            table.blacklist_after.as_ref().map(located),
            is_blacklist,
            "blacklist",
        ),
        (
            table.blacklist_clear.as_ref().map(located),
            is_blacklist,
            "blacklist",
        ),
    ];
    for (setting, belongs, owner) in &settings {
        if let (Some(setting), false) = (setting, belongs) {
            problems.report(
                setting.span,
                "a setting of another scheduler",
                format!("this key only with `scheduler = \"{owner}\"`"),
            );
        }
    }
    let [cap, after, clear] = settings.map(|(setting, ..)| setting.map(|count| count.value as u32));
    match named {
        Scheduler::FrFcfsCap { hits } => Scheduler::FrFcfsCap {
            hits: cap.unwrap_or(hits),
        },
        Scheduler::Blacklist {
            streak,
            clear: every,
        } => Scheduler::Blacklist {
            streak: after.unwrap_or(streak),
            clear: clear.unwrap_or(every),
        },
        other => other,
    }
}

/// A function flips a bit of the bank's number by bits that are not of the
/// bank's number: so that every place still has one address.
fn check_bank_xor(dram: &DramTable, model: &Dram, line_bytes: u64, problems: &mut Problems) {
    let bank_bits = model.bank_address_bits(line_bytes.clamp(1, 1 << 16) as u32);
    if let Some(function) = dram.bank_xor.get(bank_bits.len()) {
        problems.report(
            function.span,
            format!("{} functions", dram.bank_xor.len()),
            format!(
                "at most {}, one for each bit of the bank's number",
                bank_bits.len()
            ),
        );
    }
    for function in &dram.bank_xor {
        let of_line = (0..line_bytes.max(1).ilog2()).find(|bit| function.value.0 >> bit & 1 != 0);
        let of_bank = bank_bits
            .iter()
            .copied()
            .find(|bit| function.value.0 >> bit & 1 != 0);
        if let Some(bit) = of_line {
            problems.report(
                function.span,
                format!("address bit {bit}, which is within a cache line"),
                "bits that tell lines apart",
            );
        } else if let Some(bit) = of_bank {
            problems.report(
                function.span,
                format!("address bit {bit}, which is itself a bit of the bank's number"),
                "bits of the row, column or channel",
            );
        }
    }
}

fn refuse_uneven(count: &Located<u64>, what: &str, problems: &mut Problems) {
    if !count.value.is_power_of_two() {
        problems.report(
            count.span,
            format!("{} {what}", count.value),
            "a power of two",
        );
    }
}

fn located<const MIN: u64, const MAX: u64>(count: &Located<Count<MIN, MAX>>) -> Located<u64> {
    Located {
        value: count.value.0,
        span: count.span,
    }
}

fn located_size(size: &Located<Size>) -> Located<u64> {
    Located {
        value: size.value.0,
        span: size.span,
    }
}
