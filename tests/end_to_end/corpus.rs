//! What the fuzzers have found so far goes through every parser again.

use std::fs;
use std::io::sink;
use std::path::Path;

use ringfence_analysis::run::Run;
use ringfence_report::{Report, html, perfetto, terminal};
use ringfence_scenario::NoFiles;
use ringfence_trace::lackey;

use crate::ringfence::house;

fn replay(target: &str, parse: impl Fn(&[u8])) {
    let folder = house().join("fuzz/corpus").join(target);
    let mut inputs = 0;
    for entry in fs::read_dir(&folder).expect("a corpus for every target") {
        parse(&fs::read(entry.unwrap().path()).unwrap());
        inputs += 1;
    }
    assert!(inputs > 0, "{} is empty", folder.display());
}

#[test]
fn scenarios() {
    replay("scenario", |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let _ = ringfence_scenario::parse(&text, "fuzz.toml", Path::new(""), &NoFiles);
    });
}

#[test]
fn platforms() {
    replay("platform", |bytes| {
        let _ = ringfence_scenario::parse_platform(&String::from_utf8_lossy(bytes), "fuzz.toml");
    });
}

#[test]
fn records() {
    replay("record", |bytes| {
        if let Ok(run) = Run::read(bytes) {
            let report = Report::new(run);
            terminal::write(&report, &mut sink()).unwrap();
            html::write(&report, &mut sink()).unwrap();
            perfetto::write(&report, &mut sink()).unwrap();
        }
    });
}

#[test]
fn traces() {
    replay("trace", |bytes| {
        let _ = ringfence_trace::read_all(bytes);
    });
}

#[test]
fn recorder_lines() {
    replay("lackey", |bytes| {
        for line in bytes.split(|byte| *byte == b'\n') {
            let _ = lackey::parse_line(line);
        }
    });
}

#[test]
fn photographs() {
    replay("pgm", |bytes| {
        let _ = ringfence_workloads::pgm::parse(bytes);
    });
}
