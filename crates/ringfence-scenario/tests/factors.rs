//! Slowdown tables are read back as they were written, and refused with a place.

use proptest::collection::vec;
use proptest::prelude::*;
use ringfence_scenario::Factors;

#[test]
fn a_table_means_what_it_says() {
    let factors = Factors::parse("[dnn]\ntracker = 1.25\n\n[tracker]\ndnn = 2.0\n", "f").unwrap();
    assert_eq!(factors.get("dnn", "tracker"), Some(1250));
    assert_eq!(factors.get("tracker", "dnn"), Some(2000));
    assert_eq!(factors.get("dnn", "dnn"), None);
}

#[test]
fn bad_tables_are_refused_with_their_place() {
    for (source, place) in [
        ("dnn = 1.5", "f:1:7: error: found the bare number 1.5"),
        ("[dnn]\ntracker = 0.5", "f:2:11: error: found"),
        ("[dnn]\ntracker = \"2\"", "f:2:11: error: found"),
        ("[dnn", "f:1:"),
    ] {
        let said = Factors::parse(source, "f").unwrap_err().to_string();
        assert!(said.starts_with(place), "{said}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(entries in vec((".{0,12}", ".{0,12}", 1000_u32..1_000_000), 0..8)) {
        let mut factors = Factors::default();
        for (task, other, factor) in entries {
            factors.set(&task, &other, factor);
        }
        prop_assert_eq!(Factors::parse(&factors.to_toml(), "f").unwrap(), factors);
    }

    #[test]
    fn no_text_panics(source in ".{0,200}") {
        let _ = Factors::parse(&source, "f");
    }
}
