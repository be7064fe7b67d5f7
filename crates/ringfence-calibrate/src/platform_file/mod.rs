//! The platform file of a machine that was measured, with the source of every figure.

mod derive;
mod dram;

use ringfence_scenario::platform::{Dram, Platform};
use ringfence_scenario::quantity::{BANDWIDTH, SIZE, TIME};
use ringfence_scenario::{Builtin, DRAMS, Diagnostics, parse_dram, parse_platform};

use crate::figures::{Figures, MemoryFigures};
use crate::statistics::Spread;
pub use derive::{CacheGeometry, MemoryModel};

/// Name of the platform in the file.
const NAME: &str = "this-machine";

/// Why no platform file can be written.
#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    /// Nothing gives the clock.
    #[error(
        "the clock of the cores is not known: it is measured on x86-64 and AArch64, and elsewhere \
         taken from cpufreq, which this system does not have"
    )]
    NoClock,
    /// The memory's table, or what came of it.
    #[error("{0}")]
    File(Diagnostics),
    /// The memory's file is no TOML that can be changed.
    #[error("{file}: {error}")]
    Memory {
        /// The file.
        file: String,
        /// What is wrong.
        error: String,
    },
    /// The latency that the model gives.
    #[error("the latency of the modelled memory: {0}")]
    Model(String),
}

/// A table of a memory family, which nothing measures.
#[derive(Debug, Clone)]
pub struct Family {
    /// Text of the file.
    pub source: String,
    /// Its name in messages and comments.
    pub name: String,
}

impl Family {
    /// The built-in family of this name.
    pub fn built_in(name: &str) -> Option<Self> {
        let found: &Builtin = DRAMS.iter().find(|family| family.name == name)?;
        Some(Self {
            source: found.source.to_owned(),
            name: found.name.to_owned(),
        })
    }

    fn dram(&self) -> Result<Dram, PlatformError> {
        parse_dram(&self.source, &self.name).map_err(PlatformError::File)
    }
}

/// Writes the platform file and checks it.
///
/// `chase_ns` gives the nanoseconds that a pointer chase through memory takes on a modelled
/// platform: what the measured one takes longer is the link between cache and memory.
/// `channels` replaces the number that is derived.
///
/// # Errors
/// When a figure that nothing can replace is missing, or the family is no memory.
pub fn write(
    figures: &Figures,
    family: &Family,
    channels: Option<u32>,
    chase_ns: impl FnOnce(&Platform) -> Result<f64, String>,
) -> Result<String, PlatformError> {
    let clock = figures.clock_hz.ok_or(PlatformError::NoClock)?;
    let head = head(figures, &clock);
    let Some(memory) = &figures.memory else {
        parse_platform(&head, NAME).map_err(PlatformError::File)?;
        return Ok(head);
    };
    let cpus = figures.inventory.cpus.len() as u32;
    let model = MemoryModel::derive(memory, clock.median, cpus, figures.architecture);
    let device = dram::Device::derive(memory, &family.dram()?, figures, channels);
    let text = |link_ps: u64, link_note: &str| -> Result<String, PlatformError> {
        let dram = dram::table(family, &device, link_ps, link_note)?;
        Ok(format!("{head}{}\n{dram}", tables(memory, &model, cpus)))
    };
    let without_link = text(0, "")?;
    let platform = parse_platform(&without_link, NAME).map_err(PlatformError::File)?;
    let modelled_ns = chase_ns(&platform).map_err(PlatformError::Model)?;
    let measured_ns = memory.latency_ns.dram.median;
    let link_ps = ((measured_ns - modelled_ns).max(0.0) * 1000.0).round() as u64;
    let note = format!(
        "measured idle latency {measured_ns:.1} ns, less {modelled_ns:.1} ns of the model without a link"
    );
    let file = text(link_ps, &note)?;
    parse_platform(&file, NAME).map_err(PlatformError::File)?;
    Ok(file)
}

/// A measurement as a comment says it.
fn seen(spread: &Spread, unit: &str) -> String {
    format!(
        "measured: {:.2} {unit}, {:.2} to {:.2} in {}",
        spread.median, spread.least, spread.most, spread.count
    )
}

