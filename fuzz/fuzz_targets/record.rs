//! Records: any bytes give events and at most one error, and what they say can be
//! judged, reported and compared. The page is left out: it is half a megabyte.
//!
//! Hardly a change of a byte leaves a frame's check right, so the bytes are also read with
//! the version and all checks made right.
#![no_main]

#[path = "../sealed.rs"]
mod sealed;

use std::io::sink;

use libfuzzer_sys::fuzz_target;
use ringfence_analysis::compare::compare;
use ringfence_analysis::run::Run;
use ringfence_report::{Report, csv, perfetto, terminal};
use sealed::sealed;

fuzz_target!(|bytes: &[u8]| {
    judge(bytes);
    judge(&sealed(bytes));
});

fn judge(bytes: &[u8]) {
    let (events, error) = ringfence_record::read_all(bytes);
    let Ok(run) = Run::read(bytes) else {
        return;
    };
    assert_eq!(run.damage.is_some(), error.is_some());
    let report = Report::new(run);
    assert!(!report.summary.passed || !events.is_empty());
    terminal::write(&report, &mut sink()).unwrap();
    perfetto::write(&report, &mut sink()).unwrap();
    for table in csv::Table::ALL {
        csv::write(&report, table, &mut sink()).unwrap();
    }
    let comparison = compare(&report.summary, &report.summary);
    ringfence_report::compare::write(&comparison, ["a", "b"], &mut sink()).unwrap();
}
