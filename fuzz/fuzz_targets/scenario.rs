//! Scenario files: any text is accepted, or refused with problems that point into it.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use ringfence_scenario::NoFiles;

fuzz_target!(|source: &str| {
    if let Err(problems) = ringfence_scenario::parse(source, "fuzz.toml", Path::new(""), &NoFiles) {
        assert!(problems.iter().next().is_some(), "refused without a reason");
        for problem in problems
            .iter()
            .filter(|problem| problem.file == "fuzz.toml")
        {
            assert!(problem.line <= source.matches('\n').count() + 1);
        }
        let _ = problems.to_string();
    }
});
