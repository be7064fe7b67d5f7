//! One module a command.

pub mod analyze;
pub mod bench;
pub mod calibrate;
pub mod check;
pub mod compare;
pub mod doctor;
pub mod enforce;
pub mod exec;
pub mod generate;
pub mod guard;
pub mod hyp;
pub mod import;
pub mod import_run;
pub mod join;
#[cfg(test)]
mod live_example;
pub mod metrics;
pub mod plan;
pub mod platforms;
pub mod report;
pub mod restore;
pub mod run;
pub mod runner;
pub mod schema;
pub mod selection;
pub mod target;
pub mod top;
pub mod trace;
