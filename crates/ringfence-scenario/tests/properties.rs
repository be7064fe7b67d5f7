//! Properties of quantities, and of what is said about damaged files.

use std::io::Read;
use std::path::Path;

use proptest::prelude::*;
use ringfence_scenario::quantity::{BANDWIDTH, Dimension, FINE_TIME, FREQUENCY, SIZE, TIME};
use ringfence_scenario::{Diagnostics, FileKind, Files, NoFiles, PLATFORMS, parse, parse_platform};

fn dimension() -> impl Strategy<Value = &'static Dimension> {
    prop::sample::select(vec![&TIME, &FINE_TIME, &SIZE, &BANDWIDTH, &FREQUENCY])
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(dimension in dimension(), value: u64) {
        prop_assert_eq!(dimension.parse(&dimension.format(value)), Ok(value));
    }

    /// `whole.fraction unit` is `value` exactly when cross-multiplication says so.
    #[test]
    fn reading_is_exact(
        dimension in dimension(),
        whole in 0_u64..1_000_000,
        fraction in "[0-9]{1,12}",
        unit in any::<prop::sample::Index>(),
    ) {
        let (name, scale) = dimension.units[unit.index(dimension.units.len())];
        let text = format!("{whole}.{fraction} {name}");
        let denominator = 10_u128.pow(fraction.len() as u32);
        let digits = u128::from(whole) * denominator + fraction.parse::<u128>().unwrap();
        let numerator = digits * u128::from(scale);
        match dimension.parse(&text) {
            Ok(value) => prop_assert_eq!(u128::from(value) * denominator, numerator),
            Err(_) => prop_assert!(
                !numerator.is_multiple_of(denominator) || numerator / denominator > u128::from(u64::MAX)
            ),
        }
    }

    #[test]
    fn any_text_is_read_or_refused(dimension in dimension(), text: String) {
        let _ = dimension.parse(&text);
    }
}

#[test]
fn examples_of_the_reference() {
    assert_eq!(TIME.parse("3.5 ms"), Ok(3_500_000));
    assert_eq!(TIME.parse("3.5ms"), Ok(3_500_000));
    assert_eq!(TIME.parse("1 µs"), Ok(1_000));
    assert_eq!(SIZE.parse("384 KiB"), Ok(393_216));
    assert_eq!(SIZE.parse("0.5 KiB"), Ok(512));
    assert_eq!(BANDWIDTH.parse("100 MB/s"), Ok(100_000_000));
    assert_eq!(FREQUENCY.parse("1.43 GHz"), Ok(1_430_000_000));
    assert!(TIME.parse("0.1 ns").is_err());
    assert!(TIME.parse("1e3 ns").is_err());
    assert!(TIME.parse(". ns").is_err());
}

const SCENARIOS: [&str; 2] = [
    include_str!("good/complete.toml"),
    include_str!("good/schedule-only.toml"),
];

/// A file system on which every trace has one job and every other file is empty.
struct SampleFiles;

impl Files for SampleFiles {
    fn open(&self, kind: FileKind, _: &Path, _: &Path) -> std::io::Result<Box<dyn Read>> {
        let file: &[u8] = match kind {
            FileKind::Trace => include_bytes!("good/one-job.rftrace"),
            FileKind::Scenario | FileKind::Platform => &[],
        };
        Ok(Box::new(file))
    }
}

/// A change to a text: a piece of it is replaced.
#[derive(Debug, Clone)]
struct Damage {
    at: prop::sample::Index,
    removed: usize,
    inserted: String,
}

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let inserted = prop_oneof![
        Just(String::new()),
        "[0-9a-z\\[\\]{}\"=., #\\n-]{1,4}",
        any::<char>().prop_map(String::from),
        prop::sample::select(vec!["99999999999", "0", "\"unlimited\"", "[[gang]]\n", "µ"])
            .prop_map(String::from),
    ];
    let one = (any::<prop::sample::Index>(), 0_usize..12, inserted).prop_map(
        |(at, removed, inserted)| Damage {
            at,
            removed,
            inserted,
        },
    );
    prop::collection::vec(one, 1..4)
}

fn damaged(text: &str, damages: &[Damage]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for damage in damages {
        let start = damage.at.index(characters.len() + 1);
        let end = (start + damage.removed).min(characters.len());
        characters.splice(start..end, damage.inserted.chars());
    }
    characters.into_iter().collect()
}

/// Every problem stands on a line and column that its file has.
fn assert_places_exist(source: &str, diagnostics: &Diagnostics) {
    for problem in diagnostics.iter() {
        // Any other file is a platform file of `SampleFiles`.
        let text = if problem.file == "damaged.toml" {
            source
        } else {
            ""
        };
        let line = text.split('\n').nth(problem.line - 1).unwrap();
        assert!((1..=line.chars().count() + 1).contains(&problem.column));
        assert!(!problem.message.is_empty() && !problem.expected.is_empty());
    }
    assert!(diagnostics.iter().count() > 0);
    assert!(diagnostics.to_string().contains(": error: found "));
}

proptest! {
    #[test]
    fn damaged_scenarios_are_read_or_refused(index in 0..2_usize, damages in damage()) {
        let source = damaged(SCENARIOS[index], &damages);
        if let Err(diagnostics) = parse(&source, "damaged.toml", Path::new(""), &SampleFiles) {
            assert_places_exist(&source, &diagnostics);
        }
    }

    #[test]
    fn damaged_platforms_are_read_or_refused(index in 0..2_usize, damages in damage()) {
        let source = damaged(PLATFORMS[index].source, &damages);
        if let Err(diagnostics) = parse_platform(&source, "damaged.toml") {
            assert_places_exist(&source, &diagnostics);
        }
    }

    #[test]
    fn any_text_is_a_scenario_or_refused(source: String) {
        if let Err(diagnostics) = parse(&source, "damaged.toml", Path::new(""), &NoFiles) {
            assert_places_exist(&source, &diagnostics);
        }
    }
}
