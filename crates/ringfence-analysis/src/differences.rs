//! What is not the same about the set-up of two records.

use std::collections::BTreeMap;

use ringfence_record::event::{Header, Input, InputKind};
use serde::{Deserialize, Serialize};

/// Something about the set-up that is not the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What, such as `seed`.
    pub what: String,
    /// Its value on the first side.
    pub first: String,
    /// Its value on the second side.
    pub second: String,
}

/// Notes `what` when its values differ.
pub(crate) fn push_difference<T: PartialEq + ToString>(
    differences: &mut Vec<Difference>,
    what: &str,
    first: T,
    second: T,
) {
    if first != second {
        differences.push(Difference {
            what: what.into(),
            first: first.to_string(),
            second: second.to_string(),
        });
    }
}

/// What differs in what was run, and where.
pub(crate) fn header_differences(a: &Header, b: &Header) -> Vec<Difference> {
    let kernel = |header: &Header| header.kernel.clone().unwrap_or_else(|| "none".into());
    let mut differences = Vec::new();
    for (what, first, second) in [
        ("target", &a.target, &b.target),
        (
            "ringfence version",
            &a.ringfence_version,
            &b.ringfence_version,
        ),
        ("scenario", &a.scenario, &b.scenario),
        ("platform", &a.platform, &b.platform),
        ("kernel", &kernel(a), &kernel(b)),
        ("changed by the command line", &overrides(a), &overrides(b)),
    ] {
        push_difference(&mut differences, what, first, second);
    }
    push_difference(&mut differences, "seed", a.seed, b.seed);
    differences.extend(input_differences(&a.inputs, &b.inputs));
    differences
}

fn overrides(header: &Header) -> String {
    match header.overrides.as_slice() {
        [] => "nothing".into(),
        _ => header.flags(),
    }
}

/// Each of `items` under its `key`; of several with the same key, the first.
/// Records can be long, and tell of much: each is looked up in the other here.
pub(crate) fn by_key<'a, T, K: Ord>(
    items: &'a [T],
    key: impl Fn(&'a T) -> K,
) -> BTreeMap<K, &'a T> {
    // A later entry replaces an earlier one.
    items.iter().rev().map(|item| (key(item), item)).collect()
}

/// Files with other contents, and those that only one side has. A run has one
/// scenario and one platform; its traces are told apart by their paths.
fn input_differences(first: &[Input], second: &[Input]) -> Vec<Difference> {
    let (in_first, in_second) = (by_key(first, identity), by_key(second, identity));
    let of_first = first
        .iter()
        .map(|a| (Some(a), in_second.get(&identity(a)).copied()));
    let only_second = second
        .iter()
        .filter(|b| !in_first.contains_key(&identity(b)))
        .map(|b| (None, Some(b)));
    of_first
        .chain(only_second)
        .filter(|(a, b)| a.map(|a| &a.sha256) != b.map(|b| &b.sha256))
        .filter_map(|(a, b)| {
            Some(Difference {
                what: format!("{} file", a.or(b)?.kind.noun()),
                first: input_text(a),
                second: input_text(b),
            })
        })
        .collect()
}

/// What tells an input from the others of its run.
fn identity(input: &Input) -> (&str, Option<&str>) {
    let path = input.path.as_deref();
    let kind = input.kind;
    let is_one_of_many = matches!(kind, InputKind::Trace | InputKind::Table);
    (kind.noun(), path.filter(|_| is_one_of_many))
}

fn input_text(input: Option<&Input>) -> String {
    input.map_or_else(
        || "none".into(),
        |input| {
            let path = input.path.as_deref().unwrap_or("built in");
            format!("{path} (SHA-256 {:.12})", input.sha256)
        },
    )
}
