//! Schedulability against the simulator, closed forms and other analyses.

mod bound;
mod closed_forms;
mod generate;
mod reference;
mod simulate;
