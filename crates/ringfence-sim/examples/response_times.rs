//! Runs a scenario, or those of its cases whose names start with a prefix, and
//! prints the response times of every task.
//!
//! `response_times SCENARIO.toml [CASE] [DURATION_MS]`

use std::error::Error;
use std::path::Path;

use ringfence_analysis::run::Run;
use ringfence_analysis::statistics::statistics;
use ringfence_analysis::verdict::judge;
use ringfence_record::{Writer, event::Header};
use ringfence_scenario::load;
use ringfence_sim::run::{RunOptions, run};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .ok_or("usage: response_times SCENARIO.toml [CASE] [DURATION_MS]")?;
    let prefix = arguments.next().unwrap_or_default();
    let mut scenario = load(Path::new(&path)).map_err(|problems| problems.to_string())?;
    scenario.cases.retain(|case| case.name.starts_with(&prefix));
    if let Some(duration_ms) = arguments.next() {
        scenario.duration_ns = duration_ms.parse::<u64>()? * 1_000_000;
    }
    let options = RunOptions {
        threads: std::thread::available_parallelism()?.get(),
        progress: &|_| {},
        fault: None,
    };
    let mut writer = Writer::new(Vec::new(), &Header::default())?;
    run(&scenario, &options, &mut writer)?;
    let record = Run::read(&writer.finish()?[..])?;
    println!("case          task       jobs  min ms  median     p99     max");
    for case in record.cases {
        let case = case?;
        let figures = statistics(&case);
        for task in &figures.tasks {
            let Some(response) = &task.response else {
                continue;
            };
            let ms = |ns: u64| format!("{}.{:03}", ns / 1_000_000, ns / 1000 % 1000);
            println!(
                "{:13} {:8} {:6} {:>7} {:>7} {:>7} {:>7}",
                case.case.name,
                task.task,
                response.count,
                ms(response.min_ns),
                ms(response.median_ns),
                ms(response.p99_ns),
                ms(response.max_ns)
            );
        }
        for thread in &figures.best_effort {
            println!(
                "{:13} {:8} ran {} us, throttled {} us, read {:?} bytes",
                case.case.name,
                thread.thread,
                thread.core_time_ns / 1000,
                thread.throttled_ns / 1000,
                thread.read_bytes
            );
        }
        for claim in judge(&case).claims {
            println!(
                "{:13} {:?} {:?}, {} checked, {} breaches{}",
                case.case.name,
                claim.kind,
                claim.outcome,
                claim.checked,
                claim.breaches,
                claim
                    .evidence
                    .first()
                    .map_or(String::new(), |breach| format!(": {}", breach.text))
            );
        }
    }
    Ok(())
}
