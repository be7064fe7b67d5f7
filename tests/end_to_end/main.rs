//! The `ringfence` command as its users meet it.

mod analyze;
mod bench;
mod calibrate;
mod commands;
mod corpus;
mod doctor;
mod hyp;
#[path = "../../fuzz/imported.rs"]
mod imported;
mod imported_runs;
mod interruption;
mod portable;
mod ringfence;
mod runs;
#[path = "../../fuzz/sealed.rs"]
mod sealed;
mod traces;
