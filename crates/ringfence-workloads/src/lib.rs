//! Native programs: victims and, later, aggressors.

pub mod job_mark;
pub mod page_aligned;
pub mod pgm;
pub mod susan;
