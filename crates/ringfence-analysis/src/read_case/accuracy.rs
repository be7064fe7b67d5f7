//! Where things were thought to be, where they were, and what was measured.

use super::CaseReader;
use crate::case::{FoundPosition, Measured, Place};
use crate::declarations::check_index;
use crate::duration::exact;

/// How far from the origin a place may be along each axis, in micrometres: a million kilometres.
pub const MAX_POSITION_UM: u64 = 1 << 50;

impl CaseReader {
    pub(super) fn position(&mut self, trajectory: u16, place: Place) -> Result<(), String> {
        check_index("trajectory", trajectory, self.run.trajectories.len())?;
        let positions = &mut self.run.trajectories[usize::from(trajectory)].positions;
        check_place(
            trajectory,
            "position",
            positions.last().map(|last| &last.place),
            &place,
        )?;
        positions.push(FoundPosition {
            found_ns: self.now_ns,
            place,
        });
        Ok(())
    }

    pub(super) fn true_position(&mut self, trajectory: u16, place: Place) -> Result<(), String> {
        check_index("trajectory", trajectory, self.run.trajectories.len())?;
        let truth = &mut self.run.trajectories[usize::from(trajectory)].truth;
        check_place(trajectory, "true position", truth.last(), &place)?;
        truth.push(place);
        Ok(())
    }

    pub(super) fn measured(&mut self, measure: u16, value: i64) -> Result<(), String> {
        check_index("measure", measure, self.run.measures.len())?;
        self.run.measures[usize::from(measure)].push(Measured {
            time_ns: self.now_ns,
            value,
        });
        Ok(())
    }
}

fn check_place(
    trajectory: u16,
    what: &str,
    last: Option<&Place>,
    place: &Place,
) -> Result<(), String> {
    if let Some(last) = last.filter(|last| last.at_ns >= place.at_ns) {
        return Err(format!(
            "a {what} of trajectory {trajectory} is of {}, but the one before it is of {}",
            exact(place.at_ns),
            exact(last.at_ns)
        ));
    }
    let far = |um: &&i64| um.unsigned_abs() > MAX_POSITION_UM;
    if let Some(um) = place.position_um.iter().find(far) {
        return Err(format!(
            "a {what} of trajectory {trajectory} is at {um} µm, but places lie within {MAX_POSITION_UM} µm of the origin"
        ));
    }
    Ok(())
}
