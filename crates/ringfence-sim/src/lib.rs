//! Target `sim`: a scenario on a modelled board, deterministic to the byte.
//!
//! `machine/` executes accesses on cores, caches and DRAM; `program/` produces
//! the accesses; `os/` decides which thread is on which core and writes the
//! record.

pub mod machine;
pub mod os;
mod program;
pub mod random;
pub mod rates;
pub mod run;
