//! The same scenario and seed give the same bytes.

mod common;

use common::{record, scenario};

#[test]
fn records_do_not_depend_on_the_number_of_threads() {
    let mut short = scenario("rt-gang/synthetic.toml");
    short.duration_ns = 12_000_000;
    for scenario in [scenario("rt-gang/illustrative.toml"), short] {
        let first = record(&scenario, 1, None);
        assert_eq!(first, record(&scenario, 1, None), "{}", scenario.name);
        assert_eq!(first, record(&scenario, 2, None), "{}", scenario.name);
    }
}

#[test]
fn records_depend_on_the_seed() {
    let mut scenario = scenario("rt-gang/synthetic.toml");
    scenario.duration_ns = 12_000_000;
    let first = record(&scenario, 2, None);
    scenario.seed += 1;
    assert_ne!(first, record(&scenario, 2, None));
}
