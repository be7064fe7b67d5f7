//! Writes every report of a made-up run into a folder, for the tests in tests/report.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use ringfence_report::{csv, html, json, perfetto, terminal};

// The made-up run does more than this example needs.
#[allow(dead_code)]
#[path = "../tests/report/sample/mod.rs"]
mod sample;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: sample FOLDER")?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    let create = |name: &str| File::create(folder.join(name)).map(BufWriter::new);

    let report = sample::report();
    html::write(&report, &mut create("report.html")?)?;
    perfetto::write(&report, &mut create("trace.perfetto-trace")?)?;
    json::write(&report, &mut create("summary.json")?)?;
    terminal::write(&report, &mut create("summary.txt")?)?;
    for table in csv::Table::ALL {
        csv::write(
            &report,
            table,
            &mut create(&format!("{}.csv", table.name()))?,
        )?;
    }
    Ok(())
}
