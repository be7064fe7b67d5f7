//! Records: any bytes give events and at most one error, and what they say can be judged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence_analysis::run::Run;
use ringfence_analysis::summary::Summary;

fuzz_target!(|bytes: &[u8]| {
    let (events, error) = ringfence_record::read_all(bytes);
    if let Ok(run) = Run::read(bytes) {
        assert_eq!(run.damage.is_some(), error.is_some());
        let summary = Summary::of(&run);
        assert!(!summary.passed || !events.is_empty());
    }
});
