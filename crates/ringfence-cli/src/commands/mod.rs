//! One module a command.

pub mod analyze;
mod analyze_measure;
mod analyze_text;
pub mod bench;
mod bench_dram;
pub mod check;
pub mod compare;
pub mod generate;
pub mod plan;
pub mod platforms;
pub mod report;
pub mod run;
pub mod schema;
pub mod selection;
pub mod trace;
