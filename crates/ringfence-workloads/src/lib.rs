//! Native programs: victims, aggressors, and how a program marks its jobs.

pub mod aggressor;
pub mod cpu;
pub mod job_mark;
pub mod large_pages;
pub mod page_aligned;
pub mod pgm;
pub mod susan;
