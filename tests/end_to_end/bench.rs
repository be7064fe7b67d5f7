//! `bench dram` and `bench llc`: the figures of their loads, and flags that cannot be.

use serde_json::Value;

use crate::ringfence::{house, ringfence, scratch};

/// `bench dram --json` with 20 000 reads.
fn figures(flags: &str) -> Value {
    ringfence(
        &house(),
        &format!("bench dram --json --requests 20000 {flags}"),
    )
    .expect(0)
    .json()
}

fn number(figures: &Value, key: &str) -> f64 {
    figures[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} in {figures}"))
}

#[test]
fn the_reference_load_comes_near_the_cap_and_a_random_one_does_not() {
    let sequential = figures("");
    let of_cap =
        number(&sequential, "achieved_bytes_per_s") / number(&sequential, "cap_bytes_per_s");
    assert!((of_cap - 1.0).abs() < 0.01, "{of_cap}");
    let random = figures("--pattern rand --outstanding 1");
    assert!(number(&random, "achieved_bytes_per_s") < 5e9);
    for key in [
        "requests_per_wall_s",
        "best_requests_per_wall_s",
        "walk_lines_per_s",
        "ratio_to_walk",
    ] {
        assert!(number(&random, key) > 0.0, "{key}");
    }
}

#[test]
fn every_flag_changes_the_load() {
    let mixed = figures(
        "--pattern mix --requestors 3 --outstanding 2 --write-share 25 --skew 8KiB --channels 2 --ranks 2 --map bank_co_ro --scheduler fr-fcfs-cap --hit-cap 2",
    );
    for (key, expected) in [
        ("pattern", Value::from("mix")),
        ("outstanding", Value::from(2)),
        ("write_percent", Value::from(25)),
        ("skew_bytes", Value::from(8192)),
        ("channels", Value::from(2)),
        ("ranks", Value::from(2)),
        ("address_map", Value::from("bank_co_ro")),
        ("scheduler", Value::from("fr-fcfs-cap")),
        ("hit_cap", Value::from(2)),
        ("reads", Value::from(20000)),
    ] {
        assert_eq!(mixed[key], expected, "{key}");
    }
    let share = number(&mixed, "writes") / (number(&mixed, "writes") + 20000.0);
    assert!((share - 0.25).abs() < 0.01, "{share}");
    let requestors = mixed["requestors"].as_array().unwrap();
    assert_eq!(requestors.len(), 3);
    for latency in requestors {
        let percentiles = ["p50_ns", "p95_ns", "p99_ns", "max_ns"].map(|key| number(latency, key));
        assert!(
            percentiles.is_sorted() && percentiles[0] > 0.0,
            "{percentiles:?}"
        );
    }
    // Neighbouring lines in one row or in all banks: other rows are opened.
    let activates = |map| figures(&format!("--map {map} --outstanding 1"))["activates"].clone();
    assert_ne!(activates("co_bg_ba_ro"), activates("bank_co_ro"));
}

#[test]
fn every_memory_and_platform_takes_the_load() {
    for memory in [
        "--memory ddr3-1600",
        "--memory ddr4-2400",
        "--memory ddr4-3200",
        "--memory lpddr2-1066",
        "--memory lpddr3-1600",
        "--memory lpddr4-3200",
        "--platform raspberry-pi-3",
        "--platform jetson-nano",
    ] {
        let figures = figures(memory);
        let share = number(&figures, "achieved_bytes_per_s") / number(&figures, "peak_bytes_per_s");
        assert!((0.5..1.0).contains(&share), "{memory}: {share} of the peak");
    }
}

