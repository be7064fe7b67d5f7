//! Victims: small real-time programs, recorded as the traces that ship.
//!
//! They are small real-time tasks of a car, as in the automotive set of
//! MiBench (Guthaus et al., IEEE Workshop on Workload Characterization, 2001),
//! which named them; the code is our own. What a recorded program executes
//! comes from here, not from libraries that change from release to release or
//! from machine to machine: its trace should not.

pub mod basicmath;
pub mod bitcount;
pub mod command;
pub mod job_mark;
pub mod jobs;
pub mod page_aligned;
pub mod pgm;
pub mod qsort;
pub mod random;
pub mod susan;