/// Everything before `[memory]`.
fn head(figures: &Figures, clock: &Spread) -> String {
    let kind = match figures.inventory.is_virtual {
        true => "virtual machine",
        false => "machine",
    };
    let cores = figures.inventory.cpus.len();
    let mut text = format!(
        "# Written by `ringfence calibrate` on the machine that it describes.\n\
         #\n\
         # Every figure has its source beside it: measured alone on the machine, with the\n\
         # median and the range of the repetitions; what the system says (sysfs, procfs);\n\
         # derived from those, with the rule; or assumed. The device in [memory.dram] is of a\n\
         # family that was chosen, not measured. No figure comes from programs that run side\n\
         # by side but for the numbers of channels and banks, which come from one and the\n\
         # same walk on every core.\n"
    );
    for warning in &figures.warnings {
        text += &wrapped(warning);
    }
    let switch = &figures.os.context_switch_ns;
    let interrupt = figures.os.interrupt_ns.as_ref();
    let interrupt_ns = interrupt.map_or(2000, |spread| at_least_one(spread.median));
    let interrupt_source = match interrupt {
        Some(spread) => seen(&spread.map(|ns| ns / 1000.0), "us lost by a running thread"),
        None => "assumed: the order of magnitude; no rhythm of ticks was found".into(),
    };
    let (tick_ns, tick_source) = match figures.os.tick_ns {
        Some(tick_ns) => (tick_ns, "measured: the rhythm of interruptions"),
        None => (
            4_000_000,
            "assumed: 250 Hz, Linux's default; no rhythm was found",
        ),
    };
    let clock_mhz = (clock.median / 1e6).round();
    text += &format!(
        "\nname = \"{NAME}\"\n\
         description = \"{arch} {kind}: {cores} cores at {clock_mhz} MHz{caches}\"\n\
         cores = {cores} # those that this process may use, one thread of each\n\
         frequency = \"{clock_mhz} MHz\" # {clock_source}\n\
         \n[os]\n\
         context_switch = \"{switch_ns}\" # {switch_source}\n\
         interrupt = \"{interrupt}\" # {interrupt_source}\n\
         reschedule_latency = \"{latency}\" # assumed: half of `interrupt`\n\
         tick = \"{tick}\" # {tick_source}\n",
        arch = figures.architecture,
        caches = figures
            .memory
            .as_ref()
            .map_or_else(String::new, |memory| format!(
                ", {} private and {} shared cache",
                SIZE.format(memory.private.size_bytes),
                SIZE.format(memory.llc.size_bytes)
            )),
        clock_source = match clock.count {
            1 => "sysfs: cpuinfo_max_freq".to_owned(),
            _ => format!(
                "{}; a chain of additions",
                seen(&clock.map(|hz| hz / 1e9), "GHz")
            ),
        },
        switch_ns = TIME.format(at_least_one(switch.median)),
        switch_source = format!(
            "{}; two threads over pipes, less what the pipes take",
            seen(&switch.map(|ns| ns / 1000.0), "us")
        ),
        interrupt = TIME.format(interrupt_ns),
        latency = TIME.format((interrupt_ns / 2).max(1)),
        tick = TIME.format(tick_ns),
    );
    text
}