#[test]
fn a_memory_that_is_printed_loads_again_from_its_file() {
    let folder = scratch();
    let text = ringfence(folder.path(), "platforms lpddr4-3200").expect(0);
    std::fs::write(folder.path().join("own.toml"), text.stdout).unwrap();
    let own = ringfence(
        folder.path(),
        "bench dram --requests 1000 --memory own.toml",
    )
    .expect(0);
    assert!(own.stdout.starts_with("LPDDR4-3200,"), "{}", own.stdout);
    assert!(own.stdout.contains("of the analytic cap"), "{}", own.stdout);
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    for (flags, expected) in [
        ("--memory ddr4-2401", "did you mean `ddr4-2400`"),
        ("--platform pi", "`raspberry-pi-3`"),
        ("--requestors 65", "expected 1 to 64"),
        ("--outstanding 0", "expected 1 to 1048576"),
        ("--write-share 51", "expected 0 to 50"),
        ("--ranks 3", "expected a power of two"),
        ("--skew 100B", "a multiple of the line, 64"),
        ("--skew much", "such as 8KiB"),
        ("--hit-cap 2", "add --scheduler fr-fcfs-cap"),
        ("--map ro_co", "bank_co_ro"),
        ("--pattern stride", "seq, rand, mix"),
    ] {
        let refused = ringfence(&house(), &format!("bench dram {flags}")).expect(1);
        assert!(
            refused.stderr.contains(expected),
            "{flags}: {}",
            refused.stderr
        );
    }
}

/// `bench llc --json` with 20 000 reads.
fn llc_figures(flags: &str) -> Value {
    ringfence(
        &house(),
        &format!("bench llc --json --requests 20000 {flags}"),
    )
    .expect(0)
    .json()
}

#[test]
fn hits_in_all_banks_reach_the_peak_and_in_one_bank_its_share() {
    for (flags, share) in [
        ("", 1.0),
        ("--pattern bank", 0.5),
        ("--platform raspberry-pi-3 --pattern bank", 1.0),
    ] {
        let figures = llc_figures(flags);
        let achieved = number(&figures, "achieved_bytes_per_s");
        let found = achieved / number(&figures, "peak_bytes_per_s");
        assert!((found - share).abs() < 1e-3, "{flags}: {found}");
        let found = achieved / number(&figures, "cap_bytes_per_s");
        assert!((found - 1.0).abs() < 1e-3, "{flags}: {found} of the cap");
        assert_eq!(figures["hits"], Value::from(20000));
    }
}

#[test]
fn every_flag_changes_the_load_of_the_cache() {
    let figures = llc_figures(
        "--platform raspberry-pi-3 --pattern rand --requestors 3 --outstanding 2 --write-share 25 --working-set 4MiB --memory-latency 200 --seed 9",
    );
    for (key, expected) in [
        ("platform", Value::from("raspberry-pi-3")),
        ("pattern", Value::from("rand")),
        ("outstanding", Value::from(2)),
        ("write_percent", Value::from(25)),
        ("working_set_bytes", Value::from(4 << 20)),
        ("seed", Value::from(9)),
        ("reads", Value::from(20000)),
    ] {
        assert_eq!(figures[key], expected, "{key}");
    }
    assert_eq!(figures["requestors"].as_array().unwrap().len(), 3);
    let share = number(&figures, "misses") / 20000.0;
    // An eighth of the lines fits.
    assert!((share - 0.875).abs() < 0.02, "{share}");
    let memory_ns = number(&figures, "memory_latency_ns");
    assert!((200.0..201.0).contains(&memory_ns), "{memory_ns}");
    let other_seed = "--pattern rand --working-set 4MiB --seed";
    assert_ne!(
        llc_figures(&format!("{other_seed} 1"))["misses"],
        llc_figures(&format!("{other_seed} 2"))["misses"]
    );
    let text = ringfence(&house(), "bench llc --requests 4000 --working-set 8MiB").expect(0);
    assert!(
        text.stdout.contains("set by the miss-status registers"),
        "{}",
        text.stdout
    );
}

#[test]
fn a_load_that_the_cache_cannot_have_is_refused() {
    for (flags, expected) in [
        ("--platform pi", "`raspberry-pi-3`"),
        ("--requestors 65", "expected 1 to 64"),
        ("--outstanding 0", "expected 1 to 65536"),
        ("--write-share 51", "expected 0 to 50"),
        ("--memory-latency 0", "expected 1 to 732954 ns"),
        ("--memory-latency 800000", "is 800000 ns, expected 1 to"),
        ("--working-set 1000GB", "at most the platform's memory"),
        ("--working-set 0B", "expected at least 256"),
        ("--working-set 1B --requestors 64", "expected at least 4096"),
        ("--working-set 4GiB --requests 10", "expected at least 3200"),
        ("--pattern mix", "seq, rand, bank"),
    ] {
        let refused = ringfence(&house(), &format!("bench llc {flags}")).expect(1);
        assert!(
            refused.stderr.contains(expected),
            "{flags}: {}",
            refused.stderr
        );
    }
}
