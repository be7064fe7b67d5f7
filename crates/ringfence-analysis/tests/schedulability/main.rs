//! Schedulability against the simulator, closed forms and other analyses.

mod bound;
mod generate;
mod simulate;
