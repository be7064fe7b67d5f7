//! `ringfence trace`: memory accesses of real programs.

use std::fs::File;
use std::path::{Path, PathBuf};

use ringfence_trace::{Metadata, Reader, RecordOptions, Statistics};
use serde_json::json;

use crate::arguments::{Trace, TraceInfo, TraceRecord};
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};
use crate::progress;

/// Records or describes a trace.
pub fn run(arguments: &Trace) -> Result<Outcome, Failure> {
    match arguments {
        Trace::Record(arguments) => record(arguments),
        Trace::Info(arguments) => info(arguments),
    }
}

fn record(arguments: &TraceRecord) -> Result<Outcome, Failure> {
    let output = arguments
        .output
        .clone()
        .unwrap_or_else(|| default_output(&arguments.command[0]));
    let options = RecordOptions {
        max_jobs: arguments.jobs,
        max_accesses: arguments.max_accesses,
        marked_jobs_only: arguments.jobs.is_some(),
        whole_run: arguments.whole_run,
        instruction_lines: arguments.instruction_lines,
    };
    let spinner = progress::spinner(arguments.quiet);
    let recording = ringfence_trace::record(&arguments.command, &options, &output, &mut |done| {
        spinner.set_message(format!("{} jobs, {} accesses", done.jobs, done.accesses));
        spinner.tick();
    });
    spinner.finish_and_clear();
    let recording = recording.map_err(|error| Failure::Error(error.to_string()))?;
    let whole = match (recording.metadata.marked_jobs, arguments.whole_run) {
        (true, _) => "",
        (false, true) => " (the whole run is one job)",
        (false, false) => " (no job marks: the whole run is one job)",
    };
    let cut = if recording.cut {
        "; the last job is cut short"
    } else {
        ""
    };
    eprintln!(
        "recorded {} accesses in {} jobs{whole}{cut}: {}",
        recording.accesses,
        recording.jobs,
        output.display()
    );
    match recording.status {
        Some(status) if !status.success() => {
            Err(Failure::Error(format!("the program ended with {status}")))
        }
        _ => Ok(Outcome::Pass),
    }
}

fn default_output(program: &std::ffi::OsStr) -> PathBuf {
    let mut name = Path::new(program).file_name().unwrap_or(program).to_owned();
    name.push(".rftrace");
    name.into()
}

fn info(arguments: &TraceInfo) -> Result<Outcome, Failure> {
    let path = &arguments.trace;
    let (metadata, jobs) = read(path)?;
    if arguments.json {
        print_json(&json!({
            "metadata": metadata,
            "jobs": jobs.iter().map(job_json).collect::<Vec<_>>(),
        }))?;
    } else {
        print_text(&text(&metadata, &jobs))?;
    }
    Ok(Outcome::Pass)
}

fn read(path: &Path) -> Result<(Metadata, Vec<Statistics>), Failure> {
    let file = File::open(path).map_err(|error| Failure::file(path, error))?;
    let failed = |error| Failure::file(path, error);
    let mut reader = Reader::new(file).map_err(failed)?;
    let mut jobs = Vec::new();
    while let Some(mut job) = reader.next_job().map_err(failed)? {
        jobs.push(Statistics::of_job(&mut job).map_err(failed)?);
    }
    Ok((reader.metadata().clone(), jobs))
}

fn job_json(job: &Statistics) -> serde_json::Value {
    json!({
        "instructions": job.instructions(),
        "loads": job.loads,
        "stores": job.stores,
        "modifies": job.modifies,
        "working_set_bytes": job.working_set_bytes(),
    })
}

fn text(metadata: &Metadata, jobs: &[Statistics]) -> String {
    let mut text = format!(
        "{} {}\nrecorded by {} on {}, built by {}\n",
        metadata.program,
        metadata.arguments.join(" "),
        metadata.recorder,
        metadata.isa,
        metadata.compilers.join(", "),
    );
    if metadata.instruction_lines {
        text += "loads have lines of instructions among them: those that a cache of 32 KiB did not have\n";
    }
    for (number, job) in jobs.iter().enumerate() {
        text += &format!(
            "job {number}: {} instructions, {} loads, {} stores, {} both, working set {} KiB\n",
            job.instructions(),
            job.loads,
            job.stores,
            job.modifies,
            job.working_set_bytes().div_ceil(1024),
        );
    }
    text
}
