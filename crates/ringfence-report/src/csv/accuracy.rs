//! Positions and measured values.

use std::io::Write;

use ringfence_analysis::accuracy::course;
use ringfence_analysis::case::CaseRun;
use ringfence_record::accuracy::Quantity;
use serde::Serialize;

use super::VERSION;
use crate::Error;

#[derive(Serialize)]
struct PositionRow<'a> {
    csv_version: u32,
    case: &'a str,
    trajectory: &'a str,
    /// `found`, along the axes of the true ones where it could be aligned, or `true`.
    kind: &'static str,
    at_ns: u64,
    found_ns: Option<u64>,
    x_um: i64,
    y_um: i64,
    z_um: i64,
    error_um: Option<u64>,
}

pub fn positions(run: &CaseRun, out: &mut csv::Writer<impl Write>) -> Result<(), Error> {
    let declared = run.case.accuracy.trajectories.iter().zip(&run.trajectories);
    for (trajectory, found) in declared {
        let row = |kind, at_ns, [x_um, y_um, z_um]: [i64; 3]| PositionRow {
            csv_version: VERSION,
            case: &run.case.name,
            trajectory: &trajectory.name,
            kind,
            at_ns,
            found_ns: None,
            x_um,
            y_um,
            z_um,
            error_um: None,
        };
        for point in course(found, trajectory.alignment).points {
            let position_um = point.position_um.map(|um| um.round() as i64);
            out.serialize(PositionRow {
                found_ns: Some(point.found_ns),
                error_um: point.error_um,
                ..row("found", point.at_ns, position_um)
            })?;
        }
        for place in &found.truth {
            out.serialize(row("true", place.at_ns, place.position_um))?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct MeasureRow<'a> {
    csv_version: u32,
    case: &'a str,
    measure: &'a str,
    quantity: Quantity,
    /// Micrometres, nanoseconds, millionths or a number, as `quantity` says.
    value: i64,
    limit: Option<i64>,
    time_ns: u64,
}

pub fn measures(run: &CaseRun, out: &mut csv::Writer<impl Write>) -> Result<(), Error> {
    let declared = run.case.accuracy.measures.iter().zip(&run.measures);
    for (measure, measured) in declared {
        for one in measured {
            out.serialize(MeasureRow {
                csv_version: VERSION,
                case: &run.case.name,
                measure: &measure.name,
                quantity: measure.quantity,
                value: one.value,
                limit: measure.limit,
                time_ns: one.time_ns,
            })?;
        }
    }
    Ok(())
}
