//! Native programs: victims and, later, aggressors.
