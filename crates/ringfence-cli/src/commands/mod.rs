//! One module a command.

pub mod analyze;
pub mod bench;
pub mod calibrate;
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
