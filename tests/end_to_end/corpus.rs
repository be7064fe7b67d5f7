//! What the fuzzers have found so far goes through every parser again.

use std::fs;
use std::io::sink;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use ringfence_analysis::run::Run;
use ringfence_linux::changes::journal;
use ringfence_report::{Report, html, perfetto, terminal};
use ringfence_scenario::NoFiles;
use ringfence_trace::lackey;
use ringfence_workloads::job_log::{Answer, JobLog, Jobs, Size};

use crate::imported;
use crate::ringfence::house;
use crate::sealed::sealed;

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
        if let Ok(run) = Run::read(&sealed(bytes)[..]) {
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
        let _ = ringfence_victims::pgm::parse(bytes);
    });
}

/// As the target does: pieces of the bytes lie over a log, and after each the agent looks.
#[test]
fn job_logs() {
    replay("job_log", |bytes| {
        let mut log = JobLog::create(Size::new(2, 4).unwrap()).unwrap();
        let file = fs::OpenOptions::new().write(true).open(log.path()).unwrap();
        let mut thread = Jobs::open(&log.path()).unwrap().register(0).unwrap();
        let room = file.metadata().unwrap().len();
        for piece in bytes.chunks(18) {
            let (place, words) = piece.split_at(piece.len().min(2));
            let place = place
                .iter()
                .fold(0, |place, byte| place << 8 | u64::from(*byte))
                % room;
            let length = words.len().min((room - place) as usize);
            file.write_all_at(&words[..length], place).unwrap();
            thread.begin();
            log.drain(|_| ());
            log.answer(|_| Answer::Accepted);
            log.reclaim();
        }
    });
}

#[test]
fn workload_files() {
    replay("rt_app", |bytes| {
        let _ =
            ringfence_workloads::rt_app::import(&String::from_utf8_lossy(bytes), "raspberry-pi-3");
    });
}

#[test]
fn journals() {
    replay("journal", |bytes| {
        let _ = journal::parse(bytes);
    });
}

#[test]
fn runs_of_other_programs() {
    replay("import_run", imported::judge);
}
