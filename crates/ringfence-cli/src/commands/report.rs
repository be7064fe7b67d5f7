//! `ringfence report`: what a record says, in every form.

use std::fs::File;
use std::path::Path;

use ringfence_analysis::run::Run;
use ringfence_record::{Reader, RecordError};
use ringfence_report::csv::Table;
use ringfence_report::{Report, csv, html, json, perfetto, terminal};

use crate::arguments;
use crate::files::{print_with, write_whole};
use crate::outcome::{Failure, Outcome};

/// Writes the files that were asked for and prints the summary.
pub fn run(arguments: &arguments::Report) -> Result<Outcome, Failure> {
    let report = read(&arguments.record)?;
    if let Some(path) = &arguments.html {
        write_whole(path, |mut out| html::write(&report, &mut out))?;
    }
    if let Some(path) = &arguments.perfetto {
        write_whole(path, |mut out| perfetto::write(&report, &mut out))?;
    }
    if let Some(path) = &arguments.events {
        write_events(&arguments.record, path)?;
    }
    if let Some(folder) = &arguments.csv {
        write_tables(&report, folder)?;
    }
    show(&report, arguments.json)
}

/// Reads a record; a damaged one up to the damage, which the report then says.
pub fn read(path: &Path) -> Result<Report, Failure> {
    let run = Run::read(open(path)?).map_err(|error| Failure::file(path, error))?;
    Ok(Report::new(run))
}

/// Prints the summary; the outcome is the record's verdict.
pub fn show(report: &Report, as_json: bool) -> Result<Outcome, Failure> {
    if as_json {
        print_with(|out| json::write(report, out))?;
    } else {
        print_with(|out| terminal::write(report, out))?;
    }
    match (&report.summary.damage, report.summary.passed) {
        // The summary says how.
        (Some(_), _) => Err(Failure::Reported),
        (None, true) => Ok(Outcome::Pass),
        (None, false) => Ok(Outcome::BoundMissed),
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|error| Failure::file(path, error))
}

/// A damaged record gives the events before the damage; the summary names it.
fn write_events(record: &Path, path: &Path) -> Result<(), Failure> {
    let reader = Reader::new(open(record)?).map_err(|error| Failure::file(record, error))?;
    let header = reader.header().clone();
    let good = reader.map_while(Result::ok).map(Ok::<_, RecordError>);
    write_whole(path, |mut out| json::write_events(&header, good, &mut out))
}

fn write_tables(report: &Report, folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
    for table in Table::ALL {
        let path = folder.join(table.name()).with_extension("csv");
        write_whole(&path, |mut out| csv::write(report, table, &mut out))?;
    }
    Ok(())
}
