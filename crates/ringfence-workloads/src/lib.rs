//! Native programs: aggressors, the programs of a scenario and their runner, and
//! the job API of users' own programs.

pub mod aggressor;
pub mod clock;
pub mod cpu;
pub mod cycles;
pub mod inventory;
pub mod job_log;
pub mod large_pages;
pub mod program;
pub mod report;
pub mod rt_app;
pub mod runner;
