//! `ringfence report`: what a record says, in every form.

use std::fs::File;
use std::path::Path;

use ringfence_analysis::Run;
use ringfence_report::Report;

use crate::arguments;
use crate::files::{print_json, print_text, write_whole};
use crate::outcome::{Failure, Outcome};

/// Prints the summary and writes the files that were asked for.
pub fn run(arguments: &arguments::Report) -> Result<Outcome, Failure> {
    let report = read(&arguments.record)?;
    if let Some(path) = &arguments.html {
        write_whole(path, |out| ringfence_report::html::write(&report, out))?;
    }
    if let Some(path) = &arguments.perfetto {
        write_whole(path, |out| ringfence_report::perfetto::write(&report, out))?;
    }
    if let Some(path) = &arguments.events {
        write_whole(path, |out| ringfence_report::json::write_events(&report, out))?;
    }
    if let Some(folder) = &arguments.csv {
        write_tables(&report, folder)?;
    }
    show(&report, arguments.json)
}

/// Reads a record; a damaged one up to the damage, which the report then says.
pub fn read(path: &Path) -> Result<Report, Failure> {
    let file = File::open(path).map_err(|error| Failure::file(path, error))?;
    let run = Run::read(file).map_err(|error| Failure::file(path, error))?;
    Ok(Report::new(run))
}

/// Prints the summary; the outcome is the record's verdict.
pub fn show(report: &Report, json: bool) -> Result<Outcome, Failure> {
    if json {
        print_json(report.summary())?;
    } else {
        print_text(&ringfence_report::terminal::text(report))?;
    }
    if let Some(damage) = &report.summary().damage {
        return Err(Failure::Error(damage.clone()));
    }
    Ok(if report.summary().passed { Outcome::Pass } else { Outcome::BoundMissed })
}

fn write_tables(report: &Report, folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
    for table in ringfence_report::csv::TABLES {
        write_whole(&folder.join(table.file_name()), |out| table.write(report, out))?;
    }
    Ok(())
}
