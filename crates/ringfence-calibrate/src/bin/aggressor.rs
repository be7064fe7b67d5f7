//! Contends for caches and memory, and says how fast it was.

use clap::{Parser, ValueEnum};
use ringfence_calibrate::aggressor::{Access, Bank, Kind, Shape, Walk};
use ringfence_calibrate::{cpu, large_pages};
use ringfence_scenario::quantity::{SIZE, parse_command_line_time};
use serde::Serialize;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Walks an array in each of some threads, one access a cache line, and prints what it took.
#[derive(Debug, Parser)]
#[command(name = "aggressor", version)]
struct Arguments {
    /// How the array is walked
    #[arg(long, value_enum, default_value = "bandwidth")]
    kind: KindName,
    /// Loads or stores
    #[arg(long, value_enum, default_value = "read")]
    access: AccessName,
    /// Bytes of the array of each thread, such as 16MiB
    #[arg(long, default_value = "16MiB", value_parser = size)]
    size: u64,
    /// Lists that a thread walks in turn: its misses under way [default: 1]
    #[arg(long, value_name = "N")]
    lists: Option<usize>,
    /// Only lines in this bank of a cache
    #[arg(long, value_name = "N", requires = "bank_functions")]
    bank: Option<u64>,
    /// Address bits below 4096 whose parities are the bits of the bank's number, as masks such as 0x40,0x80
    #[arg(long, value_name = "MASKS", value_delimiter = ',', value_parser = mask, requires = "bank")]
    bank_functions: Vec<u64>,
    /// Bytes of a cache line
    #[arg(long, default_value = "64B", value_parser = size)]
    line: u64,
    /// Cores, one thread on each, such as `0,2-3` [default: one thread on any core]
    #[arg(short, long, value_name = "CORES", value_parser = cores)]
    cores: Option<Cores>,
    /// Stop after this time: seconds, or with a unit such as 500ms [default: 5 s]
    #[arg(short, long, value_parser = parse_command_line_time, conflicts_with = "passes")]
    duration: Option<u64>,
    /// Stop after so many walks over the array
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    passes: Option<u64>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum KindName {
    /// Line after line
    Bandwidth,
    /// Along shuffled linked lists
    LinkedLists,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AccessName {
    /// Loads
    Read,
    /// Stores
    Write,
}

#[derive(Debug, Clone)]
struct Cores(Vec<u16>);

fn cores(text: &str) -> Result<Cores, String> {
    let expected = "expected numbers and ranges such as 0,2-3";
    cpu::parse_list(text)
        .map(Cores)
        .ok_or_else(|| expected.to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    let expected = "expected a whole number of bytes such as 16MiB";
    SIZE.parse(text).map_err(|_| expected.to_owned())
}

fn mask(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "expected a mask of address bits such as 0x40".to_owned())
}

/// What a thread did.
#[derive(Debug, Serialize)]
struct Figures {
    /// Its core, if it was pinned.
    core: Option<u16>,
    accesses: u64,
    time_ns: u64,
    ns_per_access: f64,
    bytes_per_s: f64,
}

/// What all did.
#[derive(Debug, Serialize)]
struct Report {
    format: u32,
    /// Bytes of the arrays that lay in huge pages; null where the system does not say.
    huge_page_bytes: Option<u64>,
    threads: Vec<Figures>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("aggressor: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let shape = shape(arguments)?;
    let cores: Vec<Option<u16>> = match &arguments.cores {
        None => vec![None],
        Some(cores) => cores.0.iter().copied().map(Some).collect(),
    };
    let ready = Barrier::new(cores.len());
    let one = |core: Option<u16>| -> Result<(Figures, Option<u64>), String> {
        let walk = prepare(core, &shape);
        // All begin together, and those that cannot begin hold up nobody.
        ready.wait();
        let mut walk = walk?;
        let huge_bytes = large_pages::huge_bytes();
        Ok((
            timed(&mut walk, core, arguments, shape.line_bytes),
            huge_bytes,
        ))
    };
    let results: Result<Vec<_>, String> = std::thread::scope(|scope| {
        let threads: Vec<_> = cores
            .iter()
            .map(|&core| scope.spawn(move || one(core)))
            .collect();
        let results = threads.into_iter().map(|thread| {
            let result = thread.join();
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        results.collect()
    });
    let (threads, huge_bytes): (Vec<Figures>, Vec<Option<u64>>) = results?.into_iter().unzip();
    print(
        &Report {
            format: 1,
            huge_page_bytes: huge_bytes.into_iter().flatten().max(),
            threads,
        },
        arguments.json,
    )
}

fn shape(arguments: &Arguments) -> Result<Shape, String> {
    let bank = arguments.bank.map(|number| Bank {
        functions: arguments.bank_functions.clone(),
        number,
    });
    let kind = match arguments.kind {
        KindName::LinkedLists => Kind::LinkedLists {
            lists: arguments.lists.unwrap_or(1),
            bank,
        },
        KindName::Bandwidth if arguments.lists.is_some() || bank.is_some() => {
            return Err(
                "--lists and --bank are for --kind linked-lists; a bandwidth walk has neither"
                    .into(),
            );
        }
        KindName::Bandwidth => Kind::Bandwidth,
    };
    Ok(Shape {
        kind,
        access: match arguments.access {
            AccessName::Read => Access::Read,
            AccessName::Write => Access::Write,
        },
        size_bytes: arguments.size,
        line_bytes: arguments.line,
    })
}

fn prepare(core: Option<u16>, shape: &Shape) -> Result<Walk, String> {
    if let Some(core) = core {
        cpu::pin(core).map_err(|error| format!("--cores: core {core}: {error}"))?;
    }
    Walk::new(shape).map_err(|error| error.to_string())
}

/// Walks for the time or the passes that are wanted.
fn timed(walk: &mut Walk, core: Option<u16>, arguments: &Arguments, line_bytes: u64) -> Figures {
    const DEFAULT_NS: u64 = 5_000_000_000;
    /// Between two looks at the clock.
    const CHUNK: u64 = 100_000;
    let start = Instant::now();
    let accesses = match arguments.passes {
        Some(passes) => walk.run(walk.accesses_per_pass().saturating_mul(passes)),
        None => {
            let time = Duration::from_nanos(arguments.duration.unwrap_or(DEFAULT_NS));
            let mut accesses = 0;
            while start.elapsed() < time {
                accesses += walk.run(CHUNK);
            }
            accesses
        }
    };
    let time_ns = start.elapsed().as_nanos().max(1) as u64;
    Figures {
        core,
        accesses,
        time_ns,
        ns_per_access: time_ns as f64 / accesses.max(1) as f64,
        bytes_per_s: (accesses * line_bytes) as f64 / time_ns as f64 * 1e9,
    }
}

fn print(report: &Report, json: bool) -> Result<(), String> {
    let text = match json {
        true => serde_json::to_string_pretty(report).map_err(|error| error.to_string())? + "\n",
        false => text(report),
    };
    let printed = std::io::stdout().write_all(text.as_bytes());
    printed.map_err(|error| format!("cannot write to the standard output: {error}"))
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    for thread in &report.threads {
        let core = thread
            .core
            .map_or("any core".into(), |core| format!("core {core}"));
        text += &format!(
            "{core}: {} accesses in {:.3} s: {:.2} ns each, {:.3} GB/s\n",
            thread.accesses,
            thread.time_ns as f64 / 1e9,
            thread.ns_per_access,
            thread.bytes_per_s / 1e9
        );
    }
    text + &match report.huge_page_bytes {
        Some(bytes) => format!("in huge pages: {}\n", SIZE.format(bytes)),
        None => "in huge pages: the system does not say\n".into(),
    }
}
