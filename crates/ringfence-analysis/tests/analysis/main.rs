//! Tests of the whole crate in one program.

mod accuracy;
mod accuracy_compared;
mod budget_properties;
mod common;
mod distribution;
mod gang_properties;
mod read_case;
mod statistics;
mod summary;
mod verdict;
