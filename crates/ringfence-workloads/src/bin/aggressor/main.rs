//! Contends for caches and memory, and says how fast it was.

mod arguments;
mod report;

use std::process::ExitCode;
use std::sync::Barrier;

use arguments::Arguments;
use clap::Parser as _;
use report::{Figures, Report};
use ringfence_victims::command;
use ringfence_workloads::aggressor::{Pace, Shape, Walk};
use ringfence_workloads::report::Report as _;
use ringfence_workloads::{clock, cpu, large_pages};

fn main() -> ExitCode {
    command::exit("aggressor", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let shape = arguments.shape()?;
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
    let report = Report {
        format: 1,
        size_bytes: shape.size_bytes,
        huge_page_bytes: huge_bytes.into_iter().flatten().max(),
        threads,
    };
    report.print(arguments.json)
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
    /// Accesses between two looks at the clock.
    const CHUNK: u64 = 100_000;
    let (wanted, time_ns) = match arguments.passes {
        Some(passes) => (walk.accesses_per_pass().saturating_mul(passes), u64::MAX),
        None => (u64::MAX, arguments.duration.unwrap_or(DEFAULT_NS)),
    };
    let mut pace = arguments.rate.map(Pace::new);
    let chunk = pace.as_ref().map_or(CHUNK, |pace| {
        (pace.step_bytes() / line_bytes).clamp(1, CHUNK)
    });
    let mut figures = Figures::begin(core, line_bytes, clock::now_ns());
    while figures.accesses < wanted && figures.time_ns < time_ns {
        let accesses = walk.run(chunk.min(wanted - figures.accesses));
        if let Some(pace) = &mut pace {
            pace.moved(accesses * line_bytes);
        }
        figures.add(accesses, clock::now_ns());
        if arguments.per_second {
            figures.end_second(!arguments.json);
        }
    }
    figures
}
