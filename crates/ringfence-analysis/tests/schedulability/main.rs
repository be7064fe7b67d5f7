//! Schedulability against the simulator, closed forms and other analyses.

mod bound;
mod closed_forms;
mod comparison;
mod composition;
mod generate;
mod interference;
mod memory;
mod reference;
mod simulate;
