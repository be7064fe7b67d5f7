//! Platform files: any text is accepted, or refused with problems.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    if let Err(problems) = ringfence_scenario::parse_platform(source, "fuzz.toml") {
        assert!(problems.iter().next().is_some(), "refused without a reason");
        let _ = problems.to_string();
    }
});
