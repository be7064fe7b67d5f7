//! The command line, and the aggressor that it asks for.

use std::path::Path;

use clap::{Parser, ValueEnum};
use ringfence_scenario::quantity::{BANDWIDTH, Dimension, SIZE, parse_command_line_time};
use ringfence_workloads::aggressor::{Access, Bank, Kind, Name, Shape, parse_function};
use ringfence_workloads::cpu;
use ringfence_workloads::inventory::Inventory;

/// Walks an array in each of some threads, one access a cache line, and prints what it took.
#[derive(Debug, Parser)]
#[command(name = "aggressor", version)]
pub struct Arguments {
    /// What papers call it, with sizes from this machine's caches: Bw, PLL or BkPLL, then
    /// Read or Write, then (LLC) or (DRAM), such as `BwWrite(LLC)`
    #[arg(conflicts_with_all = ["kind", "access"])]
    pub name: Option<Name>,
    /// How the array is walked
    #[arg(long, value_enum, default_value = "bandwidth")]
    pub kind: KindName,
    /// Loads or stores
    #[arg(long, value_enum, default_value = "read")]
    pub access: AccessName,
    /// Bytes of the array of each thread, such as 16MiB [default: 16 MiB, or what the name says]
    #[arg(long, value_parser = size)]
    pub size: Option<u64>,
    /// Lists that a thread walks in turn: its misses under way [default: 1, or 6 with a name]
    #[arg(long, value_name = "N")]
    pub lists: Option<usize>,
    /// Only places in this bank of a cache
    #[arg(long, value_name = "N")]
    pub bank: Option<u64>,
    /// How addresses select the bank: for each bit of its number, the lowest first, the
    /// address bits whose parity it is, as a mask such as 0x2040 or a list such as 6^13
    #[arg(long, value_name = "FUNCTIONS", value_delimiter = ',', value_parser = function, requires = "bank")]
    pub bank_functions: Vec<u64>,
    /// The same where the bank's number stands in the address itself: its bits, such as 0x70
    #[arg(long, value_name = "MASK", value_parser = function, requires = "bank", conflicts_with = "bank_functions")]
    pub bank_mask: Option<u64>,
    /// Bytes of a cache line [default: 64 B, or what the caches have with a name]
    #[arg(long, value_parser = size)]
    pub line: Option<u64>,
    /// Each thread moves no more than this, such as 100MB/s
    #[arg(long, value_parser = rate)]
    pub rate: Option<u64>,
    /// Cores, one thread on each, such as `0,2-3` [default: one thread on any core]
    #[arg(short, long, value_name = "CORES", value_parser = cores)]
    pub cores: Option<Cores>,
    /// Stop after this time: seconds, or with a unit such as 500ms [default: 5 s]
    #[arg(short, long, value_parser = parse_command_line_time, conflicts_with = "passes")]
    pub duration: Option<u64>,
    /// Stop after so many walks over the array
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub passes: Option<u64>,
    /// Print the bandwidth of every second when it is over, and with --json all of them
    #[arg(long)]
    pub per_second: bool,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum KindName {
    /// Line after line
    Bandwidth,
    /// Along shuffled linked lists
    LinkedLists,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum AccessName {
    /// Loads
    Read,
    /// Stores
    Write,
}

#[derive(Debug, Clone)]
pub struct Cores(pub Vec<u16>);

fn cores(text: &str) -> Result<Cores, String> {
    let expected = "expected numbers and ranges such as 0,2-3";
    cpu::parse_list(text)
        .filter(|cores| !cores.is_empty())
        .map(Cores)
        .ok_or_else(|| expected.to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    quantity(
        &SIZE,
        text,
        "expected a whole number of bytes such as 16MiB",
    )
}

fn rate(text: &str) -> Result<u64, String> {
    let expected = "expected a bandwidth of at least 1 B/s such as 100MB/s";
    match quantity(&BANDWIDTH, text, expected)? {
        0 => Err(expected.to_owned()),
        rate => Ok(rate),
    }
}

fn quantity(dimension: &Dimension, text: &str, expected: &str) -> Result<u64, String> {
    dimension.parse(text).map_err(|_| expected.to_owned())
}

fn function(text: &str) -> Result<u64, String> {
    let expected = "expected a mask of address bits such as 0x40, or their numbers such as 6^13";
    parse_function(text).ok_or_else(|| expected.to_owned())
}

impl Arguments {
    /// The aggressor that each thread is.
    ///
    /// # Errors
    /// When there is no such aggressor here.
    pub fn shape(&self) -> Result<Shape, String> {
        let bank = self.bank()?;
        if let Some(name) = self.name {
            let allowed = cpu::allowed().unwrap_or_default();
            let inventory = Inventory::read(Path::new("/"), &allowed);
            let shape = name
                .shape(&inventory, self.size, self.lists, bank)
                .map_err(|error| error.to_string())?;
            return Ok(Shape {
                line_bytes: self.line.unwrap_or(shape.line_bytes),
                ..shape
            });
        }
        let kind = match self.kind {
            KindName::LinkedLists => Kind::LinkedLists {
                lists: self.lists.unwrap_or(1),
                bank,
            },
            KindName::Bandwidth if self.lists.is_some() || bank.is_some() => {
                return Err(
                    "--lists and --bank are for --kind linked-lists; a bandwidth walk has neither"
                        .into(),
                );
            }
            KindName::Bandwidth => Kind::Bandwidth,
        };
        Ok(Shape {
            kind,
            access: match self.access {
                AccessName::Read => Access::Read,
                AccessName::Write => Access::Write,
            },
            size_bytes: self.size.unwrap_or(16 << 20),
            line_bytes: self.line.unwrap_or(64),
        })
    }

    fn bank(&self) -> Result<Option<Bank>, String> {
        let Some(number) = self.bank else {
            return Ok(None);
        };
        match (self.bank_mask, &self.bank_functions[..]) {
            (Some(mask), _) => Ok(Some(Bank::in_bits(mask, number))),
            (None, []) => {
                Err("--bank needs --bank-functions or --bank-mask: how addresses select it".into())
            }
            (None, functions) => Ok(Some(Bank {
                functions: functions.to_vec(),
                number,
            })),
        }
    }
}
