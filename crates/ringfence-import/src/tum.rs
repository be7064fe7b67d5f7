//! Trajectories in TUM's format: a row a pose, `seconds x y z qx qy qz qw`. Only the positions are
//! taken.

use std::path::Path;

use crate::error::ImportError;

/// How far from the origin a place may be along each axis, in micrometres.
const MAX_POSITION_UM: f64 = (1_u64 << 50) as f64;

/// A position at a time of the file's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub time_ns: u64,
    pub um: [i64; 3],
}

/// Columns of a row.
const COLUMNS: usize = 8;

/// Reads all positions of a file.
pub fn read(file: &Path, bytes: &[u8]) -> Result<Vec<Position>, ImportError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| ImportError::of_file(file, "found bytes that are no UTF-8 text"))?;
    let mut positions: Vec<Position> = Vec::new();
    for (line, row) in (1..).zip(text.lines()) {
        if row.trim().is_empty() || row.trim_start().starts_with('#') {
            continue;
        }
        let cells: Vec<&str> = row.split_whitespace().collect();
        let error = |column: usize, what: String| {
            let place = cells.get(column).map_or(row.len(), |cell| {
                cell.as_ptr() as usize - row.as_ptr() as usize
            });
            ImportError::at(file, line, row[..place].chars().count() + 1, what)
        };
        if cells.len() != COLUMNS {
            let what = format!(
                "found {} columns, expected {COLUMNS}: seconds x y z qx qy qz qw",
                cells.len()
            );
            return Err(error(0, what));
        }
        let time_ns = seconds(cells[0]).ok_or_else(|| {
            let found = cells[0];
            let what = format!("found {found:?}, expected seconds with at most nine decimals");
            error(0, what)
        })?;
        if positions.last().is_some_and(|last| last.time_ns >= time_ns) {
            let what = "this time is not after that of the row before; sort the rows by time";
            return Err(error(0, what.into()));
        }
        let mut um = [0; 3];
        for (axis, um) in um.iter_mut().enumerate() {
            let column = axis + 1;
            let found = cells[column];
            let number = found.parse().map(|metres: f64| (metres * 1e6).round());
            *um = match number {
                Ok(number) if number.abs() <= MAX_POSITION_UM => number as i64,
                _ => {
                    let what =
                        format!("found {found:?}, expected metres, at most a thousand million");
                    return Err(error(column, what));
                }
            };
        }
        positions.push(Position { time_ns, um });
    }
    Ok(positions)
}

/// Seconds to the nanosecond, which a double does not resolve since 1970.
fn seconds(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 9 || !digits(whole) || !digits(decimals) {
        return None;
    }
    let nanoseconds: u64 = format!("{decimals:0<9}").parse().ok()?;
    let whole: u64 = whole.parse().ok()?;
    whole.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}
