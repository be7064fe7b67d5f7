//! Errors of trajectories, and measures, side by side.

use std::io::Write;

use ringfence_analysis::compare::{CaseComparison, MeasureComparison, Pair, TrajectoryComparison};
use ringfence_record::accuracy::Quantity;

use super::{NOTHING, ratio, title};
use crate::Error;
use crate::rows::accuracy::FEW_VALUES;
use crate::text_table::{print, table};
use crate::units::quantity_in_column;

/// Cells of a row, from the third column on.
type Row = [String; 6];

/// Trajectories of all cases, three rows each: of both sides, and their ratios.
pub(super) fn trajectories(
    cases: &[CaseComparison],
    names: [&str; 2],
    out: &mut impl Write,
) -> Result<(), Error> {
    let rows = cases.iter().flat_map(move |case| {
        let rows = case.trajectories.iter();
        rows.map(move |one| (case, one.trajectory.as_str(), trajectory(one, names)))
    });
    let heads = ["Trajectory", "Compared", "Median", "RMS", "95 %", "Largest"];
    write(heads, rows.collect(), out)
}

/// Measures of all cases, in the same way.
pub(super) fn measures(
    cases: &[CaseComparison],
    names: [&str; 2],
    out: &mut impl Write,
) -> Result<(), Error> {
    let rows = cases.iter().flat_map(move |case| {
        let rows = case.measures.iter();
        rows.map(move |one| (case, one.measure.as_str(), measure(one, names)))
    });
    let heads = [
        "Measure",
        "Values",
        "Above limit",
        "Median",
        "95 %",
        "Largest",
    ];
    write(heads, rows.collect(), out)
}

fn write(
    [what, figures @ ..]: [&str; 6],
    rows: Vec<(&CaseComparison, &str, [Row; 3])>,
    out: &mut impl Write,
) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut table = table(&[&["Case", what, ""][..], &figures].concat(), 3);
    for (case, name, rows) in rows {
        let mut labels = [title(case), name.to_owned()];
        for row in rows {
            table.add_row([&labels[..], &row].concat());
            labels = Default::default();
        }
    }
    print(&table, out)?;
    writeln!(out, "{FEW_VALUES}\n")?;
    Ok(())
}

fn trajectory(one: &TrajectoryComparison, names: [&str; 2]) -> [Row; 3] {
    let root_mean_square_um = one.root_mean_square_um.map(|pair| Pair {
        first: clamped(pair.first),
        second: clamped(pair.second),
        ratio: pair.ratio,
    });
    let errors = [one.median_um, root_mean_square_um, one.p95_um, one.max_um];
    let side = |name: &str, of: fn(&Pair) -> u64, error: fn(&Pair<i64>) -> i64| {
        let [median, root, p95, max] = errors.map(|pair| cell(Quantity::Length, pair, error));
        let compared = format!("{} of {}", of(&one.compared), of(&one.positions));
        [name.into(), compared, median, root, p95, max]
    };
    let [median, root, p95, max] = errors.map(|pair| ratio(pair.as_ref()));
    [
        side(names[0], |pair| pair.first, |pair| pair.first),
        side(names[1], |pair| pair.second, |pair| pair.second),
        ["ratio".into(), String::new(), median, root, p95, max],
    ]
}

fn measure(one: &MeasureComparison, names: [&str; 2]) -> [Row; 3] {
    let values = [one.median, one.p95, one.max];
    let side = |name: &str, of: fn(&Pair) -> u64, value: fn(&Pair<i64>) -> i64| {
        let [median, p95, max] = values.map(|pair| cell(one.quantity, pair, value));
        let above_limit = one.above_limit.as_ref().map(of);
        let above_limit = above_limit.map_or_else(|| NOTHING.into(), |n| n.to_string());
        [
            name.into(),
            of(&one.values).to_string(),
            above_limit,
            median,
            p95,
            max,
        ]
    };
    let [median, p95, max] = values.map(|pair| ratio(pair.as_ref()));
    [
        side(names[0], |pair| pair.first, |pair| pair.first),
        side(names[1], |pair| pair.second, |pair| pair.second),
        [
            "ratio".into(),
            String::new(),
            String::new(),
            median,
            p95,
            max,
        ],
    ]
}

fn cell(quantity: Quantity, pair: Option<Pair<i64>>, of: fn(&Pair<i64>) -> i64) -> String {
    pair.map_or_else(
        || NOTHING.into(),
        |pair| quantity_in_column(quantity, of(&pair)),
    )
}

fn clamped(um: u64) -> i64 {
    i64::try_from(um).unwrap_or(i64::MAX)
}
