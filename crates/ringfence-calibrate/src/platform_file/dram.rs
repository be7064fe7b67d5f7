//! `[memory.dram]`: a family's table, with the channels, ranks, rows and link of the machine.

use ringfence_scenario::platform::Dram;
use toml_edit::{DocumentMut, Item, Table, Value};

use super::derive::{needed, units};
use super::{Family, PlatformError};
use crate::figures::{Figures, MemoryFigures};

const CHANNELS_MAX: u32 = 16;
const RANKS_MAX: u32 = 4;
const BANKS_MAX: u32 = 64;
const ROWS_MAX: u32 = 1 << 20;

/// How many of what there are.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    channels: u32,
    channels_note: String,
    ranks: u32,
    rows: u32,
}

impl Device {
    /// Channels from bandwidths, ranks and rows from the size of the memory.
    pub fn derive(
        memory: &MemoryFigures,
        family: &Dram,
        figures: &Figures,
        channels: Option<u32>,
    ) -> Self {
        let cpus = figures.inventory.cpus.len() as u32;
        let line = memory.line_bytes as f64;
        let one = |ns: f64| line / ns * 1e9;
        let all = |rates: Option<crate::figures::Levels<f64>>| rates.map(|rates| rates.dram);
        let reads = needed(
            one(memory.read_ns.dram.undisturbed()),
            all(memory.all_read_bytes_per_s),
            cpus,
        );
        let writes = needed(
            one(memory.write_ns.dram.undisturbed()),
            all(memory.all_write_bytes_per_s),
            cpus,
        );
        let channel = family.peak_bytes_per_second() as f64 / f64::from(family.channels);
        // A line that is written comes and goes.
        let derived = units(reads.max(2.0 * writes), channel, CHANNELS_MAX);
        let mut device = Self {
            channels: channels.unwrap_or(derived),
            channels_note: match channels {
                Some(_) => "stated with --channels".into(),
                None => "[SCALE] no system says how many there are".into(),
            },
            ranks: 1,
            rows: family.rows,
        };
        let banks = family.bank_groups * family.banks_per_group;
        let bytes = |device: &Self| {
            [
                device.channels,
                device.ranks,
                banks,
                device.rows,
                family.row_bytes,
            ]
            .into_iter()
            .map(u128::from)
            .product::<u128>()
        };
        let wanted = u128::from(figures.inventory.memory_bytes.unwrap_or(0))
            .max(u128::from(memory.arrays.dram) * u128::from(cpus) * 2);
        while bytes(&device) < wanted
            && device.ranks < RANKS_MAX
            && device.ranks * 2 * banks <= BANKS_MAX
        {
            device.ranks *= 2;
        }
        while bytes(&device) < wanted && device.rows < ROWS_MAX {
            device.rows *= 2;
        }
        device
    }
}

/// The text of the tables from `[memory.dram]` on.
pub fn table(
    family: &Family,
    device: &Device,
    link_ps: u64,
    link_note: &str,
) -> Result<String, PlatformError> {
    let refused = |error: String| PlatformError::Memory {
        file: family.name.clone(),
        error,
    };
    let source: DocumentMut = family
        .source
        .parse()
        .map_err(|error: toml_edit::TomlError| refused(error.to_string()))?;
    let mut dram = source.as_table().clone();
    // It would contradict another number of channels.
    dram.remove("peak_bandwidth");
    let set = |table: &mut Table, key: &str, value: Value, note: &str| {
        table.insert(key, Item::Value(value.decorated(" ", format!(" # {note}"))));
    };
    let memory_note = "as many as the size of the memory needs";
    set(
        &mut dram,
        "channels",
        i64::from(device.channels).into(),
        &device.channels_note,
    );
    set(
        &mut dram,
        "ranks",
        i64::from(device.ranks).into(),
        memory_note,
    );
    set(
        &mut dram,
        "rows",
        i64::from(device.rows).into(),
        memory_note,
    );
    let controller = dram.get_mut("controller").and_then(Item::as_table_mut);
    let controller = controller.ok_or_else(|| refused("no table [controller]".into()))?;
    let link = format!("{}.{:03} ns", link_ps / 1000, link_ps % 1000);
    set(controller, "link", link.into(), link_note);
    let mut memory = Table::new();
    memory.set_implicit(true);
    memory.insert("dram", Item::Table(dram));
    let mut document = DocumentMut::new();
    document.insert("memory", Item::Table(memory));
    Ok(format!(
        "\n# The family {} was chosen with --memory and is not measured.\n{document}",
        family.name
    ))
}
