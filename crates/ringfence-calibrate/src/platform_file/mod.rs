//! The platform file of a machine that was measured, with the source of every figure.

mod derive;
mod dram;
mod text;

use ringfence_scenario::platform::{Dram, Platform};
use ringfence_scenario::{Builtin, DRAMS, Diagnostics, parse_dram, parse_platform};

use crate::figures::Figures;
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
    let cycle_ns = figures.cycle_ns.ok_or(PlatformError::NoClock)?;
    let head = text::head(figures, &cycle_ns);
    let Some(memory) = &figures.memory else {
        parse_platform(&head, NAME).map_err(PlatformError::File)?;
        return Ok(head);
    };
    let cpus = figures.inventory.cpus.len() as u32;
    let model = MemoryModel::derive(
        memory,
        1e9 / cycle_ns.undisturbed(),
        cpus,
        figures.architecture,
    );
    let device = dram::Device::derive(memory, &family.dram()?, figures, channels);
    let whole = |link_ps: u64, link_note: &str| -> Result<String, PlatformError> {
        let dram = dram::table(family, &device, link_ps, link_note)?;
        let (core, caches) = (text::core(memory, &model), text::caches(memory, &model));
        Ok(format!("{head}{core}{caches}{dram}"))
    };
    let without_link = whole(0, "")?;
    let platform = parse_platform(&without_link, NAME).map_err(PlatformError::File)?;
    let modelled_ns = chase_ns(&platform).map_err(PlatformError::Model)?;
    let measured_ns = memory.latency_ns.dram.undisturbed();
    let link_ps = ((measured_ns - modelled_ns).max(0.0) * 1000.0).round() as u64;
    let note = format!(
        "measured {measured_ns:.1} ns, less {modelled_ns:.1} ns of the model without a link"
    );
    let file = whole(link_ps, &note)?;
    parse_platform(&file, NAME).map_err(PlatformError::File)?;
    Ok(file)
}

#[cfg(test)]
mod tests;
