//! `ringfence bench dram`: bandwidth and latency of a modelled DRAM under a load.

use ringfence_scenario::platform::{AddressMap, Dram, Scheduler};
use ringfence_scenario::{load_dram, load_platform};
use ringfence_sim::bench::{self, DramBench, DramLoad, LoadPattern};
use serde::Serialize;

use super::{gigabytes, requestor_table, speed_text};
use crate::arguments::{BenchDram, MapName, PatternName, SchedulerName};
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};

/// Reads before the ones that are counted, as in the reference load.
const WARM_UP: u64 = 20_000;
/// Row hits that may overtake, as in the keys of a platform.
const HIT_CAP: u32 = 4;
/// Threshold and clearing interval of Subramanian et al., "The blacklisting memory scheduler" (ICCD 2014).
const BLACKLIST: Scheduler = Scheduler::Blacklist {
    streak: 4,
    clear: 10_000,
};

/// The figures and what they are of.
#[derive(Serialize)]
struct Report<'a> {
    pattern: &'a str,
    outstanding: u32,
    write_percent: u32,
    skew_bytes: u64,
    address_map: &'a str,
    scheduler: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hit_cap: Option<u32>,
    channels: u32,
    ranks: u32,
    #[serde(flatten)]
    figures: &'a DramBench,
}

/// Runs the load and prints.
pub fn run(arguments: &BenchDram) -> Result<Outcome, Failure> {
    let dram = dram(arguments)?;
    let load = DramLoad {
        pattern: match arguments.pattern {
            PatternName::Seq => LoadPattern::Sequential,
            PatternName::Rand => LoadPattern::Random,
            PatternName::Mix => LoadPattern::Mixed,
        },
        requestors: arguments.requestors,
        outstanding: arguments.outstanding,
        write_percent: arguments.write_share,
        skew_bytes: arguments.skew,
    };
    let figures = bench::dram(&dram, &load, WARM_UP, arguments.requests)
        .map_err(|error| Failure::Error(error.to_string()))?;
    let report = Report {
        pattern: match arguments.pattern {
            PatternName::Seq => "seq",
            PatternName::Rand => "rand",
            PatternName::Mix => "mix",
        },
        outstanding: load.outstanding,
        write_percent: load.write_percent,
        skew_bytes: load.skew_bytes,
        address_map: map_name(dram.address_map),
        scheduler: scheduler_name(dram.controller.scheduler),
        hit_cap: match dram.controller.scheduler {
            Scheduler::FrFcfsCap { hits } => Some(hits),
            _ => None,
        },
        channels: dram.channels,
        ranks: dram.ranks,
        figures: &figures,
    };
    if arguments.json {
        print_json(&report)?;
    } else {
        print_text(&text(&report))?;
    }
    Ok(Outcome::Pass)
}

/// The memory that is named, with what the flags change in it.
fn dram(arguments: &BenchDram) -> Result<Dram, Failure> {
    let mut dram = match &arguments.platform {
        None => load_dram(&arguments.memory)?,
        Some(name) => match load_platform(name)?.memory {
            Some(memory) => memory.dram,
            None => {
                return Err(Failure::Error(format!(
                    "platform `{name}` has no memory; name one that has, or a memory with --memory"
                )));
            }
        },
    };
    dram.channels = arguments.channels.unwrap_or(dram.channels);
    dram.ranks = arguments.ranks.unwrap_or(dram.ranks);
    if let Some(map) = arguments.map {
        dram.address_map = match map {
            MapName::Column => AddressMap::ColumnGroupBankRow,
            MapName::BankGroup => AddressMap::GroupColumnBankRow,
            MapName::Bank => AddressMap::BankColumnRow,
        };
    }
    if let Some(scheduler) = arguments.scheduler {
        dram.controller.scheduler = match scheduler {
            SchedulerName::FrFcfs => Scheduler::FrFcfs,
            SchedulerName::FrFcfsCap => Scheduler::FrFcfsCap { hits: HIT_CAP },
            SchedulerName::RowHitFirst => Scheduler::RowHitFirst,
            SchedulerName::Blacklist => BLACKLIST,
        };
    }
    match (&mut dram.controller.scheduler, arguments.hit_cap) {
        (Scheduler::FrFcfsCap { hits }, Some(hit_cap)) => *hits = hit_cap,
        (other, Some(_)) => {
            return Err(Failure::Error(format!(
                "--hit-cap is for the scheduler fr-fcfs-cap, but this memory has {}; add --scheduler fr-fcfs-cap",
                scheduler_name(*other)
            )));
        }
        (_, None) => {}
    }
    Ok(dram)
}

fn map_name(map: AddressMap) -> &'static str {
    match map {
        AddressMap::ColumnGroupBankRow => "co_bg_ba_ro",
        AddressMap::GroupColumnBankRow => "bg_co_ba_ro",
        AddressMap::BankColumnRow => "bank_co_ro",
    }
}

fn scheduler_name(scheduler: Scheduler) -> &'static str {
    match scheduler {
        Scheduler::FrFcfs => "fr-fcfs",
        Scheduler::FrFcfsCap { .. } => "fr-fcfs-cap",
        Scheduler::RowHitFirst => "row-hit-first",
        Scheduler::Blacklist { .. } => "blacklist",
    }
}

fn text(report: &Report<'_>) -> String {
    let figures = report.figures;
    let share = |of: f64| figures.achieved_bytes_per_s / of * 100.0;
    let hit_cap = report.hit_cap.map(|hits| format!(" of {hits}"));
    let mut text = format!(
        "{}, channels: {}, ranks: {}, {}, {}{}\n{}, requestors: {}, reads in flight of each: {}, {} % writes, skew {} B\n\n",
        figures.memory,
        report.channels,
        report.ranks,
        report.address_map,
        report.scheduler,
        hit_cap.unwrap_or_default(),
        report.pattern,
        figures.requestors.len(),
        report.outstanding,
        report.write_percent,
        report.skew_bytes,
    );
    text += &format!(
        "reads {}, writes {}, clocks {}, activates {}, refreshes {}\n",
        figures.reads, figures.writes, figures.clocks, figures.activates, figures.refreshes,
    );
    text += &format!(
        "achieved {:.2} GB/s: {:.1} % of the peak {:.2} GB/s, {:.1} % of the analytic cap {:.2} GB/s\n",
        gigabytes(figures.achieved_bytes_per_s),
        share(figures.peak_bytes_per_s),
        gigabytes(figures.peak_bytes_per_s),
        share(figures.cap_bytes_per_s),
        gigabytes(figures.cap_bytes_per_s),
    );
    text += &requestor_table(figures.mean_latency_ns, &figures.requestors);
    text += &speed_text(
        figures.wall_s,
        figures.requests_per_wall_s,
        figures.best_requests_per_wall_s,
        figures.ratio_to_walk,
    );
    text
}