/// `[memory]` up to `[memory.dram]`.
fn tables(memory: &MemoryFigures, model: &MemoryModel, cpus: u32) -> String {
    let MemoryFigures {
        latency_ns, llc, ..
    } = memory;
    let placement = match memory.in_huge_pages {
        true => {
            "page_placement = \"sequential\" # measured: the walks lay in huge pages, so neighbouring pages are neighbours\n"
        }
        false => "page_placement = \"random\" # the walks lay in small pages\n",
    };
    let mut text = format!(
        "\n[memory]\nline = \"{line} B\" # sysfs\n{placement}\n\
         [memory.core]\n\
         issue_cycles = {issue} # {read} for a line of the private cache\n\
         cycles_per_instruction_milli = {cpi} # assumed: {cpi_note}\n\
         outstanding_misses = {misses} # derived by Little's law: memory latency over the best time of an access along lists; {knee} lists come within 5 % of it\n\
         store_buffer = {stores} # derived by Little's law: memory latency over {store} for a store in scattered order\n\
         reorder_window = {window} # assumed; take it out for a core that works in program order\n",
        line = memory.line_bytes,
        issue = model.issue_cycles,
        read = seen(&memory.read_ns.private, "ns"),
        cpi = model.cycles_per_instruction_milli,
        cpi_note = match model.cycles_per_instruction_milli {
            250 => "four instructions a cycle",
            _ => "two instructions a cycle",
        },
        misses = model.outstanding_misses,
        knee = model.knee_lists,
        stores = model.store_buffer,
        store = seen(&memory.scattered_store_ns, "ns"),
        window = model.reorder_window,
    );
    if let Some(prefetches) = model.prefetches {
        text += &format!(
            "\n[memory.core.prefetcher]\n\
             streams = 16 # assumed\n\
             distance_lines = {prefetches} # derived: as many as may be outstanding\n\
             outstanding = {prefetches} # derived by Little's law: memory latency over {read} for a line in order, less `outstanding_misses`\n\
             fills = \"l1\" # the model's first level is the cache that is private here\n",
            read = seen(&memory.read_ns.dram, "ns"),
        );
    }
    let inner: &str = match memory.private.level {
        1 => "",
        _ => {
            "# The machine has smaller caches inside this one. The model has one private level, and what\n\
             # contends is outside it, so this is the last one that is private: programs that fit a\n\
             # smaller one run too slowly here.\n"
        }
    };
    text += &format!(
        "\n{inner}[memory.l1]\n\
         size = \"{size}\" # sysfs: level {level}{changed}\n\
         ways = {ways} # sysfs\n\
         latency_cycles = {cycles} # {latency}\n",
        size = SIZE.format(model.private.size_bytes),
        level = memory.private.level,
        changed = model.private.note(&memory.private),
        ways = model.private.ways,
        cycles = model.private_cycles,
        latency = seen(&latency_ns.private, "ns"),
    );
    let shared = memory
        .sharing
        .iter()
        .filter(|found| found.is_shared)
        .count();
    let sharing = match memory.sharing.len() {
        0 => "only one core was there to use it".to_owned(),
        others => format!(
            "{shared} of {others} other cores found to share it with the first, of {cpus} in all"
        ),
    };
    let bits: Vec<String> = (0..model.banks.ilog2())
        .map(|bank| format!("[{}]", memory.line_bytes.ilog2() + bank))
        .collect();
    text += &format!(
        "\n# {sharing}.\n[memory.llc]\n\
         size = \"{size}\" # {source}{changed}\n\
         ways = {ways} # sysfs says {stated}; the model wants a power of two of sets\n\
         latency_cycles = {cycles} # {latency}\n\
         bank_functions = [{bits}] # derived: {rule}\n\
         bank_service_cycles = {service} # assumed\n\
         mshrs = {mshrs} # assumed: every request that the cores may have outstanding\n\
         replacement = \"lru\" # assumed\n",
        size = SIZE.format(model.llc.size_bytes),
        source = match model.llc_is_seen {
            true => format!(
                "measured: a chase finds no more than {}; sysfs: level {}, {}",
                SIZE.format(memory.llc_seen_bytes),
                llc.level,
                SIZE.format(llc.size_bytes)
            ),
            false => format!("sysfs: level {}", llc.level),
        },
        changed = match model.llc_is_seen {
            true => String::new(),
            false => model.llc.note(llc),
        },
        ways = model.llc.ways,
        stated = llc.ways,
        cycles = model.llc_cycles,
        latency = seen(&latency_ns.llc, "ns"),
        bits = bits.join(", "),
        rule = derive::BANK_RULE,
        service = derive::BANK_SERVICE_CYCLES,
        mshrs = model.llc_mshrs,
    );
    for (what, rates) in [
        ("reading", memory.all_read_bytes_per_s),
        ("writing", memory.all_write_bytes_per_s),
    ] {
        if let Some(rates) = rates {
            text += &format!(
                "# All cores {what}: {} from here, {} from memory.\n",
                rate(rates.llc),
                rate(rates.dram)
            );
        }
    }
    text
}

/// A bandwidth as a comment says it.
fn rate(bytes_per_s: f64) -> String {
    BANDWIDTH.format((bytes_per_s / 1e8).round() as u64 * 100_000_000)
}

fn at_least_one(ns: f64) -> u64 {
    ns.round().max(1.0) as u64
}

/// A sentence as comment lines.
fn wrapped(sentence: &str) -> String {
    let mut text = String::from("#\n#");
    let mut width = 1;
    for word in sentence.split_whitespace() {
        if width + word.len() > 88 {
            text += "\n#";
            width = 1;
        }
        text += &format!(" {word}");
        width += 1 + word.len();
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
